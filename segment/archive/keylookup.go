package archive

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
)

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
		c := &Column{t: &Table{a: v.a, name: k.Table, st: v.st}, name: k.Key.Column, number: k.column}
		var value, got []byte
		for n, err := range v.candidates(k, t, key) {
			if err != nil {
				yield(0, err)
				return
			}
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

// candidates yields the rows that may have a key, newest first: what the index has page
// by page, for a key may have very many.
func (v *View) candidates(k *keyIndex, t *tableState, key []byte) iter.Seq2[uint64, error] {
	return func(yield func(uint64, error) bool) {
		ix, lacking, end, err := v.sources(k, t, key)
		if err != nil {
			yield(0, err)
			return
		}
		for _, n := range lacking {
			if !yield(n, nil) {
				return
			}
		}
		if end <= t.firstRow {
			return
		}
		have := v.st.cover[k.Name]
		other := func() bool { return !v.a.o.ReadOnly && v.a.indexes.Load().builds[k.Name] != have.build }
		for n, err := range ix.store.Lookup(k.Name, key, t.firstRow, end) {
			if err != nil {
				yield(0, fmt.Errorf("%w: %w", ErrIndex, err))
				return
			}
			if other() {
				break
			}
			if !yield(n, nil) {
				return
			}
		}
		if other() {
			yield(0, fmt.Errorf("%w: %q: it was built anew meanwhile", ErrIndex, k.Name))
		}
	}
}

// sources returns where rows with a key are looked for: in an index, up to row end, and
// those that were read because it lacks them, newest first.
func (v *View) sources(k *keyIndex, t *tableState, key []byte) (ix *indexes, lacking []uint64, end uint64, err error) {
	have, ok := v.st.cover[k.Name]
	ix, end = v.a.indexes.Load(), t.end()
	if v.a.o.ReadOnly && v.st.extras != nil {
		ix = v.st.ix // the copy that the cover is of
		if end = max(have.end, t.firstRow); !ok || ix.store == nil {
			end = t.firstRow
		}
		x, err := v.a.lacking(v.st, k, end)
		if err != nil {
			return nil, nil, 0, err
		}
		lacking = x.find(key)
	} else if !ok || ix.store == nil || have.end < end || have.build != ix.builds[k.Name] {
		return nil, nil, 0, fmt.Errorf("%w: %q: it has not the rows that the table has", ErrIndex, k.Name)
	}
	return ix, lacking, end, nil
}
