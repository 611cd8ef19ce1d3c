package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/segstore/segstore/codec"
	"github.com/segstore/segstore/segment"
)

// Seal puts all rows that are in logs into segments, under the policies of their
// tables: dictionaries are trained on them, and what comes out is as good as what a
// Builder makes. Rows are committed and read meanwhile, and those that come later stay
// in the log. The logs go when no view needs them. It returns nil where there is
// nothing to seal.
//
// Memory is that of segment.Write, for one table at a time.
func (a *Archive) Seal(ctx context.Context) error {
	ctx, end, err := a.begin(ctx, true)
	if err != nil {
		return err
	}
	defer end()
	select {
	case a.sealing <- struct{}{}:
		defer func() { <-a.sealing }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	for {
		if err := a.seal(ctx, 0); !errors.Is(err, errRewound) {
			a.leaveIndex()
			return err
		}
	}
}

// sealedTable is the segments that take over the first frames of a table.
type sealedTable struct {
	name     string
	frames   []frame
	drafts   []*draft // nil once they have their names
	segments []SegmentInfo
	named    int // of the segments, from the first on
}

// seal makes segments of the rows in logs with numbers below end; 0 for those of all
// logs, of which the last one ends then. a.sealing is taken.
func (a *Archive) seal(ctx context.Context, end uint64) error {
	background := end != 0
	st, end, some, err := a.pinLogs(end)
	if err != nil {
		return err
	}
	defer a.unpin(st)
	ended := a.sealBegins(st, end, background)
	segments, err := a.sealRows(ctx, st, end, some)
	ended(segments, err)
	return err
}

// sealRows writes and publishes the segments of the rows that st has in logs with numbers
// below end. some says whether there are such logs.
func (a *Archive) sealRows(ctx context.Context, st *state, end uint64, some bool) (segments []SegmentInfo, err error) {
	var sealed []sealedTable
	defer func() {
		if err == nil {
			return
		}
		for _, t := range sealed {
			for _, d := range t.drafts {
				if d != nil {
					err = errors.Join(err, d.discard())
				}
			}
		}
	}()
	for i := range st.tables {
		t := &st.tables[i]
		frames := t.framesBelow(end)
		if len(frames) == 0 {
			continue
		}
		sealed = append(sealed, sealedTable{name: t.name, frames: frames})
		s := &sealed[len(sealed)-1]
		if err := a.sealTable(ctx, st, t, s); err != nil {
			return nil, err
		}
		segments = append(segments, s.segments...)
	}
	if some { // also without rows: the logs go
		err = a.publishSealed(sealed)
	}
	if err == nil {
		a.cutSealed(end)
	}
	return segments, err
}

// pinLogs pins the state in which rows are that lie in logs with numbers below end; with
// 0 the log ends, and end is returned of all. some says whether there are such logs.
func (a *Archive) pinLogs(end uint64) (st *state, _ uint64, some bool, err error) {
	a.commits.Lock()
	defer a.commits.Unlock()
	if err := a.writable(); err != nil {
		return nil, 0, false, err
	}
	if end == 0 {
		if err := a.rotate(); err != nil {
			return nil, 0, false, err
		}
		end = a.nextLog
	}
	st, err = a.pin()
	return st, end, len(a.logs) > 0 && a.logs[0].number < end, err
}

// framesBelow returns the frames in logs with numbers below end.
func (t *tableState) framesBelow(end uint64) []frame {
	k, _ := slices.BinarySearchFunc(t.frames, end, func(f frame, end uint64) int { return cmp.Compare(f.log.number, end) })
	return t.frames[:k:k]
}

// newSegment starts the file of a segment with rows from number first on. A table without
// segments may have lost its directory: not every copy has those that are empty.
func (a *Archive) newSegment(table string, first uint64) (*draft, error) {
	dir := a.fs.PathJoin(a.dir, table)
	path := a.fs.PathJoin(dir, fmt.Sprintf("%010d.%d%s", first, a.drafts.Add(1), tmpSuffix))
	d, err := newDraft(a.fs, path, "")
	if !missing(err) {
		return d, err
	}
	if err := a.makeTableDir(table); err != nil {
		return nil, err
	}
	return newDraft(a.fs, path, "")
}

// sealTable writes the segments for the frames of a table.
func (a *Archive) sealTable(ctx context.Context, st *state, t *tableState, s *sealedTable) error {
	p, err := codec.ParsePolicy(t.policy)
	if err != nil {
		return err
	}
	for from, end := t.sealedEnd(), s.frames[len(s.frames)-1].end(); from < end; {
		src := s.part(a, st, from)
		d, err := a.newSegment(t.name, from)
		if err != nil {
			return err
		}
		s.drafts = append(s.drafts, d)
		info, _, err := segment.Write(ctx, d, src, segment.WriterOptions{
			Table: t.name, Schema: t.schema, Policy: p, Encodings: a.o.Encodings, Workers: writers(a.o.Workers, p.ChunkBytes),
		})
		if err == nil {
			err = d.close()
		}
		if err == nil {
			err = checkWritten(ctx, a.fs, d.path, info, a.o.Encodings)
		}
		if err != nil {
			return err
		}
		s.segments = append(s.segments, describe(info))
		from = src.end
	}
	return nil
}

// publishSealed names the segments in the manifest. errRewound where rows of them went
// meanwhile.
func (a *Archive) publishSealed(sealed []sealedTable) error {
	a.change.Lock()
	defer a.change.Unlock()
	done, err := false, error(nil)
	for i := range sealed {
		if err = sealed[i].publish(a); err != nil {
			break
		}
	}
	if err == nil {
		done, err = a.swapManifest(false, func(st *state, p *plan) error {
			for _, s := range sealed {
				t := &st.tables[st.number[s.name]]
				if !t.begins(s.frames) {
					return errRewound
				}
				e := &p.m.tables[st.number[s.name]]
				e.segments = append(e.segments[:len(e.segments):len(e.segments)], s.segments...)
			}
			return nil
		})
	}
	if err != nil {
		for _, s := range sealed {
			for _, si := range s.segments[:s.named] {
				if !done {
					err = errors.Join(err, a.withdraw(si.File))
				}
			}
		}
		return err
	}
	for _, s := range sealed {
		for _, si := range s.segments {
			a.log.Info("segment sealed", "dir", a.dir, "file", si.File, "rows", si.Rows, "raw_bytes", si.RawBytes, "stored_bytes", si.StoredBytes)
		}
	}
	return nil
}

// publish gives the files their names.
func (s *sealedTable) publish(a *Archive) error {
	for i, d := range s.drafts {
		s.drafts[i] = nil
		if err := a.name(d, s.segments[i].File); err != nil {
			return err
		}
		s.named++
	}
	return nil
}

// begins reports whether the table's frames begin with the given ones.
func (t *tableState) begins(frames []frame) bool {
	if len(t.frames) < len(frames) {
		return false
	}
	for i := range frames {
		if t.frames[i] != frames[i] {
			return false
		}
	}
	return true
}

// part is rows of a table that are in frames, as a source.
type part struct {
	t          *Table
	first, end uint64
	raw        uint64
}

// part returns the rows from number from on for a segment: of whole frames, about
// Options.SegmentBytes of them.
func (s *sealedTable) part(a *Archive, st *state, from uint64) *part {
	p := &part{t: &Table{a: a, name: s.name, st: st}, first: from, end: from}
	for _, f := range s.frames {
		if f.end() <= from {
			continue
		}
		p.raw, p.end = p.raw+uint64(f.raw), f.end()
		if p.raw >= uint64(a.o.SegmentBytes) {
			break
		}
	}
	return p
}

// FirstRow returns the number of the first row.
func (p *part) FirstRow() uint64 { return p.first }

// EndRow returns one past the number of the last row.
func (p *part) EndRow() uint64 { return p.end }

// RawBytes returns the bytes of the values.
func (p *part) RawBytes() uint64 { return p.raw }

// Rows yields the rows from number from on.
func (p *part) Rows(from uint64, columns ...string) iter.Seq2[segment.Row, error] {
	return func(yield func(segment.Row, error) bool) {
		n := from
		for row, err := range p.t.Rows(from, columns...) {
			if err == nil && n >= p.end {
				return
			}
			if n++; !yield(row, err) || err != nil {
				return
			}
		}
	}
}

// leaveIndex leaves a copy of the indexes for readers: what is in it they need not read
// from the log.
func (a *Archive) leaveIndex() {
	if err := a.checkpointIndex(); err != nil {
		a.log.Warn("readers find an older index", "dir", a.dir, "error", err)
		a.backgroundError(WorkIndexCopy, err)
	}
}
