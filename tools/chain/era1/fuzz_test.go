package era1_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/segstore/segstore/tools/chain"
	"github.com/segstore/segstore/tools/chain/chaintest"
	"github.com/segstore/segstore/tools/chain/era1"
	"github.com/segstore/segstore/tools/chain/ethereum"
)

// realBlocks returns up to n blocks of a real file.
func realBlocks(tb testing.TB, name string, n uint64) (blocks []chaintest.EthBlock) {
	if _, ok := chaintest.FindData(tb, name); !ok {
		return nil
	}
	m, _ := chaintest.Import(tb, era1.Importer{}, chaintest.DataFile(tb, name))
	for b, err := range ethereum.Blocks(m, m.FirstRow("blocks"), min(n, m.Rows("blocks")), true) {
		if err != nil {
			tb.Fatal(err)
		}
		blocks = append(blocks, chaintest.EthBlock{
			Number:     b.Number,
			Header:     bytes.Clone(b.Header),
			Body:       b.AppendBody(nil),
			Receipts:   b.AppendReceipts(nil),
			Difficulty: [32]byte(b.TotalDifficulty),
		})
	}
	return blocks
}

// Whatever a file holds, an import fails with a place in it, or an export gives it back, or content that is equal.
func FuzzEra1(f *testing.F) {
	for _, n := range []int{1, 2, 5} {
		f.Add(build(chaintest.EthBlocks(1<<20, n), gethFramed))
		f.Add(build(chaintest.EthBlocks(1<<20, n), otherFramed))
	}
	for _, name := range []string{"era1/mainnet-00000-5ec1ffb8.era1", "era1/sepolia-00021-b8814b14.era1"} {
		if blocks := realBlocks(f, name, 4); blocks != nil {
			f.Add(build(blocks, gethFramed))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, file := range []chain.File{chaintest.BytesFile("f", b), chaintest.StreamFile("f", b)} {
			m := &chaintest.Memory{}
			r, err := era1.Importer{}.Import(t.Context(), []chain.File{file}, m, chain.ImportOptions{MaxBlockBytes: 1 << 20})
			if err != nil {
				var e *chain.InputError
				if !errors.As(err, &e) || e.File != "f" || e.Offset < 0 || r.Sources != nil {
					t.Fatal(err)
				}
				continue
			}
			out, exported := chaintest.Export(t, era1.Exporter{}, m)
			e := exported.Files[0]
			if e.Match != r.Sources[0].Restore || e.Match == chain.Different || (e.Match == chain.Identical) != bytes.Equal(out.Files["f"], b) {
				t.Errorf("%+v", e)
			}
		}
	})
}
