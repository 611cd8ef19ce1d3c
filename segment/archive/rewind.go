package archive

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/segstore/segstore/codec"
	"github.com/segstore/segstore/index"
	"github.com/segstore/segstore/segment"
)

// Rewind lets tables end where to says: the rows from there on are gone, and the next
// commit takes their numbers over. Tables that to does not name stay. All tables are
// rewound together or none; it is durable when Rewind returns. Views keep what they
// have. Rows in logs go at once; any rewind waits for an index that is being built. A
// rewind into a sealed segment waits for what replaces segments (Recompress, Prune, a
// seal), and writes a segment of the rows that are kept.
//
// segment.ErrRange for a row that a table has not, or has pruned; ErrNoTable.
func (a *Archive) Rewind(ctx context.Context, to Position) error {
	began := time.Now()
	ctx, end, err := a.begin(ctx, true)
	if err != nil {
		return err
	}
	defer end()
	lost, wait, err := a.rewindLog(to, false)
	if err == nil && wait {
		done, terr := a.turn(ctx)
		if terr != nil {
			return terr
		}
		defer done()
		var deep bool
		if lost, deep, err = a.rewindLog(to, true); err == nil && deep {
			lost, err = a.rewindSegments(ctx, to)
		}
	}
	a.rewound(lost, began, err)
	return err
}

// loses returns what a rewind takes from tables.
func (st *state) loses(ends []tableEnd) []TableRewind {
	all := make([]TableRewind, len(ends))
	for i, e := range ends {
		all[i] = TableRewind{Table: e.table, EndRow: e.end, Rows: st.tables[st.number[e.table]].end() - e.end}
	}
	return all
}

// rewindTo returns which tables lose rows, in the order of their names; deep says that
// some are in segments.
func (st *state) rewindTo(to Position) (ends []tableEnd, deep bool, err error) {
	for _, name := range slices.Sorted(maps.Keys(to)) {
		k, ok := st.number[name]
		if !ok {
			return nil, false, st.noTable(name)
		}
		t, end := &st.tables[k], to[name]
		if end < t.firstRow || end > t.end() {
			return nil, false, fmt.Errorf("%w: table %q cannot end before row %d: it has %d to %d", segment.ErrRange, name, end, t.firstRow, t.end())
		}
		if end < t.end() {
			ends = append(ends, tableEnd{name, end})
			deep = deep || end < t.sealedEnd()
		}
	}
	return ends, deep, nil
}

// rewindLog rewinds rows that are in logs, by a record. wait says that nothing was done:
// some are in segments, or an index is made of them and the turn is not this rewind's.
func (a *Archive) rewindLog(to Position, turn bool) (lost []TableRewind, wait bool, err error) {
	a.change.Lock() // no manifest is written meanwhile
	defer a.change.Unlock()
	a.commits.Lock()
	defer a.commits.Unlock()
	if err := a.writable(); err != nil {
		return nil, false, err
	}
	st := a.state.Load()
	ends, deep, err := st.rewindTo(to)
	if err != nil || len(ends) == 0 {
		return nil, false, err
	}
	if deep || a.building && !turn {
		return nil, true, nil
	}
	lost = st.loses(ends)
	if err := a.openWriter(st); err != nil {
		return lost, false, err
	}
	if err := a.lowerIndexes(st, ends); err != nil {
		return lost, false, err
	}
	st = a.state.Load() // without indexes, where they could not be lowered
	if _, err := a.writer.Append(recordRewind, appendRewind(nil, ends)); err != nil {
		return lost, false, a.logFailed(err)
	}
	a.countLogs()
	if err := a.syncLog(); err != nil {
		return lost, false, err
	}
	next := *st
	next.tables, next.sequence = slices.Clone(st.tables), a.writer.Sequence()
	next.cover = st.lowered(a.indexes.Load(), endsOf(ends))
	for _, e := range ends {
		t := &next.tables[st.number[e.table]]
		t.frames = t.before(e.end)
		t.rewinds++
	}
	next.countRaw()
	a.cut.commits = 0 // some of those behind it are gone
	a.state.Store(&next)
	a.log.Info("rewound", "dir", a.dir, "tables", len(ends))
	return lost, false, nil
}

// rewindSegments makes segments of the rows kept of those that are cut, and names them
// in the manifest.
func (a *Archive) rewindSegments(ctx context.Context, to Position) (lost []TableRewind, err error) {
	select { // nothing is sealed meanwhile: segments stay as they are seen here
	case a.sealing <- struct{}{}:
		defer func() { <-a.sealing }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	st, err := a.pin()
	if err != nil {
		return nil, err
	}
	defer a.unpin(st)
	ends, _, err := st.rewindTo(to)
	if err != nil {
		return nil, err
	}
	lost = st.loses(ends)
	kept := map[string]*keptRows{}
	defer func() {
		for _, k := range kept {
			if k.d != nil {
				err = errors.Join(err, k.d.discard())
			}
		}
	}()
	for _, e := range ends {
		t := &st.tables[st.number[e.table]]
		i := t.find(e.end)
		if i < 0 || t.tableEntry.segments[i].FirstRow == e.end {
			continue
		}
		k := &keptRows{}
		kept[e.table] = k
		if err := a.keepRows(ctx, st, t, i, e.end, k); err != nil {
			return lost, err
		}
	}
	a.change.Lock()
	defer a.change.Unlock()
	done := false
	for _, k := range kept {
		d := k.d
		k.d = nil
		if err = a.name(d, k.info.File); err != nil {
			break
		}
		k.named = true
	}
	var before map[string]index.State
	if err == nil {
		done, err = a.swapManifest(true, func(st *state, p *plan) error {
			now, _, err := st.rewindTo(to) // rows may have come meanwhile, in logs
			if err == nil {
				before = a.indexStates(now)
				err = a.lowerIndexes(st, now)
			}
			if err != nil {
				return err
			}
			lost = st.loses(now)
			for _, e := range now {
				t := &p.m.tables[st.number[e.table]]
				n, _ := slices.BinarySearchFunc(t.segments, e.end, func(s SegmentInfo, end uint64) int {
					if s.EndRow() <= end {
						return -1
					}
					return 1
				})
				t.segments = slices.Clone(t.segments[:n])
				if k := kept[e.table]; k != nil {
					t.segments = append(t.segments, k.info)
				}
				p.ends[e.table] = e.end
			}
			return nil
		})
	}
	if err != nil && !done {
		err = errors.Join(err, a.raiseIndexes(before))
	}
	for _, k := range kept {
		if err != nil && !done && k.named {
			err = errors.Join(err, a.withdraw(k.info.File))
		}
	}
	if err == nil {
		a.log.Info("rewound", "dir", a.dir, "tables", len(ends))
	}
	return lost, err
}

// keptRows is a segment of the rows that a rewind keeps of another one.
type keptRows struct {
	d     *draft // nil once it has its name
	info  SegmentInfo
	named bool
}

// keepRows writes the rows before end of segment i, under the policy that it has.
func (a *Archive) keepRows(ctx context.Context, st *state, t *tableState, i int, end uint64, k *keptRows) error {
	h := t.handles[i]
	if err := a.files.acquire(h); err != nil {
		return a.saw(t.name, err)
	}
	defer a.files.release(h)
	p, err := h.r.Policy()
	if err != nil {
		if p, err = codec.ParsePolicy(t.policy); err != nil {
			return err
		}
	}
	i0 := h.info
	rows := end - i0.FirstRow
	src := &part{
		t: &Table{a: a, name: t.name, st: st}, first: i0.FirstRow, end: end,
		raw: uint64(float64(i0.RawBytes) * float64(rows) / float64(i0.Rows)),
	}
	if k.d, err = a.newSegment(t.name, i0.FirstRow); err != nil {
		return err
	}
	info, _, err := segment.Write(ctx, k.d, src, segment.WriterOptions{
		Table: t.name, Schema: t.schema, Policy: p, Encodings: a.o.Encodings, Workers: writers(a.o.Workers, p.ChunkBytes), Metadata: h.r.Metadata(),
	})
	if err == nil {
		err = k.d.close()
	}
	if err == nil {
		err = checkWritten(ctx, a.fs, k.d.path, info, a.o.Encodings)
	}
	k.info = describe(info)
	return err
}

func endsOf(ends []tableEnd) map[string]uint64 {
	m := make(map[string]uint64, len(ends))
	for _, e := range ends {
		m[e.table] = e.end
	}
	return m
}
