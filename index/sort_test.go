package index

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

func randomPairs(rng *rand.Rand, n int) []pair {
	pairs := make([]pair, n)
	for i := range pairs {
		pairs[i] = pair{rng.Uint64() >> (64 - fpBits), rng.Uint64()}
		if i > 0 && i%3 == 0 { // a fingerprint again, or all of it
			pairs[i] = pairs[rng.IntN(i)]
			if i%2 == 0 {
				pairs[i].row = rng.Uint64N(10)
			}
		}
	}
	return pairs
}

// sorted is what runs are to give: by the standard library.
func sorted(pairs []pair) []pair {
	pairs = slices.Clone(pairs)
	slices.SortFunc(pairs, func(a, b pair) int { return cmp.Or(cmp.Compare(a.fp, b.fp), cmp.Compare(b.row, a.row)) })
	return slices.Compact(pairs)
}

func TestSortPairs(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 2, 3, 100, 10_000} {
		pairs := randomPairs(rng, n)
		want := sorted(pairs)
		if got := sortPairs(pairs, make([]pair, n)); !slices.Equal(got, want) {
			t.Errorf("%d pairs: not sorted", n)
		}
	}
}

// Runs on disk and in memory merge to the same pairs, cut into parts anyhow.
func TestMerge(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, c := range []struct{ n, memory, parts int }{
		{0, 1000, 1}, {10, 1000, 1}, {1000, 1000, 3}, {20_000, 16_000 * 3, 7}, {20_000, 3_000 * 3 * pairBytes, 4}, {10_000, 1 << 20, 2},
	} {
		mem := vfs.NewMem()
		pairs := randomPairs(rng, c.n)
		s := newSorter(mem, "/sort", c.memory)
		for _, p := range pairs {
			if err := s.add(p); err != nil {
				t.Fatal(err)
			}
		}
		runs, err := s.finish()
		if err != nil {
			t.Fatal(err)
		}
		w := &tableWriter{sorted: runs, parts: c.parts}
		var got []pair
		read := 0
		for part := range c.parts {
			m, err := w.sorted.merge(w.bound(part), w.bound(part+1))
			if err != nil {
				t.Fatal(err)
			}
			for {
				p, ok, err := m.next()
				if err != nil {
					t.Fatal(err)
				}
				if !ok {
					break
				}
				got = append(got, p)
			}
			read += m.read
			if err := m.close(); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(got, sorted(pairs)) || read != runs.pairs() {
			t.Errorf("%+v: %d runs: %d pairs of %d read, %d given", c, len(runs.files), read, runs.pairs(), len(got))
		}
	}
}

// A load that is told to stop, or gets a row outside of its state, leaves what
// there was.
func TestLoadStops(t *testing.T) {
	mem := vfs.NewMem()
	s := loaded(t, mem, "index", 100)
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	before, _ := s.State("hash")
	ctx, cancel := context.WithCancel(t.Context())
	stopping := func(yield func(Entry, error) bool) {
		for i := uint64(0); yield(Entry{hashKey(i), i}, nil); i++ {
			if i == 50_000 {
				cancel()
			}
		}
	}
	if err := s.Load(ctx, "hash", State{End: 1 << 40}, stopping, LoadOptions{MemoryBytes: minMemory}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	for _, st := range []State{{First: 1, End: 5}, {First: 0, End: 4}, {First: 9, End: 3}} {
		err := s.Load(t.Context(), "hash", st, sequence(0, []string{"a", "b", "c", "d", "e"}), LoadOptions{})
		if !errors.Is(err, ErrInvalid) {
			t.Errorf("%+v: %v", st, err)
		}
	}
	if st, _ := s.State("hash"); st != before {
		t.Errorf("state %+v", st)
	}
	if rows, err := s.Candidates(nil, "hash", hashKey(99), 0, 100, 0); err != nil || !slices.Equal(rows, []uint64{99}) {
		t.Errorf("%v, %v", rows, err)
	}
	checkTidy(t, s)
}
