package rlp_test

import (
	"bytes"
	"errors"
	"os"
	"testing"

	"github.com/segstore/segstore/tools/chain"
	"github.com/segstore/segstore/tools/chain/chaintest"
	"github.com/segstore/segstore/tools/chain/ethereum"
	"github.com/segstore/segstore/tools/chain/rlp"
)

// Whatever a file holds, an import fails with a place in it, or an export gives it back.
func FuzzRLP(f *testing.F) {
	for _, n := range []int{1, 3, 7} {
		blocks := chaintest.EthBlocks(1<<20, n)
		f.Add(chaintest.RLPS(blocks))
		f.Add(chaintest.Geth(blocks))
		f.Add(chaintest.Gzip(chaintest.RLPS(blocks)))
	}
	for _, name := range []string{"eth/early-headers.rlps", "eth/fixture-small.rlps"} {
		path, ok := chaintest.FindData(f, name)
		if !ok {
			continue
		}
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		end := 0
		for range 6 {
			_, head, payload, err := ethereum.ItemHeader(b[end:])
			if err != nil {
				f.Fatal(err)
			}
			end += head + int(payload)
		}
		f.Add(b[:end])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, file := range []chain.File{chaintest.BytesFile("f", b), chaintest.StreamFile("f", b)} {
			m := &chaintest.Memory{}
			r, err := rlp.Importer{}.Import(t.Context(), []chain.File{file}, m, chain.ImportOptions{MaxBlockBytes: 1 << 20})
			if err != nil {
				var e *chain.InputError
				if !errors.As(err, &e) || e.File != "f" || e.Offset < 0 || r.Sources != nil {
					t.Fatal(err)
				}
				continue
			}
			out, exported := chaintest.Export(t, rlp.Exporter{}, m)
			e := exported.Files[0]
			if e.Match != r.Sources[0].Restore || e.Match == chain.Different || e.Match == chain.Identical && !bytes.Equal(out.Files["f"], b) {
				t.Errorf("%+v", e)
			}
		}
	})
}
