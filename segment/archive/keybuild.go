package archive

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/segstore/segstore/codec"
	"github.com/segstore/segstore/index"
	"github.com/segstore/segstore/segment"
)

// BuildIndex makes an index of all rows that its table has, in the place of what there
// was; rows that are committed meanwhile are in it too. Rewinds wait. ErrNoSpace where
// the disk is full: the index then answers nothing until it is built.
func (a *Archive) BuildIndex(ctx context.Context, name string, progress func(rows, of uint64)) (err error) {
	defer func() { err = noSpace(err) }()
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
	built := a.indexBuildBegins(k)
	err = a.buildIndex(ctx, k, progress)
	built(err)
	return err
}

// buildIndex makes an index. Whoever calls it has the turn.
func (a *Archive) buildIndex(ctx context.Context, k *keyIndex, progress func(rows, of uint64)) error {
	ix, err := a.storeForBuild()
	if err != nil {
		return err
	}
	a.uncover(k.Name) // commits leave it alone from here on
	defer a.buildEnds()
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
	if err := ix.store.Load(ctx, k.Name, s, a.entries(ctx, st, k, t.end(), progress), index.LoadOptions{Workers: a.o.Workers}); err != nil {
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
	a.building = true
	a.updateIndexes(func(ix *indexes) { ix.builds[name]++ })
	next := *a.state.Load()
	next.cover = maps.Clone(next.cover)
	delete(next.cover, name)
	a.state.Store(&next)
}

// buildEnds lets rewinds go on.
func (a *Archive) buildEnds() {
	a.commits.Lock()
	defer a.commits.Unlock()
	a.building = false
}

// storeForBuild returns the store, or makes one where there is none or a damaged one.
func (a *Archive) storeForBuild() (*indexes, error) {
	ix := a.indexes.Load()
	failed := false
	if ix.store != nil {
		err := ix.store.Sync()
		if failed = errors.Is(err, index.ErrFailed); !failed {
			return ix, err
		}
		_ = ix.store.Close() // its files are as a crash would leave them
	}
	if ix.err != nil {
		if err := a.removeDamaged(ix.err); err != nil {
			return nil, err
		}
	}
	store, err := a.openStore()
	if err != nil {
		return nil, err
	}
	a.commits.Lock()
	defer a.commits.Unlock()
	ix = a.updateIndexes(func(ix *indexes) {
		ix.store, ix.err = store, nil
		if failed { // views that are open know of another store
			for name := range ix.byName {
				ix.builds[name]++
			}
		}
	})
	if failed { // it may have lost what the other indexes were told last
		next := *a.state.Load()
		a.coverAll(&next, ix)
		a.state.Store(&next)
	}
	return ix, nil
}

// removeDamaged removes what is in the place of the store, where it could not be opened
// for the reason that it is none.
func (a *Archive) removeDamaged(why error) error {
	path := a.fs.PathJoin(a.dir, indexDir, indexLive)
	if !errors.Is(why, index.ErrDamaged) {
		st, err := a.fs.Stat(path)
		if missing(err) || err == nil && st.IsDir() {
			return nil
		}
		if err != nil {
			return ioError("finding", path, err)
		}
	}
	return ioError("removing", path, a.fs.RemoveAll(path))
}

// entries yields the keys of the rows before end of an index's table.
func (a *Archive) entries(ctx context.Context, st *state, k *keyIndex, end uint64, progress func(rows, of uint64)) iter.Seq2[index.Entry, error] {
	return func(yield func(index.Entry, error) bool) {
		t := &Table{a: a, name: k.Table, st: st}
		n := t.FirstRow()
		var key []byte
		for row, err := range t.Scan(ctx, n, end, segment.ScanOptions{Columns: []string{k.Key.Column}, Workers: a.o.Workers}) {
			if err == nil && progress != nil && n%1024 == 0 {
				progress(n-t.FirstRow(), end-t.FirstRow())
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
