package rlp_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/segstore/segstore/tools/chain"
	"github.com/segstore/segstore/tools/chain/chaintest"
	"github.com/segstore/segstore/tools/chain/ethereum"
	"github.com/segstore/segstore/tools/chain/rlp"
	"github.com/segstore/segstore/tools/chain/synth"
)

// streams returns a made-up chain in streams of so many blocks.
func streams(t *testing.T, blocks ...uint64) (files []chain.File) {
	t.Helper()
	g := synth.New(1)
	for i, n := range blocks {
		var b bytes.Buffer
		if _, err := g.Write(t.Context(), &b, synth.Limit{Blocks: n}); err != nil {
			t.Fatal(err)
		}
		files = append(files, chaintest.BytesFile(string(rune('a'+i))+".rlps", b.Bytes()))
	}
	return files
}

func TestInParts(t *testing.T) {
	chaintest.InParts(t, rlp.Importer{}, rlp.Exporter{}, chain.ImportOptions{}, streams(t, 10, 1, 20)...)
	for name, o := range map[string]chain.ImportOptions{"eth/early-headers.rlps": {}, "eth/fixture-small.rlps": {AllowGap: true}} {
		first, rest := chaintest.SplitBlocks(t, chaintest.ReadAll(t, chaintest.DataFile(t, name)), 20)
		chaintest.InParts(t, rlp.Importer{}, rlp.Exporter{}, o, chaintest.BytesFile("a.rlps", first), chaintest.BytesFile("b.rlps", rest))
	}
}

// Blocks without receipts go behind such that have them, with empty ones; not the other way round.
func TestAfterForms(t *testing.T) {
	f := streams(t, 10, 10)
	geth := func(f chain.File, name string) chain.File {
		m, _ := chaintest.Import(t, rlp.Importer{}, f)
		out, _ := chaintest.Export(t, rlp.Exporter{Form: ethereum.Geth}, m)
		return chaintest.BytesFile(name, out.Files[name])
	}
	m, _ := chaintest.Import(t, rlp.Importer{}, f[0])
	if _, err := chaintest.ImportAfter(t, m, rlp.Importer{}, chain.ImportOptions{}, geth(f[1], "b.rlp")); err != nil {
		t.Fatal(err)
	}
	receipts := m.Column("receipts", "receipt")
	if n := m.Rows("transactions"); uint64(len(receipts)) != n || len(receipts[0]) == 0 || len(receipts[n-1]) != 0 {
		t.Errorf("%d receipts of %d transactions", len(receipts), n)
	}

	m, _ = chaintest.Import(t, rlp.Importer{}, geth(f[0], "a.rlp"))
	_, err := chaintest.ImportAfter(t, m, rlp.Importer{}, chain.ImportOptions{}, f[1])
	if !errors.Is(err, chain.ErrTables) || !strings.Contains(err.Error(), `no table "receipts"`) {
		t.Error(err)
	}
}

// Where blocks do not follow, the error says which number was expected, or which parent, and where; nothing is appended.
// The hash of block 1 is the one that explorers print.
func TestAfterRefuses(t *testing.T) {
	all := chaintest.ReadAll(t, chaintest.DataFile(t, "eth/early-headers.rlps"))
	one, rest := chaintest.SplitBlocks(t, all, 1)
	two, rest := chaintest.SplitBlocks(t, rest, 1)
	three, rest := chaintest.SplitBlocks(t, rest, 1)
	four, _ := chaintest.SplitBlocks(t, rest, 1)
	orphan := slices.Clone(two)
	i := bytes.Index(orphan, []byte{0x88, 0xe9, 0x6d, 0x45})
	orphan[i] ^= 1
	f := chaintest.BytesFile
	for name, tc := range map[string]struct {
		files  []chain.File
		file   string
		offset int64
		want   string
	}{
		"same":    {[]chain.File{f("x", one)}, "x", 0, "expected block 2, behind the last one stored: found block 1"},
		"later":   {[]chain.File{f("x", three)}, "x", 0, "expected block 2, behind the last one stored: found block 3"},
		"orphan":  {[]chain.File{f("x", orphan)}, "x", 0, "whose hash is 0x88e96d4537bea4d9c05d12549907b32561d3bf31f45aae734cdc119f13406cb6: its parent is 0x89e96d45"},
		"in file": {[]chain.File{f("x", slices.Concat(two, three, two, four))}, "x", int64(len(two) + len(three)), "expected block 4, behind the one before: found block 2"},
		"files":   {[]chain.File{f("x", slices.Concat(two, three)), f("y", three)}, "y", 0, "expected block 4, behind the last one of x: found block 3"},
	} {
		m, _ := chaintest.Import(t, rlp.Importer{}, f("first", one))
		_, err := chaintest.ImportAfter(t, m, rlp.Importer{}, chain.ImportOptions{}, tc.files...)
		var ie *chain.InputError
		if !errors.As(err, &ie) || ie.File != tc.file || ie.Offset != tc.offset || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
		if m.Rows("blocks") != 1 || m.Rows("sources") != 1 {
			t.Errorf("%s: rows were appended", name)
		}
		if _, err := chaintest.ImportAfter(t, m, rlp.Importer{}, chain.ImportOptions{AllowGap: true}, tc.files...); err != nil {
			t.Errorf("%s: with gaps: %v", name, err)
		}
	}
}

// A table without blocks wants the block of its first row.
func TestAfterNone(t *testing.T) {
	all := chaintest.ReadAll(t, chaintest.DataFile(t, "eth/early-headers.rlps"))
	one, rest := chaintest.SplitBlocks(t, all, 1)
	two, _ := chaintest.SplitBlocks(t, rest, 1)
	m := &chaintest.Memory{}
	if _, err := ethereum.NewWriter(chain.NewTally(m, nil), 1, true); err != nil {
		t.Fatal(err)
	}
	_, err := chaintest.ImportAfter(t, m, rlp.Importer{}, chain.ImportOptions{}, chaintest.BytesFile("x", two))
	if err == nil || !strings.Contains(err.Error(), "expected block 1, behind none yet stored: found block 2") {
		t.Error(err)
	}
	if _, err := chaintest.ImportAfter(t, m, rlp.Importer{}, chain.ImportOptions{}, chaintest.BytesFile("x", one)); err != nil {
		t.Error(err)
	}
}

// Tables that do not end together, and blocks of no source.
func TestAfterTables(t *testing.T) {
	f := streams(t, 10, 5, 5)
	cut := func(drop string, rows uint64) *chaintest.Memory {
		m, _ := chaintest.Import(t, rlp.Importer{}, f[0], f[1])
		m.Cut(drop, rows)
		return m
	}
	for table, want := range map[string]string{
		"transactions": `table "transactions" before row`, "receipts": `table "receipts" before row`, "blocks": `the transactions of the blocks end before row`,
	} {
		if _, err := chaintest.ImportAfter(t, cut(table, 1), rlp.Importer{}, chain.ImportOptions{}, f[2]); !errors.Is(err, chain.ErrTables) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", table, err)
		}
	}
	m := cut("sources", 1)
	first, _ := chaintest.Import(t, rlp.Importer{}, f[0])
	_, err := chaintest.ImportAfter(t, m, rlp.Importer{}, chain.ImportOptions{}, f[2])
	var gap *chain.GapError
	if !errors.As(err, &gap) || gap.Table != "blocks" || gap.End-gap.First != 5 || len(gap.Ends) != 3 {
		t.Fatalf("%v: %+v", err, gap)
	}
	for table, end := range gap.Ends {
		if want := first.FirstRow(table) + first.Rows(table); end != want {
			t.Errorf("%s would end at %d, not %d", table, end, want)
		}
		m.Cut(table, m.FirstRow(table)+m.Rows(table)-end)
	}
	if !m.Equal(first) {
		t.Error("without those rows, the tables are not what they were")
	}
	if _, err := chaintest.ImportAfter(t, m, rlp.Importer{}, chain.ImportOptions{}, f[1], f[2]); err != nil {
		t.Error(err)
	}
}
