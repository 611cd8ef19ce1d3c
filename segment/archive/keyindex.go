package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
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
		ix.store, ix.err = a.openCopy()
	} else {
		ix.store, ix.err = a.openStore()
	}
	if ix.err != nil {
		a.log.Warn("index cannot be opened: build it anew", "dir", a.dir, "error", ix.err)
		return &next
	}
	if ix.store == nil { // nothing was ever left for readers
		return &next
	}
	for _, name := range slices.Sorted(maps.Keys(ix.byName)) {
		k := ix.byName[name]
		end, err := a.covered(&next, ix, k)
		if err == nil {
			if next.cover[name] = (cover{end: end}); !a.o.ReadOnly {
				err = a.catchUp(&next, ix, k, catchUpRows)
			}
		}
		if err != nil {
			delete(next.cover, name)
			if errors.Is(err, errChanged) && !a.o.ReadOnly { // it must not fit by chance later on
				err = errors.Join(err, ix.store.Drop(name))
			}
			a.log.Warn("index answers nothing until it is built", "dir", a.dir, "index", name, "reason", err)
		}
	}
	return &next
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
	if s.Definition != k.definition() || s.First > t.firstRow || s.End > t.end() {
		return 0, errChanged
	}
	if s.End <= t.firstRow && t.rewinds == 0 { // of no rows that are there
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

// adder returns a function that adds the key of a value to a batch. A value without a
// key is not found by one.
func (k *keyIndex) adder(b *index.Batch) func(value []byte, row uint64) error {
	var key []byte
	return func(value []byte, row uint64) (err error) {
		if key, err = k.fn.Append(key[:0], value); err != nil {
			if errors.Is(err, codec.ErrNoKey) {
				return nil
			}
			return err
		}
		return b.Add(k.Name, key, row)
	}
}

// indexCommit adds the rows of a commit to the indexes that are in step, and returns
// where they end then. An index that fails falls behind; the commit is done. a.commits
// is held.
func (a *Archive) indexCommit(st *state, b *Batch, tables []tableFrames) map[string]cover {
	ix := a.indexes.Load()
	if ix == nil || ix.store == nil || len(st.cover) == 0 {
		return st.cover
	}
	now := maps.Clone(st.cover)
	ib := ix.store.Batch()
	some := false
	err := func() error {
		for _, tf := range tables {
			bt, err := b.table(tf.table)
			if err != nil {
				return err
			}
			for _, k := range ix.byName {
				have, ok := now[k.Name]
				if !ok || k.Table != tf.table || have.end != tf.first {
					continue
				}
				end, err := k.addBatch(ib, bt, tf.first)
				if err != nil {
					return err
				}
				t := &st.tables[st.number[k.Table]]
				if err := ib.SetState(k.Name, index.State{Definition: k.definition(), First: t.firstRow, End: end, Anchor: bt.anchor(t.rewinds)}); err != nil {
					return err
				}
				now[k.Name], some = cover{end, have.build}, true
			}
		}
		if !some {
			return nil
		}
		a.indexed.Store(true)
		return ib.Commit(false)
	}()
	if err != nil {
		a.log.Error("index fell behind: build it anew", "dir", a.dir, "error", err)
		return nil // whatever of the batch was written, no index is in step any more
	}
	return now
}

// addBatch adds the keys of a batch's rows, from row number first on.
func (k *keyIndex) addBatch(ib *index.Batch, bt *batchTable, first uint64) (end uint64, err error) {
	add := k.adder(ib)
	for i := range bt.chunks {
		v := &bt.chunks[i].values[k.column]
		for n := range v.Len() {
			if err := add(v.At(n), first); err != nil {
				return 0, err
			}
			first++
		}
	}
	return first, nil
}

// anchor returns that of the last row.
func (t *batchTable) anchor(rewinds uint64) merkle.Hash {
	c := &t.chunks[len(t.chunks)-1]
	last := c.values[0].Len() - 1
	row := make(segment.Row, len(c.values))
	for i := range row {
		row[i] = c.values[i].At(last)
	}
	return anchorOf(row, rewinds)
}

// lowerIndexes lets the indexes of tables end where a rewind will, durably, before it
// takes effect: what is between is not missed later.
func (a *Archive) lowerIndexes(st *state, ends []tableEnd) error {
	ix := a.indexes.Load()
	if len(ix.byName) == 0 {
		return nil
	}
	if ix.store == nil {
		return a.voidIndexes(ix.err)
	}
	a.indexed.Store(true)
	for _, e := range ends {
		anchor, err := a.anchor(st, e.table, e.end, st.tables[st.number[e.table]].rewinds+1)
		if errors.Is(err, segment.ErrCorrupt) { // an anchor of no row: the next writer builds anew
			anchor, err = merkle.Hash{}, nil
		}
		if err != nil {
			return err
		}
		for _, k := range ix.byName {
			if k.Table != e.table {
				continue
			}
			if err := ix.store.Lower(k.Name, e.end, anchor); err != nil && !errors.Is(err, index.ErrNoIndex) {
				return a.voidIndexes(err)
			}
		}
	}
	return nil
}

// voidIndexes removes the store and its copies: it cannot be told that rows go, and must
// not answer from what it has when it is opened again. a.commits is held.
func (a *Archive) voidIndexes(why error) error {
	a.log.Error("index removed, for it cannot follow a rewind: build it anew", "dir", a.dir, "error", why)
	var store *index.Store
	a.updateIndexes(func(ix *indexes) {
		store, ix.store, ix.err = ix.store, nil, fmt.Errorf("removed, for it could not follow a rewind: %w", errors.Join(errNotBuilt, why))
	})
	if store != nil {
		_ = store.Close() // it has failed
	}
	next := *a.state.Load()
	next.cover = nil
	a.state.Store(&next)
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

// What a look-up may return, beside errors of reading rows.
var (
	ErrNoIndex  = errors.New("archive: no such index")
	ErrNotFound = errors.New("archive: no row has this key")

	// ErrIndex says that an index cannot answer: it was not built, or of other rows, or
	// cannot be read. BuildIndex makes it anew.
	ErrIndex = errors.New("archive: the index must be built")
)

// Key returns the key of an index that a text means, as explorers print it.
func (v *View) Key(name, text string) ([]byte, error) {
	k, err := v.a.index(name)
	if err != nil {
		return nil, err
	}
	return k.fn.Parse(text)
}

func (a *Archive) index(name string) (*keyIndex, error) {
	ix := a.indexes.Load()
	k := ix.byName[name]
	if k == nil {
		return nil, fmt.Errorf("%w: %q, there are %q", ErrNoIndex, name, slices.Sorted(maps.Keys(ix.byName)))
	}
	if k.err != nil {
		return nil, fmt.Errorf("%w: %q: %w", ErrIndex, name, k.err)
	}
	return k, nil
}

// Lookup returns the number of the newest row that has a key. ErrNotFound where the
// table has none as the view has it; ErrIndex where the index cannot say.
func (v *View) Lookup(name string, key []byte) (uint64, error) {
	for row, err := range v.All(name, key) {
		return row, err
	}
	return 0, fmt.Errorf("%w: index %q", ErrNotFound, name)
}

// All yields the numbers of all rows that have a key, newest first. On failure it
// yields an error once.
func (v *View) All(name string, key []byte) iter.Seq2[uint64, error] {
	return func(yield func(uint64, error) bool) {
		k, err := v.a.index(name)
		if err != nil {
			yield(0, err)
			return
		}
		t := &v.st.tables[v.st.number[k.Table]]
		rows, err := v.candidates(k, t, key)
		if err != nil {
			yield(0, err)
			return
		}
		c := &Column{t: &Table{a: v.a, name: k.Table, st: v.st}, name: k.Key.Column, number: k.column}
		var value, got []byte
		for _, n := range rows {
			if value, err = c.Value(value[:0], n); err != nil {
				yield(0, err)
				return
			}
			if got, err = k.fn.Append(got[:0], value); err == nil && bytes.Equal(got, key) && !yield(n, nil) {
				return
			}
		}
	}
}

// candidates returns the rows that may have a key, newest first.
func (v *View) candidates(k *keyIndex, t *tableState, key []byte) (rows []uint64, err error) {
	have, ok := v.st.cover[k.Name]
	ix := v.a.indexes.Load()
	end := t.end()
	if v.a.o.ReadOnly && v.st.extras != nil {
		ix = v.st.ix // the copy that the cover is of
		if end = max(have.end, t.firstRow); !ok || ix.store == nil {
			end = t.firstRow
		}
		x, err := v.a.lacking(v.st, k, end)
		if err != nil {
			return nil, err
		}
		rows = x.find(key)
	} else if !ok || ix.store == nil || have.end < end || have.build != ix.builds[k.Name] {
		return nil, fmt.Errorf("%w: %q: it has not the rows that the table has", ErrIndex, k.Name)
	}
	if end > t.firstRow {
		if rows, err = ix.store.Candidates(rows, k.Name, key, t.firstRow, end, 0); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrIndex, err)
		}
	}
	if now := v.a.indexes.Load(); !v.a.o.ReadOnly && now.builds[k.Name] != have.build {
		return nil, fmt.Errorf("%w: %q: it was built anew meanwhile", ErrIndex, k.Name)
	}
	return rows, nil
}

// BuildIndex makes an index of all rows that its table has, in the place of what there
// was; rows that are committed meanwhile are in it too. Rewinds wait.
func (a *Archive) BuildIndex(ctx context.Context, name string, progress func(rows, of uint64)) error {
	ctx, end, err := a.begin(ctx, true)
	if err != nil {
		return err
	}
	defer end()
	done, err := a.turn(ctx)
	if err != nil {
		return err
	}
	defer done()
	k, err := a.index(name)
	if err != nil {
		return err
	}
	ix, err := a.storeForBuild(ctx)
	if err != nil {
		return err
	}
	a.uncover(name) // commits leave it alone from here on
	st, err := a.pin()
	if err != nil {
		return err
	}
	defer a.unpin(st)
	t := &st.tables[st.number[k.Table]]
	s := index.State{Definition: k.definition(), First: t.firstRow, End: t.end()}
	if s.Anchor, err = a.anchor(st, k.Table, s.End, t.rewinds); err != nil {
		return err
	}
	if err := ix.store.Load(ctx, name, s, a.entries(ctx, st, k, progress), index.LoadOptions{Workers: a.o.Workers}); err != nil {
		return err
	}
	covered, err := a.follows(ctx, ix, k, s.End)
	if err != nil {
		return err
	}
	if err := a.built(ix, k, covered); err != nil {
		return err
	}
	return a.checkpointIndex()
}

// follows adds the rows that came while an index was made, until few are left. Rewinds
// wait for the turn: what is there stays.
func (a *Archive) follows(ctx context.Context, ix *indexes, k *keyIndex, end uint64) (uint64, error) {
	for {
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		st, err := a.pin()
		if err != nil {
			return 0, err
		}
		t := &st.tables[st.number[k.Table]]
		if t.end()-end < fewRows {
			a.unpin(st)
			return end, nil
		}
		now := *st
		now.cover = map[string]cover{k.Name: {end: end}}
		err = a.catchUp(&now, ix, k, ^uint64(0))
		a.unpin(st)
		if err != nil {
			return 0, err
		}
		end = now.cover[k.Name].end
	}
}

// fewRows are added to an index while commits wait.
const fewRows = 1 << 12

// built takes over an index that was made of the rows before end.
func (a *Archive) built(ix *indexes, k *keyIndex, end uint64) error {
	a.commits.Lock()
	defer a.commits.Unlock()
	name := k.Name
	next := *a.state.Load()
	next.cover = maps.Clone(next.cover)
	if next.cover == nil {
		next.cover = map[string]cover{}
	}
	next.cover[name] = cover{end: end}
	if err := a.catchUp(&next, ix, k, ^uint64(0)); err != nil {
		return err
	}
	next.cover[name] = cover{next.cover[name].end, a.indexes.Load().builds[name]}
	a.state.Store(&next)
	a.indexed.Store(true)
	return nil
}

// uncover says that an index answers nothing, and that the next build begins: what views
// know of the last one does not hold for it.
func (a *Archive) uncover(name string) {
	a.commits.Lock()
	defer a.commits.Unlock()
	a.updateIndexes(func(ix *indexes) { ix.builds[name]++ })
	next := *a.state.Load()
	next.cover = maps.Clone(next.cover)
	delete(next.cover, name)
	a.state.Store(&next)
}

// storeForBuild returns the store, or makes one where there is none or a damaged one.
func (a *Archive) storeForBuild(context.Context) (*indexes, error) {
	ix := a.indexes.Load()
	if ix.store != nil {
		err := ix.store.Sync()
		if !errors.Is(err, index.ErrFailed) {
			return ix, err
		}
		_ = ix.store.Close() // its files are as a crash would leave them
	}
	path := a.fs.PathJoin(a.dir, indexDir, indexLive)
	if errors.Is(ix.err, index.ErrDamaged) {
		if err := a.fs.RemoveAll(path); err != nil {
			return nil, ioError("removing", path, err)
		}
	}
	store, err := a.openStore()
	if err != nil {
		return nil, err
	}
	return a.updateIndexes(func(ix *indexes) { ix.store, ix.err = store, nil }), nil
}

// entries yields the keys of all rows of an index's table.
func (a *Archive) entries(ctx context.Context, st *state, k *keyIndex, progress func(rows, of uint64)) iter.Seq2[index.Entry, error] {
	return func(yield func(index.Entry, error) bool) {
		t := &Table{a: a, name: k.Table, st: st}
		n := t.FirstRow()
		var key []byte
		for row, err := range t.Rows(n, k.Key.Column) {
			if err == nil && n%1024 == 0 {
				if err = ctx.Err(); progress != nil {
					progress(n-t.FirstRow(), t.EndRow()-t.FirstRow())
				}
			}
			if err != nil {
				yield(index.Entry{}, err)
				return
			}
			key, err = k.fn.Append(key[:0], row[0])
			switch {
			case errors.Is(err, codec.ErrNoKey):
			case err != nil:
				yield(index.Entry{}, err)
				return
			case !yield(index.Entry{Key: key, Row: n}, nil):
				return
			}
			n++
		}
	}
}

// CreateIndex adds an index, and builds it. ErrExists where the archive has one of
// this name.
func (a *Archive) CreateIndex(ctx context.Context, s IndexSpec, progress func(rows, of uint64)) error {
	_, end, err := a.begin(ctx, true) // Close waits for it
	if err != nil {
		return err
	}
	err = a.addIndex(s)
	end()
	if err != nil {
		return err
	}
	return a.BuildIndex(ctx, s.Name, progress)
}

func (a *Archive) addIndex(s IndexSpec) error {
	if err := segment.ValidateName(s.Name); err != nil {
		return err
	}
	a.change.Lock()
	defer a.change.Unlock()
	_, err := a.swapManifest(false, func(st *state, p *plan) error {
		i, ok := st.number[s.Table]
		if !ok {
			return st.noTable(s.Table)
		}
		for _, t := range p.m.tables {
			for _, e := range t.indexes {
				if e.Name == s.Name {
					return fmt.Errorf("%w: index %q", ErrExists, s.Name)
				}
			}
		}
		t := &p.m.tables[i]
		if _, _, err := resolveKey(s.Key, t.schema, a.o.KeyFunctions); err != nil {
			return err
		}
		t.indexes = append(slices.Clone(t.indexes), indexEntry{s.Name, s.Key.String()})
		return nil
	})
	if err != nil {
		return err
	}
	found := a.resolveIndexes(a.state.Load().m)
	a.updateIndexes(func(ix *indexes) { ix.byName = found })
	return nil
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
