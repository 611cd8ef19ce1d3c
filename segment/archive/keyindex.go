package archive

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/segstore/segstore/codec"
	"github.com/segstore/segstore/index"
	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/segment/merkle"
)

// IndexSpec is an index: rows of a table are found by a function of a column.
type IndexSpec struct {
	Name  string              `json:"index"` // unique in the archive
	Table string              `json:"table"`
	Key   codec.KeyDefinition `json:"key"` // "keccak256(transaction)", "number"
}

// IndexInfo is what an index is at.
type IndexInfo struct {
	IndexSpec
	Rows    uint64 `json:"rows"`              // of the table, that can be found
	Missing uint64 `json:"missing"`           // of the table, that the index has not; read-only, a look-up reads up to 2^20 of them
	Problem string `json:"problem,omitempty"` // why it answers nothing
}

// keyIndex is an index with its function.
type keyIndex struct {
	IndexSpec
	column int
	fn     codec.KeyFunction
	err    error // why there is none
}

// indexDir and what is in it: the store that a writer has open.
const (
	indexDir  = "index"
	indexLive = "live"
)

// indexes are the indexes of an archive.
type indexes struct {
	byName map[string]*keyIndex
	store  *index.Store // nil where there is none, or none that can be opened
	err    error        // why there is none
	builds map[string]uint64
}

// resolveIndexes finds the functions of the indexes that a manifest names.
func (a *Archive) resolveIndexes(m *manifest) map[string]*keyIndex {
	found := map[string]*keyIndex{}
	for i := range m.tables {
		t := &m.tables[i]
		for _, e := range t.indexes {
			k := &keyIndex{IndexSpec: e.spec(t.name)}
			k.column, k.fn, k.err = resolveKey(k.Key, t.schema, a.o.KeyFunctions)
			found[e.Name] = k
		}
	}
	return found
}

func resolveKey(d codec.KeyDefinition, s segment.Schema, functions []codec.KeyFunction) (int, codec.KeyFunction, error) {
	c := s.Index(d.Column)
	if c < 0 {
		return 0, codec.KeyFunction{}, fmt.Errorf("%w: %q", segment.ErrColumn, d.Column)
	}
	col := s.Columns[c]
	fn, err := d.Resolve(functions, col.Kind.String(), col.Format)
	return c, fn, err
}

// openIndexes opens the store, where the manifest names indexes, and brings them up
// to the rows of st. What is wrong with an index is no error: it is a cache, and says
// itself that it cannot answer.
func (a *Archive) openIndexes(st *state) *state {
	ix := &indexes{byName: a.resolveIndexes(st.m)}
	defer func() { a.indexes.Store(ix) }() // when it is whole
	next := *st
	next.ix, next.cover, next.extras = ix, map[string]cover{}, &extras{}
	if len(ix.byName) == 0 {
		return &next
	}
	if a.o.ReadOnly {
		ix.store, ix.err = a.openCopy(func(s *index.Store) bool { return ix.ahead(s, st) })
	} else {
		ix.store, ix.err = a.openStore()
	}
	if ix.err != nil {
		a.log.Warn("index cannot be opened: build it anew", "dir", a.dir, "error", ix.err)
		for _, k := range ix.byName {
			a.indexDropped(k, ix.err)
		}
		return &next
	}
	if ix.store == nil { // nothing was ever left for readers
		return &next
	}
	a.coverAll(&next, ix)
	return &next
}

// coverAll finds up to which rows the indexes of a store go that was opened just now, and
// brings them up to those of st.
func (a *Archive) coverAll(st *state, ix *indexes) {
	st.cover = map[string]cover{}
	for _, name := range slices.Sorted(maps.Keys(ix.byName)) {
		k := ix.byName[name]
		end, err := a.covered(st, ix, k)
		if err == nil {
			if st.cover[name] = (cover{end, ix.builds[name]}); !a.o.ReadOnly {
				err = a.catchUp(st, ix, k, catchUpRows)
			}
		}
		if err != nil {
			delete(st.cover, name)
			if errors.Is(err, errChanged) && !a.o.ReadOnly { // it must not fit by chance later on
				err = errors.Join(err, ix.store.Drop(name))
			}
			a.log.Warn("index answers nothing until it is built", "dir", a.dir, "index", name, "reason", err)
			a.indexDropped(k, err)
		}
	}
}

// ahead reports whether an index of a store has rows that st has not yet.
func (ix *indexes) ahead(store *index.Store, st *state) bool {
	for name, k := range ix.byName {
		if s, ok := store.State(name); ok && s.End > st.tables[st.number[k.Table]].end() {
			return true
		}
	}
	return false
}

func (a *Archive) openStore() (*index.Store, error) {
	dir := a.fs.PathJoin(a.dir, indexDir)
	if err := a.fs.MkdirAll(dir, 0o755); err != nil {
		return nil, ioError("creating", dir, err)
	}
	return index.Open(a.fs, a.fs.PathJoin(dir, indexLive), index.Options{Logger: a.log})
}

// errIndex says why an index answers nothing.
var (
	errNotBuilt = errors.New("it was never built")
	errChanged  = errors.New("it was built of other rows")
)

// cover is up to which row of its table an index finds rows, and which of the builds
// since the archive was opened that is: another one does not know of rows that were
// rewound before.
type cover struct{ end, build uint64 }

// covered returns up to where an index has the rows of its table.
func (a *Archive) covered(st *state, ix *indexes, k *keyIndex) (uint64, error) {
	if k.err != nil {
		return 0, k.err
	}
	s, ok := ix.store.State(k.Name)
	if !ok {
		return 0, errNotBuilt
	}
	t := &st.tables[st.number[k.Table]]
	if s.Definition != k.definition() || s.First > t.firstRow {
		return 0, errChanged
	}
	if s.End > t.end() {
		return 0, fmt.Errorf("%w: it knows rows up to %d, table %q ends at %d: commits that were never made durable are gone, or a log is", errChanged, s.End, k.Table, t.end())
	}
	if s.End <= t.firstRow { // of no rows that are there, whichever they were
		return t.firstRow, nil
	}
	anchor, err := a.anchor(st, k.Table, s.End, t.rewinds)
	if err != nil {
		return 0, err
	}
	if anchor != s.Anchor {
		return 0, errChanged
	}
	return s.End, nil
}

// definition is what an index is of, for its state.
func (k *keyIndex) definition() string { return k.Table + " " + k.Key.String() }

// anchor returns what an index that was built up to the row before end knows its rows
// by: that row, and how often the table was rewound.
func (a *Archive) anchor(st *state, table string, end, rewinds uint64) (merkle.Hash, error) {
	t := &Table{a: a, name: table, st: st}
	if end <= t.FirstRow() {
		return anchorOf(nil, rewinds), nil
	}
	row, err := t.Row(nil, end-1)
	if err != nil {
		return merkle.Hash{}, err
	}
	return anchorOf(row, rewinds), nil
}

func anchorOf(row segment.Row, rewinds uint64) merkle.Hash {
	var h merkle.Hasher
	return h.Leaf(append(slices.Clone(row), segment.AppendUint(nil, rewinds)))
}

// catchUpRows is how many rows at most an index is brought up to when an archive is
// opened: more take so long that the caller should ask for it.
const catchUpRows = 1 << 20

// catchUp adds the rows that an index lacks, if they are not more than most.
func (a *Archive) catchUp(st *state, ix *indexes, k *keyIndex, most uint64) error {
	t := &st.tables[st.number[k.Table]]
	have := st.cover[k.Name]
	from, end := have.end, t.end()
	if end-from > most {
		return fmt.Errorf("%d rows are not in it, at most %d are added when an archive is opened", end-from, most)
	}
	if from == end {
		return nil
	}
	b := ix.store.Batch()
	add := k.adder(b)
	n := from
	for row, err := range (&Table{a: a, name: k.Table, st: st}).Rows(from, k.Key.Column) {
		if err == nil {
			err = add(row[0], n)
		}
		if err != nil {
			return err
		}
		n++
	}
	anchor, err := a.anchor(st, k.Table, end, t.rewinds)
	if err != nil {
		return err
	}
	if err := b.SetState(k.Name, index.State{Definition: k.definition(), First: t.firstRow, End: end, Anchor: anchor}); err != nil {
		return err
	}
	if err := b.Commit(false); err != nil {
		return err
	}
	a.indexed.Store(true)
	st.cover[k.Name] = cover{end, have.build}
	return nil
}

// voidIndexes removes the store and its copies: it cannot be told that rows go, and must
// not answer from what it has when it is opened again. a.commits is held.
func (a *Archive) voidIndexes(why error) error {
	a.log.Error("index removed, for it cannot follow a rewind: build it anew", "dir", a.dir, "error", why)
	var store *index.Store
	now := a.updateIndexes(func(ix *indexes) {
		store, ix.store, ix.err = ix.store, nil, fmt.Errorf("removed, for it could not follow a rewind: %w", errors.Join(errNotBuilt, why))
	})
	if store != nil {
		a.jobs.Go(func() { _ = store.Close() }) // it has failed; a check that is at work is waited for
	}
	next := *a.state.Load()
	next.cover = nil
	a.state.Store(&next)
	for _, k := range now.byName {
		if store != nil { // else it was said before
			a.indexDropped(k, now.err)
		}
	}
	dir := a.fs.PathJoin(a.dir, indexDir)
	if err := a.fs.RemoveAll(dir); err != nil {
		return ioError("removing", dir, err)
	}
	return syncDir(a.fs, a.dir)
}

// updateIndexes replaces the indexes by a changed copy.
func (a *Archive) updateIndexes(change func(ix *indexes)) *indexes {
	a.ixMu.Lock()
	defer a.ixMu.Unlock()
	ix := *a.indexes.Load()
	if ix.builds = maps.Clone(ix.builds); ix.builds == nil {
		ix.builds = map[string]uint64{}
	}
	change(&ix)
	a.indexes.Store(&ix)
	return &ix
}

// lowered returns where indexes end after a rewind.
func (st *state) lowered(ix *indexes, ends map[string]uint64) map[string]cover {
	now := maps.Clone(st.cover)
	for name, have := range now {
		k := ix.byName[name]
		if k == nil {
			delete(now, name)
			continue
		}
		if to, ok := ends[k.Table]; ok {
			now[name] = cover{min(have.end, to), have.build}
		}
	}
	return now
}

// Indexes returns what the indexes are at, by name.
func (a *Archive) Indexes() (all []IndexInfo) {
	ix, st := a.indexes.Load(), a.state.Load()
	for _, name := range slices.Sorted(maps.Keys(ix.byName)) {
		k := ix.byName[name]
		t := &st.tables[st.number[k.Table]]
		i := IndexInfo{IndexSpec: k.IndexSpec}
		if have, ok := st.cover[name]; ok && have.end > t.firstRow {
			i.Rows = have.end - t.firstRow
		}
		i.Missing = t.end() - t.firstRow - i.Rows
		switch {
		case k.err != nil:
			i.Problem = k.err.Error()
		case ix.err != nil:
			i.Problem = ix.err.Error()
		case a.o.ReadOnly && i.Missing <= catchUpRows: // they are read from the table
		case i.Missing > 0:
			i.Problem = "not built of all rows"
		}
		all = append(all, i)
	}
	return all
}
