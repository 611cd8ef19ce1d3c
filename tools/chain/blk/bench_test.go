package blk

import (
	"context"
	"fmt"
	"testing"

	"github.com/segstore/segstore/tools/chain"
	"github.com/segstore/segstore/tools/chain/chaintest"
)

func BenchmarkImport(b *testing.B) {
	data := chaintest.ReadAll(b, chaintest.DataFile(b, "btc/mainnet-large.dat"))
	key := Key{1, 2, 3, 4, 5, 6, 7, 8}
	for _, k := range []Key{{}, key} {
		for _, skip := range []bool{false, true} {
			b.Run(fmt.Sprintf("xor=%v/checks=%v", k != Key{}, !skip), func(b *testing.B) {
				f := file("x", obfuscate(data, k))
				b.SetBytes(f.Size)
				b.ReportAllocs()
				for b.Loop() {
					if _, err := (Importer{SkipChecks: skip, Key: &k}).Import(context.Background(), []chain.File{f}, chaintest.Discard{}, chain.ImportOptions{}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkExport(b *testing.B) {
	data := chaintest.ReadAll(b, chaintest.DataFile(b, "btc/mainnet-large.dat"))
	m := new(chaintest.Memory)
	if _, err := (Importer{}).Import(context.Background(), []chain.File{file("x", data)}, m, chain.ImportOptions{}); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := (Exporter{}).Export(context.Background(), m, chaintest.Nowhere{}, chain.ExportOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}
