package index

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// hashKey is a key as most are: 32 bytes that look random.
func hashKey(i uint64) []byte {
	h := sha256.Sum256(binary.LittleEndian.AppendUint64(nil, i))
	return h[:]
}

// sequence gives keys to rows from first on.
func sequence(first uint64, keys []string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for i, key := range keys {
			if !yield(Entry{[]byte(key), first + uint64(i)}, nil) {
				return
			}
		}
	}
}

// find is Candidates of all rows.
func find(s *Store, name, key string, st State) ([]uint64, error) {
	return s.Candidates(nil, name, []byte(key), st.First, st.End, 0)
}

// world is what a script did to a store: the states of each index in order,
// each with the keys of its rows, and which is known to be durable.
type world struct {
	mu     sync.Mutex
	states map[string][]State
	keys   map[[32]byte][]string // by anchor: of rows from 0
	acked  map[string]int        // states that must survive: up to this one
	serial uint64
}

func newWorld() *world {
	return &world{states: map[string][]State{}, keys: map[[32]byte][]string{}, acked: map[string]int{}}
}

// state notes a state that is about to be written.
func (w *world) state(name string, keys []string, first uint64) State {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.serial++
	st := State{Definition: name, First: first, End: uint64(len(keys))}
	binary.LittleEndian.PutUint64(st.Anchor[:], w.serial)
	w.keys[st.Anchor] = slices.Clone(keys)
	w.states[name] = append(w.states[name], st)
	return st
}

// gone notes that an index is about to be dropped.
func (w *world) gone(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.states[name] = append(w.states[name], State{})
}

// durable notes that all that was written is durable.
func (w *world) durable() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for name, states := range w.states {
		w.acked[name] = len(states)
	}
}

// clone returns a copy; w.mu is held.
func (w *world) clone() *world {
	c := newWorld()
	for name, states := range w.states {
		c.states[name] = slices.Clone(states)
	}
	c.acked, c.keys = maps.Clone(w.acked), maps.Clone(w.keys)
	return c
}

// check holds a store, opened after a crash or a fault, to the world: each
// index is as it was at some time not before what is known to be durable, and
// all its rows are found.
func (w *world) check(s *Store) error {
	for _, name := range s.Names() {
		if len(w.states[name]) == 0 {
			return fmt.Errorf("index %q out of nothing", name)
		}
	}
	for name, states := range w.states {
		st, _ := s.State(name)
		at := 0 // how many states were written by then; the later of equal ones counts
		for i, other := range states {
			if other == st {
				at = i + 1
			}
		}
		if at == 0 && st != (State{}) || at < w.acked[name] {
			return fmt.Errorf("index %q: state %+v is number %d, %d of %d are durable", name, st, at, w.acked[name], len(states))
		}
		if err := w.checkRows(s, name); err != nil {
			return err
		}
	}
	return nil
}

var errNotFound = errors.New("row is not found")

// checkRows looks every row up.
func (w *world) checkRows(s *Store, name string) error {
	st, ok := s.State(name)
	if !ok {
		return nil
	}
	keys := w.keys[st.Anchor]
	for row := st.First; row < st.End; row++ {
		rows, err := find(s, name, keys[row], st)
		if err != nil {
			return err
		}
		if !slices.Contains(rows, row) {
			return fmt.Errorf("index %q: %w: row %d of %+v: %v", name, errNotFound, row, st, rows)
		}
		if !slices.IsSortedFunc(rows, func(a, b uint64) int { return int(b) - int(a) }) {
			return fmt.Errorf("index %q: %v are not newest first", name, rows)
		}
	}
	return nil
}

// keysOf returns keys for rows [0, n) that differ by generation from row
// changed on. Some occur several times.
func keysOf(n, changed, generation int) []string {
	keys := make([]string, n)
	for i := range keys {
		g := 0
		if i >= changed {
			g = generation
		}
		keys[i] = fmt.Sprintf("%d/%d", g, i-i%3%2)
	}
	return keys
}

// script does one of everything. It stops at the first error.
func script(fs vfs.FS, dir string, w *world) (err error) {
	s, err := Open(fs, dir, Options{MemTableBytes: minMemTable})
	if err != nil {
		return err
	}
	defer func() {
		for _, name := range s.Names() { // also after an error: found, or another error
			if looking := w.checkRows(s, name); errors.Is(looking, errNotFound) {
				err = looking
			}
		}
		closing := s.Close()
		if err == nil && closing == nil {
			w.durable()
		}
		err = errors.Join(err, closing)
	}()
	commit := func(name string, keys []string, from int, sync bool) error {
		b := s.Batch()
		for row := from; row < len(keys); row++ {
			if err := b.Add(name, []byte(keys[row]), uint64(row)); err != nil {
				return err
			}
		}
		if err := b.SetState(name, w.state(name, keys, 0)); err != nil {
			return err
		}
		if err := b.Commit(sync); err != nil {
			return err
		}
		if sync {
			w.durable()
		}
		return w.checkRows(s, name)
	}
	load := func(name string, keys []string) error {
		o := LoadOptions{MemoryBytes: 10 * 3 * pairBytes, Workers: 2} // several runs
		if err := s.load(context.Background(), name, w.state(name, keys, 0), sequence(0, keys), o); err != nil {
			return err
		}
		w.durable()
		return w.checkRows(s, name)
	}
	flush := func() error { return s.change(s.db.Flush) }
	lower := func(name string, keys []string) error {
		st := w.state(name, keys, 0)
		if err := s.Lower(name, st.End, st.Anchor); err != nil {
			return err
		}
		w.durable()
		return nil
	}
	drop := func(name string) error {
		w.gone(name)
		if err := s.Drop(name); err != nil {
			return err
		}
		w.durable()
		return nil
	}
	checkpoint := func() error {
		if err := s.Checkpoint(fs.PathJoin(fs.PathDir(dir), "copy")); err != nil {
			return err
		}
		w.durable()
		return nil
	}
	for _, step := range []func() error{
		func() error { return commit("a", keysOf(20, 20, 0), 0, true) },
		func() error { return commit("a", keysOf(30, 30, 0), 20, false) },
		flush,
		func() error { return load("b", keysOf(35, 35, 0)) },
		func() error { return commit("b", keysOf(40, 40, 0), 35, false) },
		func() error { return lower("a", keysOf(15, 15, 0)) },
		func() error { return commit("a", keysOf(25, 15, 1), 15, true) },
		flush,
		func() error { return load("a", keysOf(60, 15, 1)) },
		func() error { return commit("a", keysOf(61, 15, 1), 60, false) },
		checkpoint,
		func() error { return drop("b") },
		func() error { return commit("b", keysOf(5, 0, 2), 0, false) },
		s.Sync,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func TestScript(t *testing.T) {
	fs, w := vfs.NewMem(), newWorld()
	if err := script(fs, "/x/index", w); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"/x/index", "/x/copy"} {
		s, err := Open(fs, dir, Options{ReadOnly: dir == "/x/copy"})
		if err != nil {
			t.Fatal(err)
		}
		if dir == "/x/index" {
			if err := w.check(s); err != nil {
				t.Error(err)
			}
		} else if err := w.checkRows(s, "a"); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
