package index

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// BenchmarkCheck compares a million keys with their entries.
func BenchmarkCheck(b *testing.B) {
	const n = 1_000_000
	s := loaded(b, vfs.NewMem(), "/index", n)
	defer func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	}()
	keys := make([][]byte, n)
	for i := range keys {
		keys[i] = hashKey(uint64(i))
	}
	for b.Loop() {
		rep, all := checked(b, s, "hash", CheckOptions{End: n}, func(row uint64) []byte { return keys[row] })
		if rep.Entries != n || len(all) > 0 {
			b.Fatal(rep, all)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/key")
}
