package merkle_test

import (
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/segstore/segstore/segment/merkle"
)

// BenchmarkRow is a leaf with its share of the nodes: what a row costs a writer.
func BenchmarkRow(b *testing.B) {
	for _, size := range []int{40, 200, 1000, 4000, 100_000} {
		b.Run(fmt.Sprintf("bytes=%d", size), func(b *testing.B) {
			row := [][]byte{make([]byte, 8), make([]byte, size-8)}
			var h merkle.Hasher
			var runs merkle.Runs
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				if runs.Append(h.Leaf(row)) && runs.Rows() == 1<<16 {
					runs.Reset()
				}
			}
		})
	}
}

// BenchmarkBareRow is the two SHA-256 that BenchmarkRow's 200 bytes cannot do
// without, over bytes that already lie joined: the leaf's and a node's.
func BenchmarkBareRow(b *testing.B) {
	leaf, node := make([]byte, 1+1+8+2+192), make([]byte, 1+2*32)
	b.ReportAllocs()
	for b.Loop() {
		sha256.Sum256(leaf)
		sha256.Sum256(node)
	}
}

func BenchmarkNode(b *testing.B) {
	var h merkle.Hasher
	l, r := leaf(1), leaf(2)
	b.ReportAllocs()
	for b.Loop() {
		l = h.Node(l, r)
	}
}

// BenchmarkRootOfRuns is the root of a million rows from their run nodes.
func BenchmarkRootOfRuns(b *testing.B) {
	nodes := leaves(1 << 20 / merkle.RunRows)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := merkle.RootOfRuns(nodes, 1<<20); err != nil {
			b.Fatal(err)
		}
	}
}
