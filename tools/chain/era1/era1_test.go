package era1_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/segstore/segstore/tools/chain"
	"github.com/segstore/segstore/tools/chain/chaintest"
	"github.com/segstore/segstore/tools/chain/era1"
	"github.com/segstore/segstore/tools/chain/ethereum"
	"github.com/segstore/segstore/tools/chain/rlp"
)

func TestRoundTrip(t *testing.T) {
	a, b := build(chaintest.EthBlocks(8192, 40), gethFramed), build(chaintest.EthBlocks(8232, 1), gethFramed)
	for _, file := range []func(string, []byte) chain.File{chaintest.BytesFile, chaintest.StreamFile} {
		m, report := chaintest.Import(t, era1.Importer{}, file("x/a.era1", a), file("x/b.era1", b))
		if m.FirstRow("blocks") != 8192 || m.Rows("blocks") != 41 {
			t.Errorf("%+v", report.Tables)
		}
		for i, want := range [][]byte{a, b} {
			s := report.Sources[i]
			if s.Format != "era1" || s.FirstBlock != 8192+40*uint64(i) || s.Blocks != uint64(40-39*i) || s.Size != uint64(len(want)) ||
				s.SHA256 != sha256.Sum256(want) || s.Restore != chain.Identical {
				t.Errorf("%+v", s)
			}
		}
		out, exported := chaintest.Export(t, era1.Exporter{}, m)
		if !bytes.Equal(out.Files["a.era1"], a) || !bytes.Equal(out.Files["b.era1"], b) ||
			exported.Files[0].Match != chain.Identical || exported.Files[1].Match != chain.Identical {
			t.Errorf("%+v", exported)
		}
	}
}

// Rows are the same as those of a stream of the same blocks, and have the difficulty besides; the stream can be had back.
func TestRowsAndConversion(t *testing.T) {
	blocks := chaintest.EthBlocks(0, 40)
	m, _ := chaintest.Import(t, era1.Importer{}, chaintest.BytesFile("mainnet-00000-12345678.era1", build(blocks, gethFramed)))
	n, _ := chaintest.Import(t, rlp.Importer{}, chaintest.BytesFile("f", chaintest.RLPS(blocks)))
	for _, table := range []string{"transactions", "receipts", "blocks"} {
		for i := range n.Rows(table) {
			row, want := slices.Clone(m.Row(table, i)), n.Row(table, i)
			if table == "blocks" {
				if !bytes.Equal(row[4], blocks[i].Difficulty[:]) {
					t.Fatalf("block %d: total difficulty %x", i, row[4])
				}
				row[4] = nil
			}
			if !slices.EqualFunc(row, want, bytes.Equal) {
				t.Fatalf("%s, row %d: %x", table, i, row)
			}
		}
	}
	for form, want := range map[ethereum.Form][]byte{ethereum.Auto: chaintest.RLPS(blocks), ethereum.RLPS: chaintest.RLPS(blocks), ethereum.Geth: chaintest.Geth(blocks)} {
		out, exported := chaintest.Export(t, rlp.Exporter{Form: form}, m)
		e := exported.Files[0]
		if !bytes.Equal(out.Files[e.File], want) || e.Match != chain.Converted || e.SourceFormat != "era1" || !strings.HasPrefix(e.File, "mainnet-00000-12345678.rlp") {
			t.Errorf("to %v: %+v", form, e)
		}
	}
	_, err := era1.Exporter{}.Export(t.Context(), n, &chaintest.Output{}, chain.ExportOptions{})
	if !errors.Is(err, chain.ErrCannotExport) {
		t.Errorf("era1 without difficulties: %v", err)
	}
}

// A file of another encoder of snappy comes back with equal content, which an import of the result confirms.
func TestOtherEncoder(t *testing.T) {
	blocks := chaintest.EthBlocks(16384, 40)
	other, geth := build(blocks, otherFramed), build(blocks, gethFramed)
	if bytes.Equal(other, geth) {
		t.Fatal("both encoders give the same bytes: nothing is tested")
	}
	m, report := chaintest.Import(t, era1.Importer{}, chaintest.BytesFile("a.era1", other))
	if s := report.Sources[0]; s.Restore != chain.EqualContent || !strings.Contains(s.Reason, "another encoder") {
		t.Errorf("%+v", s)
	}
	out, exported := chaintest.Export(t, era1.Exporter{}, m)
	e := exported.Files[0]
	if e.Match != chain.EqualContent || !strings.Contains(e.Reason, "another encoder") {
		t.Errorf("%+v", e)
	}
	if !bytes.Equal(out.Files["a.era1"], geth) {
		t.Error("the export is not what geth would write")
	}
	// Content that is not equal is never called so.
	m.Row("blocks", 16384+7)[4][3] ^= 1
	if _, exported = chaintest.Export(t, era1.Exporter{}, m); exported.Files[0].Match != chain.Different {
		t.Errorf("changed difficulty: %+v", exported.Files[0])
	}
}

// Entries after the blocks that nobody knows are kept.
func TestOtherEntries(t *testing.T) {
	blocks := chaintest.EthBlocks(0, 3)
	want := start(blocks, gethFramed).entry(0x00ff, []byte("vendor's own")).entry(0x8001, nil).entry(0x07, accumulator).index(0).b
	m, _ := chaintest.Import(t, era1.Importer{}, chaintest.BytesFile("a.era1", want))
	out, exported := chaintest.Export(t, era1.Exporter{}, m)
	if !bytes.Equal(out.Files["a.era1"], want) || exported.Files[0].Match != chain.Identical {
		t.Errorf("%+v", exported)
	}
}

func TestRefuses(t *testing.T) {
	blocks := chaintest.EthBlocks(100, 3)
	begin := func() *file { return start(blocks, gethFramed) }
	raw := func(b []byte) []byte { return b }
	list := func(items ...any) []byte { return gethFramed(chaintest.RLP(items)) }
	at := begin().headers
	tail := len(begin().b)
	good := begin().entry(0x07, accumulator).index(100).b
	set := func(offset int, b byte) []byte {
		c := bytes.Clone(good)
		c[offset] = b
		return c
	}
	one := start(blocks[:1], gethFramed)
	for _, tc := range []struct {
		name   string
		b      []byte
		offset int
		want   string
	}{
		{"empty", nil, 0, "0x3265 (version): the file ends here"},
		{"text", []byte("hello, world"), 0, "0x3265 (version): entry type 0x6568"},
		{"rlp", chaintest.RLPS(blocks), 0, "0x3265 (version)"},
		{"erae or other version", set(0, 0x66), 0, "0x3266"},
		{"version with data", (&file{framed: raw}).entry(0x3265, []byte{1}).b, 0, "a version entry without data: 1 bytes"},
		{"reserved", set(at[1]+6, 1), at[1], "reserved bytes"},
		{"no block", (&file{}).entry(0x3265, nil).entry(0x07, accumulator).b, 8, "(compressed header): entry type 0x0007"},
		{"second version", begin().entry(0x3265, nil).entry(0x07, accumulator).index(100).b, tail, "one version entry"},
		{"not framed", start(blocks, raw).b, 16, "snappy framing format"},
		{"bad checksum", set(at[0]+8+10+4, 0), at[0] + 8, "snappy framing format"},
		{"body first", (&file{}).entry(0x3265, nil).entry(0x04, gethFramed(blocks[0].Body)).index(100).b, 8, "(compressed header): entry type 0x0004"},
		{"header twice", (&file{}).entry(0x3265, nil).entry(0x03, gethFramed(blocks[0].Header)).entry(0x03, gethFramed(blocks[0].Header)).entry(0x3266, nil).b, 16 + len(gethFramed(blocks[0].Header)), "(compressed body): entry type 0x0003"},
		{"body of one item", start(nil, gethFramed).entry(0x03, gethFramed(blocks[0].Header)).entry(0x04, list([]any{})).entry(0x3266, nil).b, 16 + len(gethFramed(blocks[0].Header)), "the list of uncles"},
		{"no header", start(nil, gethFramed).entry(0x03, list("a")).b, 8, "15 or more strings"},
		{"numbers jump", start([]chaintest.EthBlock{blocks[0], blocks[2]}, gethFramed).entry(0x07, accumulator).index(100).b, at[1], "block 101: a header of block 102"},
		{"short difficulty", start(nil, gethFramed).entry(0x03, gethFramed(blocks[0].Header)).entry(0x04, gethFramed(blocks[0].Body)).entry(0x05, gethFramed(blocks[0].Receipts)).entry(0x06, make([]byte, 31)).entry(0x3266, nil).b, len(one.b) - 40, "a total difficulty of 32 bytes: 31"},
		{"no receipts", start(nil, gethFramed).entry(0x03, gethFramed(blocks[0].Header)).entry(0x04, gethFramed(blocks[0].Body)).entry(0x06, make([]byte, 32)).entry(0x3266, nil).b, 24 + len(gethFramed(blocks[0].Header)) + len(gethFramed(blocks[0].Body)), "(compressed receipts): entry type 0x0006"},
		{"no accumulator", begin().index(100).b, tail, "0x0007 (accumulator)"},
		{"short accumulator", begin().entry(0x07, make([]byte, 31)).index(100).b, tail, "an accumulator of 32 bytes: 31"},
		{"two accumulators", begin().entry(0x07, accumulator).entry(0x07, accumulator).index(100).b, tail + 40, "after the accumulator: entry type 0x0007"},
		{"other entry late", begin().entry(0x07, accumulator).entry(0xff, nil).index(100).b, tail + 40, "after the accumulator: entry type 0x00ff"},
		{"block after other entry", begin().entry(0xff, nil).block(blocks[0]).entry(0x07, accumulator).index(100).b, tail + 8, "an accumulator or other entry"},
		{"large other entry", begin().entry(0xff, make([]byte, 17<<20)).entry(0x07, accumulator).index(100).b, tail, "at most 16777216 bytes between"},
		{"no index", begin().entry(0x07, accumulator).b, tail + 40, "block index"},
		{"index of another first", begin().entry(0x07, accumulator).index(99).b, tail + 48, "number of the first block in the block index: 100: 99"},
		{"index short", begin().entry(0x07, accumulator).entry(0x3266, make([]byte, 32)).b, tail + 40, "a block index of 40 bytes, for 3 blocks"},
		{"index wrong", set(tail+48+8, 0), tail + 56, "place of block 100 in the block index"},
		{"count wrong", set(len(good)-8, 4), len(good) - 8, "count of blocks in the block index: 3: 4"},
		{"garbage after", append(bytes.Clone(good), 1), len(good), "the end of the file"},
		{"two files in one", append(bytes.Clone(good), good...), len(good), "the end of the file"},
		{"length beyond the file", set(at[0]+2+2, 0x7f), 16, "the file ends here"},
		{"length of 4 GB", set(at[0]+2+3, 0xff), at[0], "4278190"},
	} {
		for _, file := range []func(string, []byte) chain.File{chaintest.BytesFile, chaintest.StreamFile} {
			_, err := era1.Importer{}.Import(t.Context(), []chain.File{file("x/a.era1", tc.b)}, &chaintest.Memory{}, chain.ImportOptions{})
			var e *chain.InputError
			if !errors.As(err, &e) || e.File != "x/a.era1" || e.Offset != int64(tc.offset) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: %v, wanted at byte %d: %s", tc.name, err, tc.offset, tc.want)
			}
		}
	}
	var many []chaintest.EthBlock
	for i := range 8193 {
		x := blocks[0]
		x.Header = chaintest.RLP([]any{"", "", "", "", "", "", "", "", uint64(i), "", "", "", "", "", ""})
		many = append(many, x)
	}
	_, err := era1.Importer{}.Import(t.Context(), []chain.File{chaintest.BytesFile("f", build(many, gethFramed))}, &chaintest.Memory{}, chain.ImportOptions{})
	if err == nil || !strings.Contains(err.Error(), "at most 8192 blocks") {
		t.Errorf("8193 blocks: %v", err)
	}
}

// Every truncation is an error that says so, found before a table is made; every changed byte an error with a place, or
// content that comes back as it was.
func TestTruncatedAndFlipped(t *testing.T) {
	blocks := chaintest.EthBlocks(100, 2)
	good := build(blocks, gethFramed)
	for n := range len(good) {
		m := &chaintest.Memory{}
		_, err := era1.Importer{}.Import(t.Context(), []chain.File{chaintest.BytesFile("f", good[:n])}, m, chain.ImportOptions{})
		if !errors.Is(err, chain.ErrInput) || !errors.Is(err, chain.ErrTruncated) || len(m.Tables()) > 0 {
			t.Fatalf("%d bytes: %v", n, err)
		}
	}
	taken := 0
	for n := range len(good) {
		bad := bytes.Clone(good)
		bad[n] ^= byte(1 + n%255)
		f := chaintest.BytesFile("f", bad)
		m := &chaintest.Memory{}
		_, err := era1.Importer{}.Import(t.Context(), []chain.File{f}, m, chain.ImportOptions{})
		if err != nil {
			if !errors.Is(err, chain.ErrInput) {
				t.Fatalf("byte %d: %v", n, err)
			}
			continue
		}
		out, exported := chaintest.Export(t, era1.Exporter{}, m)
		switch e := exported.Files[0]; {
		case e.Match == chain.Identical && bytes.Equal(out.Files["f"], bad):
			taken++
		case e.Match == chain.EqualContent && bytes.Equal(out.Files["f"], good): // a copy from other equal bytes
		default:
			t.Fatalf("byte %d: %+v", n, e)
		}
	}
	// Total difficulties and accumulator have no checksum in the format: they alone can change unseen.
	if want := 2*32 + 32; taken != want {
		t.Errorf("%d changed bytes pass, not %d", taken, want)
	}
}

// Hostile lengths cost no memory.
func TestBoundedMemory(t *testing.T) {
	blocks := chaintest.EthBlocks(100, 1)
	long := start(blocks, gethFramed)
	long.b = append(long.b, 0x03, 0, 0xff, 0xff, 0xff, 0x07, 0, 0) // a header of 128 MiB less a byte
	for name, f := range map[string]chain.File{
		"entry": chaintest.StreamFile("f", long.b),
		"bomb":  chaintest.BytesFile("f", start(nil, gethFramed).entry(0x03, bomb(1000)).entry(0x3266, nil).b),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := era1.Importer{}.Import(t.Context(), []chain.File{f}, &chaintest.Memory{}, chain.ImportOptions{MaxBlockBytes: 1 << 20})
		runtime.ReadMemStats(&after)
		if got := after.TotalAlloc - before.TotalAlloc; !errors.Is(err, chain.ErrInput) || got > 8<<20 {
			t.Errorf("%s: %d bytes allocated, %v", name, got, err)
		}
	}
}

// What the rows of an archive say is not trusted either.
func TestDamagedRows(t *testing.T) {
	good := build(chaintest.EthBlocks(100, 8), gethFramed)
	for column := range chain.SourcesSchema().Columns {
		for _, value := range [][]byte{nil, {0}, {1, 1}, bytes.Repeat([]byte{0xff}, 8), bytes.Repeat([]byte{0xff}, 32), []byte("../../etc/passwd")} {
			m, _ := chaintest.Import(t, era1.Importer{}, chaintest.BytesFile("f", good))
			m.Row("sources", 0)[column] = value
			out := &chaintest.Output{}
			r, err := era1.Exporter{}.Export(t.Context(), m, out, chain.ExportOptions{})
			if err == nil && column != 0 && r.Files[0].Match != chain.Different && column != 4 && column != 5 && !bytes.Equal(out.Files["f"], good) {
				t.Errorf("column %d, %x: %+v", column, value, r)
			}
			if err != nil && len(out.Files) > 0 {
				t.Errorf("column %d, %x: %v, and there is a file", column, value, err)
			}
		}
	}
	for c := range ethereum.BlocksSchema().Columns {
		for n := range uint64(8) {
			for _, value := range [][]byte{nil, bytes.Repeat([]byte{0xff}, 8), {0xc0}} {
				m, _ := chaintest.Import(t, era1.Importer{}, chaintest.BytesFile("f", good))
				m.Row("blocks", 100+n)[c] = value
				out := &chaintest.Output{}
				r, err := era1.Exporter{}.Export(t.Context(), m, out, chain.ExportOptions{})
				if err == nil && r.Files[0].Match != chain.Different && !bytes.Equal(out.Files["f"], good) {
					t.Errorf("column %d of row %d, %x: %+v", c, n, value, r)
				}
			}
		}
	}
}

func ExampleImporter() {
	file := chaintest.BytesFile("mainnet-00000-5ec1ffb8.era1", build(chaintest.EthBlocks(0, 10), gethFramed))
	archive := &chaintest.Memory{} // anything that is a chain.Sink and a chain.View
	report, err := era1.Importer{}.Import(context.Background(), []chain.File{file}, archive, chain.ImportOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, t := range report.Tables {
		fmt.Println(t.Table, t.Rows)
	}
	out := &chaintest.Output{}
	exported, err := era1.Exporter{}.Export(context.Background(), archive, out, chain.ExportOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(exported.Files[0].File, exported.Files[0].Match)
	// Output:
	// sources 1
	// blocks 10
	// transactions 21
	// receipts 21
	// mainnet-00000-5ec1ffb8.era1 identical
}
