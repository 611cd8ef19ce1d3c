package chaintest

import (
	"io"
	"testing"

	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/tools/chain"
)

// BenchImport reads each file of real chain data into rows that nobody keeps; MB/s are of the file as it lies.
func BenchImport(b *testing.B, im chain.Importer, names ...string) {
	for _, name := range names {
		b.Run(name, func(b *testing.B) {
			f := DataFile(b, name)
			b.SetBytes(f.Size)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := im.Import(b.Context(), []chain.File{f}, Discard{}, chain.ImportOptions{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchExport writes the rows of each file, in memory, to nowhere.
func BenchExport(b *testing.B, im chain.Importer, ex chain.Exporter, names ...string) {
	for _, name := range names {
		b.Run(name, func(b *testing.B) {
			f := DataFile(b, name)
			m, _ := Import(b, im, f)
			b.SetBytes(f.Size)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ex.Export(b.Context(), m, Nowhere{}, chain.ExportOptions{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// Discard is a chain.Sink that keeps nothing.
type Discard struct{}

// Create does nothing.
func (Discard) Create(chain.Table) error { return nil }

// Append does nothing.
func (Discard) Append(string, segment.Row) error { return nil }

// Mark does nothing.
func (Discard) Mark() error { return nil }

// Nowhere is a chain.Output that keeps nothing.
type Nowhere struct{}

// Create starts a file that keeps nothing.
func (Nowhere) Create(string) (chain.OutputFile, error) { return nowhereFile{io.Discard}, nil }

type nowhereFile struct{ io.Writer }

func (nowhereFile) Commit() error { return nil }
func (nowhereFile) Abort() error  { return nil }
