package archive

import (
	"errors"
	"maps"

	"github.com/segstore/segstore/codec"
	"github.com/segstore/segstore/index"
	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/segment/merkle"
)

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
		for name := range st.cover {
			if k := ix.byName[name]; k != nil {
				a.indexDropped(k, err)
			}
		}
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

// indexStates returns the states of the indexes of tables that end earlier.
func (a *Archive) indexStates(ends []tableEnd) map[string]index.State {
	states := map[string]index.State{}
	ix := a.indexes.Load()
	for _, e := range ends {
		for _, k := range ix.byName {
			if k.Table == e.table && ix.store != nil {
				if s, ok := ix.store.State(k.Name); ok {
					states[k.Name] = s
				}
			}
		}
	}
	return states
}

// raiseIndexes gives indexes the states back that they had before they were lowered for a
// rewind which failed: their entries are all there. Where a commit came between, it has
// brought them up already.
func (a *Archive) raiseIndexes(states map[string]index.State) error {
	a.commits.Lock()
	defer a.commits.Unlock()
	ix := a.indexes.Load()
	if ix.store == nil || len(states) == 0 {
		return nil
	}
	b := ix.store.Batch()
	for name, s := range states {
		if now, ok := ix.store.State(name); !ok || now.End >= s.End {
			continue
		}
		if err := b.SetState(name, s); err != nil {
			return a.voidIndexes(err)
		}
	}
	if err := b.Commit(true); err != nil {
		return a.voidIndexes(err)
	}
	return nil
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
