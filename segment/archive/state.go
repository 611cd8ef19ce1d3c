package archive

import (
	"slices"
)

// state is what an archive holds: what a manifest names, and the rows in logs behind
// it. It is never changed.
type state struct {
	m        *manifest
	size     int64 // bytes of the manifest's file
	tables   []tableState
	number   map[string]int   // of a table
	logRaw   uint64           // bytes of the values in frames
	sequence uint64           // of the next record in the logs
	cover    map[string]cover // of indexes: up to which row of their table they find rows
	extras   *extras          // of a read-only archive
	ix       *indexes         // of a read-only archive: those that cover is of
	epoch    uint64           // grows where files go out of use: a view keeps those of its own and later ones
}

// tableState is a table: rows in segments, then rows in frames.
type tableState struct {
	*tableEntry
	handles []*handle // of the segments
	frames  []frame   // of rows behind them, without gaps
	rewinds uint64    // how often it was rewound: rows of one number may be others since
}

// newState returns the state for a manifest; handles of files that old has are taken
// over, and its frames, as far as the manifest has no segments for their rows.
func newState(m *manifest, size int64, old *state) *state {
	st := &state{m: m, size: size, tables: make([]tableState, len(m.tables)), number: make(map[string]int, len(m.tables))}
	if old != nil {
		st.sequence, st.epoch, st.cover, st.extras, st.ix = old.sequence, old.epoch, old.cover, old.extras, old.ix
	}
	for i := range m.tables {
		t := &m.tables[i]
		ts := tableState{tableEntry: t, handles: make([]*handle, len(t.segments)), rewinds: t.rewinds}
		var before *tableState
		if old != nil {
			if k, ok := old.number[t.name]; ok {
				before = &old.tables[k]
				ts.frames = before.behind(t.sealedEnd())
				ts.rewinds = max(before.rewinds, t.rewinds)
			}
		}
		for k := range t.segments {
			if before != nil {
				if at := before.find(t.segments[k].FirstRow); at >= 0 && before.segments[at].File == t.segments[k].File {
					ts.handles[k] = before.handles[at]
					continue
				}
			}
			ts.handles[k] = &handle{info: t.segments[k]}
		}
		st.tables[i] = ts
		st.number[t.name] = i
	}
	st.countRaw()
	return st
}

// behind returns the frames with rows from number row on.
func (t *tableState) behind(row uint64) []frame {
	k, _ := slices.BinarySearchFunc(t.frames, row, func(f frame, row uint64) int {
		if f.end() <= row {
			return -1
		}
		return 1
	})
	return t.frames[k:]
}

// before returns the frames with rows before number row; the last one is cut where it
// holds more. What is appended to them does not reach those of others.
func (t *tableState) before(row uint64) []frame {
	k, _ := slices.BinarySearchFunc(t.frames, row, func(f frame, row uint64) int {
		if f.first < row {
			return -1
		}
		return 1
	})
	frames := slices.Clone(t.frames[:k])
	if k > 0 && frames[k-1].end() > row {
		f := &frames[k-1]
		rows := uint32(row - f.first)
		f.raw = uint32(uint64(f.raw) * uint64(rows) / uint64(f.rows))
		f.rows = rows
	}
	return frames
}

// end returns one past the number of the last row.
func (t *tableState) end() uint64 {
	if n := len(t.frames); n > 0 {
		return t.frames[n-1].end()
	}
	return t.sealedEnd()
}

// logBytes returns the bytes of the values in frames.
func (t *tableState) logBytes() (n uint64) {
	for i := range t.frames {
		n += uint64(t.frames[i].raw)
	}
	return n
}

// frameOf returns the frame that holds row, or nil.
func (t *tableState) frameOf(row uint64) *frame {
	if frames := t.behind(row); len(frames) > 0 && frames[0].first <= row {
		return &frames[0]
	}
	return nil
}

// info sums up the rows of segments and logs.
func (t *tableState) info() TableInfo {
	i := t.tableEntry.info()
	i.Rows = t.end() - t.firstRow
	i.LogRows = t.end() - t.sealedEnd()
	i.LogBytes = t.logBytes()
	i.RawBytes += i.LogBytes
	return i
}

// position returns where the tables end.
func (st *state) position() Position {
	p := make(Position, len(st.tables))
	for i := range st.tables {
		p[st.tables[i].name] = st.tables[i].end()
	}
	return p
}

// with returns the state with frames appended.
func (st *state) with(tables []tableFrames, sequence uint64) *state {
	next := *st
	next.tables, next.sequence = slices.Clone(st.tables), sequence
	for _, t := range tables {
		ts := &next.tables[st.number[t.table]]
		ts.frames = append(ts.frames, t.frames...)
		for i := range t.frames {
			next.logRaw += uint64(t.frames[i].raw)
		}
	}
	return &next
}

// countRaw counts the bytes of the values in frames.
func (st *state) countRaw() {
	st.logRaw = 0
	for i := range st.tables {
		st.logRaw += st.tables[i].logBytes()
	}
}

// Position says where tables end: for each the number of its last row plus one.
type Position map[string]uint64

// info sums up the tables.
func (st *state) info() Info {
	i := st.m.info()
	i.ManifestBytes = st.size
	for k := range st.tables {
		t := st.tables[k].info()
		i.Rows += t.Rows - i.Tables[k].Rows
		i.RawBytes += t.RawBytes - i.Tables[k].RawBytes
		i.Tables[k] = t
	}
	return i
}
