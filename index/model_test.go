package index

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"
)

// modelIndex is an index as plain maps.
type modelIndex struct {
	state State
	keys  map[uint64]string              // of rows covered, or written without a state
	ever  map[string]map[uint64]struct{} // rows that ever had a key, since it was made
}

func (m *modelIndex) add(key string, row uint64) {
	m.keys[row] = key
	if m.ever[key] == nil {
		m.ever[key] = map[uint64]struct{}{}
	}
	m.ever[key][row] = struct{}{}
}

// model is a store as plain maps.
type model struct {
	fs      *vfs.MemFS
	store   *Store
	indexes map[string]*modelIndex
	copies  int
}

var modelKeys = rapid.SampledFrom([]string{"", "a", "b", "\x00", "\x00\x00", "ab", strings.Repeat("k", 1<<20), string(hashKey(1)), string(hashKey(2))})

func (m *model) open(t *rapid.T) {
	s, err := Open(m.fs, "index", Options{MemTableBytes: minMemTable})
	if err != nil {
		t.Fatal(err)
	}
	m.store = s
}

func (m *model) name(t *rapid.T) string {
	return rapid.SampledFrom([]string{"x", "y", "a longer name"}).Draw(t, "name")
}

// existing returns an index that there is, or none.
func (m *model) existing(t *rapid.T) (string, *modelIndex) {
	name := m.name(t)
	return name, m.indexes[name]
}

func newModelIndex() *modelIndex {
	return &modelIndex{keys: map[uint64]string{}, ever: map[string]map[uint64]struct{}{}}
}

// Add commits rows at the end of an index, in one batch or two.
func (m *model) Add(t *rapid.T) {
	name, x := m.existing(t)
	if x == nil {
		x = newModelIndex()
		first := rapid.Uint64Range(0, 300).Draw(t, "first")
		x.state = State{Definition: name, First: first, End: first}
		m.indexes[name] = x
	}
	b := m.store.Batch()
	for range rapid.IntRange(0, 20).Draw(t, "rows") {
		key := modelKeys.Draw(t, "key")
		if err := b.Add(name, []byte(key), x.state.End); err != nil {
			t.Fatal(err)
		}
		x.add(key, x.state.End)
		x.state.End++
	}
	x.state.Anchor[0]++
	if err := b.SetState(name, x.state); err != nil {
		t.Fatal(err)
	}
	if err := b.Commit(rapid.Bool().Draw(t, "sync")); err != nil {
		t.Fatal(err)
	}
}

// Load replaces an index.
func (m *model) Load(t *rapid.T) {
	name, x := m.name(t), newModelIndex()
	x.state.First = rapid.Uint64Range(0, 1<<40).Draw(t, "first")
	n := rapid.IntRange(0, 200).Draw(t, "rows")
	x.state.End = x.state.First + uint64(n)
	var keys []string
	for i := range n {
		key := fmt.Sprint(i % 150)
		if i%10 == 0 {
			key = modelKeys.Draw(t, "key")
		}
		keys = append(keys, key)
		x.add(key, x.state.First+uint64(i))
	}
	o := LoadOptions{MemoryBytes: rapid.IntRange(3*pairBytes, 200*pairBytes).Draw(t, "memory"), Workers: 2}
	if err := m.store.load(context.Background(), name, x.state, sequence(x.state.First, keys), o); err != nil {
		t.Fatal(err)
	}
	m.indexes[name] = x
}

// FailedLoad changes nothing.
func (m *model) FailedLoad(t *rapid.T) {
	failure := errors.New("no more rows")
	err := m.store.Load(context.Background(), m.name(t), State{End: 1 << 20}, func(yield func(Entry, error) bool) {
		for i := range 100 {
			if !yield(Entry{[]byte{byte(i)}, uint64(i)}, nil) {
				return
			}
		}
		yield(Entry{}, failure)
	}, LoadOptions{})
	if !errors.Is(err, failure) {
		t.Fatalf("load: %v", err)
	}
}

func (m *model) Lower(t *rapid.T) {
	name, x := m.existing(t)
	end, anchor := rapid.Uint64Range(0, 400).Draw(t, "end"), [32]byte{1, 2, 3}
	err := m.store.Lower(name, end, anchor)
	if x == nil {
		if !errors.Is(err, ErrNoIndex) {
			t.Fatalf("lower: %v", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if end < x.state.End {
		x.state.First, x.state.End, x.state.Anchor = min(x.state.First, end), end, anchor
	}
}

func (m *model) Raise(t *rapid.T) {
	name, x := m.existing(t)
	if x == nil {
		return
	}
	first := rapid.Uint64Range(0, 400).Draw(t, "first")
	if err := m.store.Raise(name, first); err != nil {
		t.Fatal(err)
	}
	x.state.First = max(x.state.First, first)
	x.state.End = max(x.state.End, first)
}

func (m *model) Drop(t *rapid.T) {
	name, x := m.existing(t)
	if err := m.store.Drop(name); (err == nil) != (x != nil) || err != nil && !errors.Is(err, ErrNoIndex) {
		t.Fatalf("drop: %v", err)
	}
	delete(m.indexes, name)
}

func (m *model) Reopen(t *rapid.T) {
	if err := m.store.Close(); err != nil {
		t.Fatal(err)
	}
	m.open(t)
}

func (m *model) Flush(t *rapid.T) {
	if err := m.store.change(m.store.db.Flush); err != nil {
		t.Fatal(err)
	}
}

// Copy holds a read-only checkpoint to the model too.
func (m *model) Copy(t *rapid.T) {
	m.copies++
	dir := fmt.Sprintf("copy-%d", m.copies)
	if err := m.store.Checkpoint(dir); err != nil {
		t.Fatal(err)
	}
	s, err := Open(m.fs, dir, Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	m.check(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := m.fs.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
}

func (m *model) Check(t *rapid.T) { m.check(t, m.store) }

func (m *model) check(t *rapid.T, s *Store) {
	if got, want := s.Names(), slices.Sorted(maps.Keys(m.indexes)); !slices.Equal(got, want) {
		t.Fatalf("names %q, expected %q", got, want)
	}
	for name, x := range m.indexes {
		if st, ok := s.State(name); !ok || st != x.state {
			t.Fatalf("%q: state %+v, expected %+v", name, st, x.state)
		}
		for key, ever := range x.ever {
			rows, err := s.Candidates([]uint64{7}, name, []byte(key), x.state.First, x.state.End, 0)
			if err != nil {
				t.Fatal(err)
			}
			rows = rows[1:]
			var must []uint64
			for row := range ever {
				if row >= x.state.First && row < x.state.End && x.keys[row] == key {
					must = append(must, row)
				}
			}
			for _, row := range must {
				if !slices.Contains(rows, row) {
					t.Fatalf("%q: row %d is missing: %v", name, row, rows)
				}
			}
			for i, row := range rows {
				if _, ok := ever[row]; !ok || row < x.state.First || row >= x.state.End || i > 0 && row >= rows[i-1] {
					t.Fatalf("%q: rows %v, ever %v of [%d, %d)", name, rows, ever, x.state.First, x.state.End)
				}
			}
			var streamed []uint64
			for row, err := range s.Lookup(name, []byte(key), x.state.First, x.state.End) {
				if err != nil {
					t.Fatal(err)
				}
				streamed = append(streamed, row)
			}
			if !slices.Equal(rows, streamed) {
				t.Fatalf("%q: Candidates %v, Lookup %v", name, rows, streamed)
			}
		}
		if rows, err := s.Candidates(nil, name, []byte("never"), 0, 1<<63, 0); err != nil || len(rows) > 0 {
			t.Fatalf("%q: never added: %v, %v", name, rows, err)
		}
	}
	if _, err := s.Candidates(nil, "none", nil, 0, 1, 0); !errors.Is(err, ErrNoIndex) {
		t.Fatalf("no such index: %v", err)
	}
}

func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &model{fs: vfs.NewMem(), indexes: map[string]*modelIndex{}}
		m.open(t)
		defer func() {
			if err := m.store.Close(); err != nil {
				t.Error(err)
			}
		}()
		t.Repeat(map[string]func(*rapid.T){
			"add": m.Add, "load": m.Load, "failed load": m.FailedLoad, "lower": m.Lower, "raise": m.Raise,
			"drop": m.Drop, "reopen": m.Reopen, "flush": m.Flush, "copy": m.Copy, "": m.Check,
		})
	})
}
