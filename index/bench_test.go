package index

import (
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

const benchKeys = 1_000_000

// benchOrder is which rows are looked up.
func benchOrder() []uint64 {
	rng := rand.New(rand.NewPCG(5, 6))
	rows := make([]uint64, 1<<16)
	for i := range rows {
		rows[i] = rng.Uint64N(benchKeys)
	}
	return rows
}

// bareDB is what one would have without this package: hashes as keys, rows as
// values, bulk-loaded by the same means.
func bareDB(b *testing.B) *pebble.DB {
	b.Helper()
	s := &Store{options: Options{CacheBytes: 256 << 20}.withDefaults()}
	s.merges = newScheduler(func() bool { return false })
	db, err := pebble.Open(b.TempDir(), s.pebbleOptions(vfs.Default))
	if err != nil {
		b.Fatal(err)
	}
	batch := db.NewBatch()
	for row := range uint64(benchKeys) {
		if err := batch.Set(hashKey(row), appendRow(nil, row), nil); err != nil {
			b.Fatal(err)
		}
		if batch.Len() > 1<<20 {
			if err := batch.Commit(pebble.NoSync); err != nil {
				b.Fatal(err)
			}
			batch = db.NewBatch()
		}
	}
	if err := batch.Commit(pebble.NoSync); err != nil {
		b.Fatal(err)
	}
	s.merges.start()
	if err := db.Compact(b.Context(), []byte{0}, []byte{0xff, 0xff}, false); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := db.Close(); err != nil {
			b.Error(err)
		}
	})
	return db
}

// BenchmarkLookup compares with a bare Get in one run, turn by turn.
func BenchmarkLookup(b *testing.B) {
	db := bareDB(b)
	s := benchStore(b)
	order := benchOrder()
	keys := make([][]byte, len(order))
	for i, row := range order {
		keys[i] = hashKey(row)
	}
	var rows []uint64
	var err error
	ours := func(i int) {
		if rows, err = s.Candidates(rows[:0], "hash", keys[i], 0, benchKeys, 0); err != nil || len(rows) == 0 {
			b.Fatal(rows, err)
		}
	}
	bare := func(i int) {
		_, closer, err := db.Get(keys[i])
		if err != nil {
			b.Fatal(err)
		}
		_ = closer.Close()
	}
	for i := range keys {
		ours(i)
		bare(i)
	}
	const turn = 512
	var times [2]time.Duration
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		for side, f := range []func(int){ours, bare} {
			start := time.Now()
			for i := range turn {
				f((n + i) % len(keys))
			}
			times[side] += time.Since(start)
		}
		n += turn
	}
	b.ReportMetric(float64(times[0].Nanoseconds())/float64(n), "ns/lookup")
	b.ReportMetric(float64(times[1].Nanoseconds())/float64(n), "ns/get")
	b.ReportMetric(float64(times[0])/float64(times[1]), "lookup/get")
}

func benchStore(b *testing.B) *Store {
	b.Helper()
	keys := hashes(benchKeys)
	s, err := Open(vfs.Default, b.TempDir()+"/index", Options{CacheBytes: 256 << 20})
	if err != nil {
		b.Fatal(err)
	}
	if err := s.Load(b.Context(), "hash", State{End: benchKeys}, keys, LoadOptions{}); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	return s
}

// BenchmarkCandidates is a look-up alone, for its allocations.
func BenchmarkCandidates(b *testing.B) {
	s := benchStore(b)
	order := benchOrder()
	keys := make([][]byte, len(order))
	for i, row := range order {
		keys[i] = hashKey(row)
	}
	var rows []uint64
	var err error
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		if rows, err = s.Candidates(rows[:0], "hash", keys[i%len(keys)], 0, benchKeys, 0); err != nil || len(rows) == 0 {
			b.Fatal(rows, err)
		}
		i++
	}
}

// BenchmarkMissing looks keys up that no row has.
func BenchmarkMissing(b *testing.B) {
	s := benchStore(b)
	keys := make([][]byte, 1<<16)
	for i := range keys {
		keys[i] = hashKey(uint64(benchKeys + i))
	}
	var rows []uint64
	var err error
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		if rows, err = s.Candidates(rows[:0], "hash", keys[i%len(keys)], 0, benchKeys, 0); err != nil {
			b.Fatal(err)
		}
		i++
	}
}

// BenchmarkLoad sorts, writes and ingests 5 million hashes: pairs a second, and bytes a key
// of all that is on the disk afterwards. Opening and closing count too.
func BenchmarkLoad(b *testing.B) {
	const n = 5_000_000
	keys := hashes(n)
	dir := b.TempDir() + "/index"
	b.ReportAllocs()
	for b.Loop() {
		if err := os.RemoveAll(dir); err != nil {
			b.Fatal(err)
		}
		s, err := Open(vfs.Default, dir, Options{})
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Load(b.Context(), "hash", State{End: n}, keys, LoadOptions{}); err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/key")
	b.ReportMetric(float64(b.N)*n/b.Elapsed().Seconds(), "pairs/s")
	b.ReportMetric(float64(bytesOf(b, dir))/n, "disk-B/key")
}

// BenchmarkCommit adds the keys of a block of 200 transactions.
func BenchmarkCommit(b *testing.B) {
	s, err := Open(vfs.Default, b.TempDir()+"/index", Options{})
	if err != nil {
		b.Fatal(err)
	}
	keys := make([][]byte, 200)
	for i := range keys {
		keys[i] = hashKey(uint64(i))
	}
	batch := s.Batch()
	row := uint64(0)
	b.ReportAllocs()
	for b.Loop() {
		for i := range keys {
			keys[i][row%32]++
			if err := batch.Add("hash", keys[i], row); err != nil {
				b.Fatal(err)
			}
			row++
		}
		if err := batch.SetState("hash", State{End: row}); err != nil {
			b.Fatal(err)
		}
		if err := batch.Commit(false); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
}
