package rlp_test

import (
	"testing"

	"github.com/segstore/segstore/tools/chain"
	"github.com/segstore/segstore/tools/chain/chaintest"
	"github.com/segstore/segstore/tools/chain/rlp"
)

var benchFiles = []string{"eth/bench-mainnet.rlps", "eth/early-headers.rlps"}

// BenchmarkImport reads a file into rows that nobody keeps; MB/s are of the file as it lies.
func BenchmarkImport(b *testing.B) {
	for _, name := range benchFiles {
		b.Run(name, func(b *testing.B) {
			f := chaintest.DataFile(b, name)
			b.SetBytes(f.Size)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := (rlp.Importer{}).Import(b.Context(), []chain.File{f}, chaintest.Discard{}, chain.ImportOptions{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkExport writes the rows of a file, in memory, to nowhere.
func BenchmarkExport(b *testing.B) {
	for _, name := range benchFiles {
		b.Run(name, func(b *testing.B) {
			f := chaintest.DataFile(b, name)
			m, _ := chaintest.Import(b, rlp.Importer{}, f)
			b.SetBytes(f.Size)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := (rlp.Exporter{}).Export(b.Context(), m, chaintest.Nowhere{}, chain.ExportOptions{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
