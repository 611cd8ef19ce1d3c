package blk

import (
	"context"
	"fmt"
	"testing"

	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/tools/chain"
	"github.com/segstore/segstore/tools/chain/chaintest"
)

// discard is a sink that keeps nothing.
type discard struct{}

func (discard) Create(chain.Table) error         { return nil }
func (discard) Append(string, segment.Row) error { return nil }
func (discard) Write(p []byte) (int, error)      { return len(p), nil }
func (discard) Commit() error                    { return nil }
func (discard) Abort() error                     { return nil }

type discardAll struct{}

func (discardAll) Create(string) (chain.OutputFile, error) { return discard{}, nil }

func BenchmarkImport(b *testing.B) {
	data := dataFile(b, "btc/mainnet-large.dat")
	key := Key{1, 2, 3, 4, 5, 6, 7, 8}
	for _, k := range []Key{{}, key} {
		for _, skip := range []bool{false, true} {
			b.Run(fmt.Sprintf("xor=%v/checks=%v", k != Key{}, !skip), func(b *testing.B) {
				f := file("x", obfuscate(data, k))
				b.SetBytes(f.Size)
				b.ReportAllocs()
				for b.Loop() {
					if _, err := (Importer{SkipChecks: skip, Key: &k}).Import(context.Background(), []chain.File{f}, discard{}, chain.ImportOptions{}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkExport(b *testing.B) {
	data := dataFile(b, "btc/mainnet-large.dat")
	m := new(chaintest.Memory)
	if _, err := (Importer{}).Import(context.Background(), []chain.File{file("x", data)}, m, chain.ImportOptions{}); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := (Exporter{}).Export(context.Background(), m, discardAll{}, chain.ExportOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}
