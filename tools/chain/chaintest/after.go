package chaintest

import (
	"bytes"
	"testing"

	"github.com/segstore/segstore/tools/chain"
	"github.com/segstore/segstore/tools/chain/ethereum"
)

// ImportAfter imports files behind what m holds.
func ImportAfter(tb testing.TB, m *Memory, im chain.Importer, o chain.ImportOptions, files ...chain.File) (chain.Report, error) {
	tb.Helper()
	o.After = m
	return im.Import(tb.Context(), files, m, o)
}

// InParts wants files that are imported one behind the other to become the tables that they are when imported at once, and
// to come back as they were.
func InParts(t testing.TB, im chain.Importer, ex chain.Exporter, o chain.ImportOptions, files ...chain.File) {
	t.Helper()
	whole, want := Import(t, im, files...)
	parts, _ := Import(t, im, files[0])
	for i, f := range files[1:] {
		r, err := ImportAfter(t, parts, im, o, f)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Sources[0]; got.FirstBlock != want.Sources[i+1].FirstBlock || got.Blocks != want.Sources[i+1].Blocks {
			t.Errorf("%s: blocks %d from row %d, not %d from %d", f.Name, got.Blocks, got.FirstBlock, want.Sources[i+1].Blocks, want.Sources[i+1].FirstBlock)
		}
	}
	if !parts.Equal(whole) {
		t.Error("the tables are not those of one import")
	}
	out, _ := Export(t, ex, parts)
	for _, f := range files {
		if !bytes.Equal(out.Files[f.Base()], ReadAll(t, f)) {
			t.Errorf("%s does not come back", f.Name)
		}
	}
}

// SplitBlocks returns the first n blocks of a stream in RLP, and the others.
func SplitBlocks(tb testing.TB, b []byte, n int) (first, rest []byte) {
	tb.Helper()
	rest = b
	for range n {
		_, head, payload, err := ethereum.ItemHeader(rest)
		if err != nil {
			tb.Fatal(err)
		}
		rest = rest[head+int(payload):]
	}
	return b[:len(b)-len(rest)], rest
}
