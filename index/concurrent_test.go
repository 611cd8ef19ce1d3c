package index

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Look-ups see all that their state covers while indexes are added to, loaded
// anew and dropped.
func TestConcurrent(t *testing.T) {
	s, err := Open(vfs.NewMem(), "index", Options{MemTableBytes: minMemTable})
	if err != nil {
		t.Fatal(err)
	}
	const rows, generations = 500, 20
	key := func(row uint64) []byte { return hashKey(row) }
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			var found []uint64
			for row := uint64(0); ; row++ {
				select {
				case <-done:
					return
				default:
				}
				for _, name := range []string{"grows", "replaced", "dropped"} {
					st, ok := s.State(name)
					if !ok || st.Rows() == 0 {
						continue
					}
					row := st.First + row%st.Rows()
					var err error
					found, err = s.Candidates(found[:0], name, key(row), st.First, st.End, 0)
					if name == "dropped" && errors.Is(err, ErrNoIndex) {
						continue
					}
					if err != nil || !slices.Contains(found, row) && name != "dropped" {
						t.Errorf("%s: row %d of %+v: %v, %v", name, row, st, found, err)
						return
					}
				}
			}
		})
	}
	keys := make([]string, rows)
	for i := range keys {
		keys[i] = string(key(uint64(i)))
	}
	wg.Go(func() {
		defer close(done)
		b := s.Batch()
		for row := uint64(0); row < rows*generations; row++ {
			if err := errors.Join(b.Add("grows", key(row), row), b.SetState("grows", State{End: row + 1})); err != nil {
				t.Error(err)
				return
			}
			if row%10 == 0 {
				if err := b.Commit(false); err != nil {
					t.Error(err)
					return
				}
			}
			if row%rows == 0 {
				for _, name := range []string{"replaced", "dropped"} {
					if err := s.Load(context.Background(), name, State{End: rows}, sequence(0, keys), LoadOptions{}); err != nil {
						t.Error(err)
						return
					}
				}
				if err := s.Drop("dropped"); err != nil {
					t.Error(err)
					return
				}
			}
		}
	})
	wg.Wait()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// A batch that named an index which was then replaced is void.
func TestReplaced(t *testing.T) {
	s, err := Open(vfs.NewMem(), "index", Options{})
	if err != nil {
		t.Fatal(err)
	}
	load := func() {
		t.Helper()
		if err := s.Load(t.Context(), "x", State{End: 1}, sequence(0, []string{"k"}), LoadOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	change := map[string]func(){
		"loaded":  load,
		"dropped": func() { _ = s.Drop("x") },
	}
	for name, f := range change {
		load()
		b := s.Batch()
		if err := b.Add("x", []byte("k"), 1); err != nil {
			t.Fatal(err)
		}
		f()
		err := errors.Join(b.SetState("x", State{End: 2}), b.Commit(true))
		if !errors.Is(err, ErrReplaced) {
			t.Errorf("%s: %v", name, err)
		}
		if again := b.Commit(true); again == nil {
			t.Errorf("%s: a batch lives on after an error", name)
		}
	}
	b := s.Batch()
	if err := errors.Join(b.Add("new", nil, 0), b.Commit(true)); !errors.Is(err, ErrNoIndex) {
		t.Errorf("without a state: %v", err)
	}
	for _, err := range []error{
		s.Batch().Add("", nil, 0), s.Batch().SetState("x", State{First: 2, End: 1}),
		s.Batch().SetState("x", State{Definition: string(make([]byte, maxDefinition+1))}),
	} {
		if !errors.Is(err, ErrInvalid) {
			t.Errorf("%v", err)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// A batch larger than its memory is written ahead, and whole.
func TestLargeBatch(t *testing.T) {
	s, err := Open(vfs.NewMem(), "index", Options{MemTableBytes: minMemTable})
	if err != nil {
		t.Fatal(err)
	}
	b := s.Batch()
	const n = 200_000
	for row := range uint64(n) {
		if err := b.Add("x", hashKey(row), row); err != nil {
			t.Fatal(err)
		}
		if size := b.b; size != nil && size.Len() > 2*batchBytes {
			t.Fatalf("%d bytes held", size.Len())
		}
	}
	if err := errors.Join(b.SetState("x", State{End: n}), b.Commit(true)); err != nil {
		t.Fatal(err)
	}
	for row := uint64(0); row < n; row += 7 {
		if rows, err := s.Candidates(nil, "x", hashKey(row), 0, n, 0); err != nil || !slices.Contains(rows, row) {
			t.Fatalf("row %d: %v, %v", row, rows, err)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
