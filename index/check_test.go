package index

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/cespare/xxhash/v2"
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// checked runs a check of rows [first, end) with the keys that key gives.
func checked(t testing.TB, s *Store, name string, o CheckOptions, key func(row uint64) []byte) (CheckReport, []Mismatch) {
	t.Helper()
	if o.TempFS == nil {
		o.TempFS, o.TempDir = vfs.NewMem(), "/tmp/check"
	}
	c, err := s.NewCheck(name, o)
	if err != nil {
		t.Fatal(err)
	}
	for row := o.First; row < o.End; row++ {
		if k := key(row); k != nil {
			if err := c.Add(k, row); err != nil {
				t.Fatal(err)
			}
		}
	}
	var all []Mismatch
	rep, err := c.Run(t.Context(), func(m Mismatch) error { all = append(all, m); return nil })
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.Close(), c.Close()); err != nil {
		t.Fatal(err)
	}
	if names, err := o.TempFS.List("/tmp"); err == nil && len(names) > 0 {
		t.Errorf("left: %q", names)
	}
	return rep, all
}

// entry returns an entry's key in the database, its fingerprint by the hash alone.
func entry(t testing.TB, s *Store, name string, key []byte, row uint64) []byte {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	return appendRow(appendPrefix(nil, s.catalogue[name].id, xxhash.Sum64(key)>>24), row)
}

func keyOf(row uint64) []byte { return hashKey(row / 2) } // each key twice

// Entries that are deleted, added, and moved are found, in memory and with runs on
// disk, and by no other name than their own.
func TestCheckFindsFlaws(t *testing.T) {
	for _, c := range []struct{ rows, memory int }{{1000, 0}, {50_000, minMemory}} {
		t.Run(fmt.Sprint(c.rows), func(t *testing.T) {
			fs := vfs.NewMem()
			s, err := Open(fs, "/index", Options{})
			if err != nil {
				t.Fatal(err)
			}
			n := uint64(c.rows)
			entries := func(yield func(Entry, error) bool) {
				for row := uint64(10); row < n && yield(Entry{keyOf(row), row}, nil); row++ {
				}
			}
			if err := s.Load(t.Context(), "hash", State{First: 10, End: n}, entries, LoadOptions{}); err != nil {
				t.Fatal(err)
			}
			o := CheckOptions{First: 10, End: n, MemoryBytes: c.memory}
			rep, all := checked(t, s, "hash", o, keyOf)
			if want := (CheckReport{Keys: n - 10, Entries: n - 10}); rep != want || len(all) > 0 {
				t.Fatalf("whole: %+v, %v", rep, all)
			}
			// Fewer rows, as after a prune, and rows without a key.
			rep, all = checked(t, s, "hash", CheckOptions{First: 20, End: n, MemoryBytes: c.memory}, keyOf)
			if want := (CheckReport{Keys: n - 20, Entries: n - 10, Left: 10}); rep != want || len(all) > 0 {
				t.Fatalf("pruned: %+v, %v", rep, all)
			}
			rep, all = checked(t, s, "hash", o, func(row uint64) []byte {
				if row == 77 {
					return nil
				}
				return keyOf(row)
			})
			if rep.Stray != 1 || rep.Lacking != 0 || len(all) != 1 || all[0].Row != 77 || !all[0].Stray {
				t.Fatalf("a row without a key: %+v, %v", rep, all)
			}
			edit := func(f func(key []byte, o *pebble.WriteOptions) error, key []byte, row uint64) {
				t.Helper()
				if err := f(entry(t, s, "hash", key, row), pebble.Sync); err != nil {
					t.Fatal(err)
				}
				s.renew()
			}
			set := func(key []byte, o *pebble.WriteOptions) error { return s.db.Set(key, nil, o) }
			want := map[Mismatch]bool{}
			flaw := func(row uint64, key []byte, stray bool) {
				want[Mismatch{Row: row, Fingerprint: xxhash.Sum64(key) >> 24, Stray: stray}] = true
			}
			edit(s.db.Delete, keyOf(10), 10)
			flaw(10, keyOf(10), false)
			edit(s.db.Delete, keyOf(501), 501) // row 500 has the same key
			flaw(501, keyOf(501), false)
			edit(set, []byte("added"), 600)
			flaw(600, []byte("added"), true)
			edit(s.db.Delete, keyOf(n-1), n-1) // moved
			edit(set, keyOf(n-1), 11)
			flaw(n-1, keyOf(n-1), false)
			flaw(11, keyOf(n-1), true)
			edit(set, []byte("added"), n) // of no row that was added
			got := map[Mismatch]bool{}
			rep, all = checked(t, s, "hash", o, keyOf)
			for _, m := range all {
				got[m] = true
			}
			if !maps.Equal(got, want) || len(all) != len(want) || rep.Lacking != 3 || rep.Stray != 2 || rep.Left != 1 || rep.Entries != n-10 {
				t.Fatalf("%+v, %v, want %v", rep, all, want)
			}
			if !slices.IsSortedFunc(all, func(a, b Mismatch) int {
				if (pair{a.Fingerprint, a.Row}).before(pair{b.Fingerprint, b.Row}) {
					return -1
				}
				return 1
			}) {
				t.Errorf("not in order: %v", all)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s, err = Open(fs, "/index", Options{ReadOnly: true})
			if err != nil {
				t.Fatal(err)
			}
			if rep, _ := checked(t, s, "hash", o, keyOf); rep.Lacking != 3 || rep.Stray != 2 {
				t.Errorf("read-only: %+v", rep)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// What a rewind leaves is no flaw, below it a stray entry is one; after a load nothing
// is left. It is remembered when the store is opened again.
func TestCheckAfterLower(t *testing.T) {
	fs := vfs.NewMem()
	s := loaded(t, fs, "/index", 100)
	if err := s.Lower("hash", 60, [32]byte{1}); err != nil {
		t.Fatal(err)
	}
	b := s.Batch()
	now := func(row uint64) []byte {
		if row < 60 {
			return hashKey(row)
		}
		return hashKey(1000 + row)
	}
	for row := uint64(60); row < 80; row++ {
		if err := b.Add("hash", now(row), row); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.SetState("hash", State{End: 80}); err != nil {
		t.Fatal(err)
	}
	if err := b.Commit(true); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		rep, all := checked(t, s, "hash", CheckOptions{End: 80}, now)
		if want := (CheckReport{Keys: 80, Entries: 120, Left: 40}); rep != want || len(all) > 0 {
			t.Fatalf("%+v, %v", rep, all)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		var err error
		if s, err = Open(fs, "/index", Options{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.db.Set(entry(t, s, "hash", []byte("x"), 59), nil, pebble.Sync); err != nil {
		t.Fatal(err)
	}
	if rep, _ := checked(t, s, "hash", CheckOptions{End: 80}, now); rep.Stray != 1 {
		t.Errorf("below the rewind: %+v", rep)
	}
	if err := s.Load(t.Context(), "hash", State{End: 100}, hashes(100), LoadOptions{}); err != nil {
		t.Fatal(err)
	}
	if rep, all := checked(t, s, "hash", CheckOptions{End: 100}, hashKey); rep.Left != 0 || len(all) > 0 {
		t.Errorf("loaded anew: %+v, %v", rep, all)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// A check ends with its context and with the caller's error, refuses what it cannot
// compare, and removes its files.
func TestCheckStops(t *testing.T) {
	s := loaded(t, vfs.NewMem(), "/index", 50_000)
	tmp := vfs.NewMem()
	o := CheckOptions{End: 50_000, MemoryBytes: minMemory, TempFS: tmp, TempDir: "/tmp/check"}
	start := func() *Check {
		t.Helper()
		c, err := s.NewCheck("hash", o)
		if err != nil {
			t.Fatal(err)
		}
		for row := range uint64(49_000) {
			if err := c.Add(hashKey(row), row); err != nil {
				t.Fatal(err)
			}
		}
		return c
	}
	c := start()
	ctx, cancel := context.WithCancel(t.Context())
	stop := errors.New("stop")
	if _, err := c.Run(ctx, func(Mismatch) error { cancel(); return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	c = start()
	if _, err := c.Run(t.Context(), func(Mismatch) error { return stop }); err != stop {
		t.Errorf("stopped: %v", err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	c = start() // and never run
	if err := c.Add(hashKey(1), 50_000); !errors.Is(err, ErrInvalid) {
		t.Errorf("a row of no range: %v", err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if names, err := tmp.List("/tmp"); err != nil || len(names) > 0 {
		t.Errorf("left: %q, %v", names, err)
	}
	for _, bad := range []CheckOptions{{End: 50_001}, {First: 2, End: 1}, {MemoryBytes: 5}, {TempFS: tmp}} {
		if bad.TempFS == nil {
			bad.TempFS, bad.TempDir = tmp, "/tmp/check"
		}
		if _, err := s.NewCheck("hash", bad); !errors.Is(err, ErrInvalid) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	if _, err := s.NewCheck("none", o); !errors.Is(err, ErrNoIndex) {
		t.Errorf("no index: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
