package index

import (
	"io/fs"
	"iter"
	"path/filepath"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// hashes gives hashKey of each row to it; they are made before.
func hashes(n int) iter.Seq2[Entry, error] {
	keys := make([]byte, 0, 32*n)
	for row := range uint64(n) {
		keys = append(keys, hashKey(row)...)
	}
	return func(yield func(Entry, error) bool) {
		for row := range uint64(n) {
			if !yield(Entry{keys[32*row : 32*row+32], row}, nil) {
				return
			}
		}
	}
}

// loaded returns a store with one index, "hash", of n hashes.
func loaded(t testing.TB, fs vfs.FS, dir string, n int) *Store {
	t.Helper()
	keys := hashes(n)
	s, err := Open(fs, dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	if err := s.Load(t.Context(), "hash", State{End: uint64(n)}, keys, LoadOptions{}); err != nil {
		t.Fatal(err)
	}
	if n > 100_000 {
		elapsed := time.Since(start)
		t.Logf("%d keys loaded in %v: %.2f M/s", n, elapsed.Round(time.Millisecond), float64(n)/elapsed.Seconds()/1e6)
	}
	return s
}

// All that a store has on disk after a load is at most 13 bytes a key.
func TestSize(t *testing.T) {
	n := 5_000_000
	if testing.Short() || raceEnabled {
		n = 200_000
	}
	dir := filepath.Join(t.TempDir(), "index")
	s := loaded(t, vfs.Default, dir, n)
	var rows []uint64
	for i := 0; i < n; i += 101 {
		var err error
		if rows, err = s.Candidates(rows[:0], "hash", hashKey(uint64(i)), 0, uint64(n), 0); err != nil || len(rows) == 0 || len(rows) == 1 && rows[0] != uint64(i) {
			t.Fatalf("row %d: %v, %v", i, rows, err)
		}
	}
	m, err := s.Metrics()
	if err != nil {
		t.Fatal(err)
	}
	if m.TableEntries < uint64(n) || m.Indexes[0].StoredBytes == 0 || m.StoredBytes < m.Indexes[0].StoredBytes {
		t.Errorf("%+v", m)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	a := float64(bytesOf(t, dir)) / float64(n)
	t.Logf("loaded: %.2f bytes a key", a)
	if a > 13 {
		t.Errorf("%.2f bytes a key", a)
	}
}

func bytesOf(t testing.TB, dir string) (sum int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			sum += info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return sum
}
