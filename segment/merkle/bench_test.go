package merkle

import (
	"fmt"
	"testing"
)

func benchRow(size int) [][]byte {
	row := [][]byte{make([]byte, 8), make([]byte, size-8)}
	for i := range row[1] {
		row[1][i] = byte(i * 7)
	}
	return row
}

// A leaf and its share of the nodes: what hashing costs a writer.
func BenchmarkRow(b *testing.B) {
	for _, size := range []int{40, 200, 1000, 4000, 100_000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			row := benchRow(size)
			var h Hasher
			var runs Runs
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				if runs.Append(h.Leaf(row)) && runs.Rows() == 1<<20 {
					runs.Reset()
				}
			}
		})
	}
}

func BenchmarkNode(b *testing.B) {
	var h Hasher
	var l, r Hash
	b.ReportAllocs()
	for b.Loop() {
		l = h.Node(l, r)
	}
}
