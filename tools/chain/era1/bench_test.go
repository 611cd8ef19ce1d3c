package era1_test

import (
	"testing"

	"github.com/segstore/segstore/tools/chain"
	"github.com/segstore/segstore/tools/chain/chaintest"
	"github.com/segstore/segstore/tools/chain/era1"
)

var benchFiles = []string{"era1/mainnet-00000-5ec1ffb8.era1", "era1/sepolia-00021-b8814b14.era1"}

// BenchmarkImport reads a file into rows that nobody keeps; MB/s are of the file as it lies.
func BenchmarkImport(b *testing.B) {
	for _, name := range benchFiles {
		b.Run(name, func(b *testing.B) {
			f := chaintest.DataFile(b, name)
			b.SetBytes(f.Size)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := (era1.Importer{}).Import(b.Context(), []chain.File{f}, chaintest.Discard{}, chain.ImportOptions{}); err != nil {
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
			m, _ := chaintest.Import(b, era1.Importer{}, f)
			b.SetBytes(f.Size)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := (era1.Exporter{}).Export(b.Context(), m, chaintest.Nowhere{}, chain.ExportOptions{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
