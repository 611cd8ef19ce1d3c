package rlp_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/segstore/segstore/tools/chain"
	"github.com/segstore/segstore/tools/chain/chaintest"
	"github.com/segstore/segstore/tools/chain/ethereum"
	"github.com/segstore/segstore/tools/chain/rlp"
)

func TestRoundTrip(t *testing.T) {
	blocks := chaintest.EthBlocks(100, 60)
	for _, tc := range []struct {
		name   string
		bytes  []byte
		format string
	}{
		{"chain.rlp", chaintest.Geth(blocks), "geth"},
		{"chain.rlps", chaintest.RLPS(blocks), "rlps"},
	} {
		for _, f := range []chain.File{chaintest.BytesFile("some/where/"+tc.name, tc.bytes), chaintest.StreamFile(tc.name, tc.bytes)} {
			m, report := chaintest.Import(t, rlp.Importer{}, f)
			s := report.Sources[0]
			if s.Name != tc.name || s.Format != tc.format || s.FirstBlock != 100 || s.Blocks != 60 || s.Size != uint64(len(tc.bytes)) ||
				s.SHA256 != sha256.Sum256(tc.bytes) || s.Restore != chain.Identical {
				t.Errorf("%s: %+v", tc.name, s)
			}
			if m.FirstRow("blocks") != 100 || ethereum.HasReceipts(m) != (tc.format == "rlps") {
				t.Errorf("%s: %+v", tc.name, report.Tables)
			}
			out, exported := chaintest.Export(t, rlp.Exporter{}, m)
			if !bytes.Equal(out.Files[tc.name], tc.bytes) || exported.Files[0].Match != chain.Identical || exported.Files[0].SHA256 != s.SHA256 {
				t.Errorf("%s does not come back: %+v", tc.name, exported.Files)
			}
		}
	}
}

// The rows are the parts of the blocks: a transaction is a row, a receipt has its row number, absent withdrawals are empty.
func TestRows(t *testing.T) {
	blocks := chaintest.EthBlocks(100, 60)
	m, _ := chaintest.Import(t, rlp.Importer{}, chaintest.BytesFile("x", chaintest.RLPS(blocks)))
	var txs, receipts [][]byte
	for i, b := range blocks {
		row := m.Row("blocks", 100+uint64(i))
		want := [][]byte{le(b.Number), b.Header, chaintest.RLP(b.BodyItems[1]), nil, nil, le(uint64(len(txs))), le(uint64(len(b.Transactions)))}
		if len(b.BodyItems) == 3 {
			want[3] = chaintest.RLP(b.BodyItems[2])
		}
		if !slices.EqualFunc(row, want, bytes.Equal) {
			t.Fatalf("row of block %d is %x", b.Number, row)
		}
		txs, receipts = append(txs, b.Transactions...), append(receipts, b.CanonicalReceipts...)
	}
	if !slices.EqualFunc(m.Column("transactions", "transaction"), txs, bytes.Equal) ||
		!slices.EqualFunc(m.Column("receipts", "receipt"), receipts, bytes.Equal) {
		t.Error("transactions or receipts are not those of the blocks")
	}
}

func le(v uint64) []byte {
	b := make([]byte, 8)
	for i := range b {
		b[i] = byte(v >> (8 * i))
	}
	return b
}

// The first row is the first number only where the blocks of all files are consecutive.
func TestFirstRow(t *testing.T) {
	a, b, c := chaintest.EthBlocks(10, 5), chaintest.EthBlocks(15, 5), chaintest.EthBlocks(21, 2)
	gap := append(slices.Clone(a[:2]), a[3:]...)
	for _, tc := range []struct {
		files [][]chaintest.EthBlock
		first uint64
	}{
		{[][]chaintest.EthBlock{a}, 10},
		{[][]chaintest.EthBlock{a, b}, 10},
		{[][]chaintest.EthBlock{b, a}, 0},
		{[][]chaintest.EthBlock{a, b, c}, 0},
		{[][]chaintest.EthBlock{gap}, 0},
		{[][]chaintest.EthBlock{chaintest.EthBlocks(1<<63-3, 3)}, 0},
		{[][]chaintest.EthBlock{chaintest.EthBlocks(1<<63-4, 3)}, 1<<63 - 4},
		{[][]chaintest.EthBlock{chaintest.EthBlocks(1<<64-2, 2)}, 0},
	} {
		var files []chain.File
		for _, blocks := range tc.files {
			files = append(files, chaintest.BytesFile("same name.rlps", chaintest.RLPS(blocks)))
		}
		m, report := chaintest.Import(t, rlp.Importer{}, files...)
		if got := m.FirstRow("blocks"); got != tc.first {
			t.Errorf("first row %d, not %d", got, tc.first)
		}
		out, exported := chaintest.Export(t, rlp.Exporter{}, m)
		row := tc.first
		for i, e := range exported.Files {
			if e.Match != chain.Identical || e.FirstBlock != row || !bytes.Equal(out.Files[e.File], chaintest.RLPS(tc.files[i])) {
				t.Errorf("file %d: %+v", i, e)
			}
			row += report.Sources[i].Blocks
		}
	}
}

func TestGzip(t *testing.T) {
	plain := chaintest.Geth(chaintest.EthBlocks(0, 20))
	gz := chaintest.Gzip(plain)
	two := append(chaintest.Gzip(plain[:1000]), chaintest.Gzip(plain[1000:])...) // members one after another are one stream (RFC 1952)
	for _, b := range [][]byte{gz, two} {
		m, report := chaintest.Import(t, rlp.Importer{}, chaintest.BytesFile("chain.rlp.gz", b))
		s := report.Sources[0]
		if s.Name != "chain.rlp" || s.Size != uint64(len(plain)) || s.Restore != chain.EqualContent || !strings.Contains(s.Reason, chain.Sum(sha256.Sum256(b)).String()) {
			t.Errorf("%+v", s)
		}
		out, exported := chaintest.Export(t, rlp.Exporter{}, m)
		e := exported.Files[0]
		if !bytes.Equal(out.Files["chain.rlp"], plain) || e.Match != chain.EqualContent || !strings.Contains(e.Reason, "gzip") {
			t.Errorf("%+v", e)
		}
	}
	var broken []byte
	for name, b := range map[string][]byte{
		"cut":      gz[:len(gz)/2],
		"cut sum":  gz[:len(gz)-3],
		"sum":      append(append(broken, gz[:len(gz)-8]...), 0, 0, 0, 0, 0, 0, 0, 0),
		"header":   gz[:5],
		"trailing": append(append(broken, gz...), "garbage"...),
		"deflate":  append(append(broken, gz[:20]...), bytes.Repeat([]byte{0xff}, 100)...),
	} {
		_, err := rlp.Importer{}.Import(t.Context(), []chain.File{chaintest.BytesFile("chain.rlp.gz", b)}, &chaintest.Memory{}, chain.ImportOptions{})
		if !errors.Is(err, chain.ErrInput) {
			t.Errorf("gzip, %s: %v", name, err)
		}
	}
}

// A stream of geth's form has no receipts; imported with one that has, they are empty, and rlps is refused for it alone.
func TestMixedForms(t *testing.T) {
	geth, rlps := chaintest.Geth(chaintest.EthBlocks(0, 20)), chaintest.RLPS(chaintest.EthBlocks(20, 20))
	m, _ := chaintest.Import(t, rlp.Importer{}, chaintest.BytesFile("a.rlp", geth), chaintest.BytesFile("b.rlps", rlps))
	if m.Rows("receipts") != m.Rows("transactions") {
		t.Errorf("%d receipts, %d transactions", m.Rows("receipts"), m.Rows("transactions"))
	}
	out, _ := chaintest.Export(t, rlp.Exporter{}, m)
	if !bytes.Equal(out.Files["a.rlp"], geth) || !bytes.Equal(out.Files["b.rlps"], rlps) {
		t.Error("the files do not come back")
	}
	_, err := rlp.Exporter{Form: ethereum.RLPS}.Export(t.Context(), m, &chaintest.Output{}, chain.ExportOptions{})
	if !errors.Is(err, chain.ErrCannotExport) || !strings.Contains(err.Error(), "a.rlp") {
		t.Errorf("rlps of all: %v", err)
	}
	one := &chaintest.Output{}
	r, err := rlp.Exporter{Form: ethereum.RLPS}.Export(t.Context(), m, one, chain.ExportOptions{Sources: []string{"b.rlps"}})
	if err != nil || len(r.Files) != 1 || !bytes.Equal(one.Files["b.rlps"], rlps) {
		t.Errorf("rlps of one: %+v, %v", r, err)
	}
	_, err = rlp.Exporter{}.Export(t.Context(), m, &chaintest.Output{}, chain.ExportOptions{Sources: []string{"c.rlps"}})
	if !errors.Is(err, chain.ErrNoSource) {
		t.Errorf("a source that is not there: %v", err)
	}
	// Receipts lost behind the exporter's back are found, and leave no file.
	m.Row("receipts", m.Rows("receipts")-1)[0] = nil
	if _, err = (rlp.Exporter{}).Export(t.Context(), m, &chaintest.Output{}, chain.ExportOptions{Sources: []string{"b.rlps"}}); !errors.Is(err, chain.ErrCannotExport) {
		t.Errorf("a receipt that is not there: %v", err)
	}
}

// Every truncation, and what is not a stream of blocks, is an error with place, found before the first row.
func TestRefuses(t *testing.T) {
	blocks := slices.Delete(chaintest.EthBlocks(0, 5), 2, 3) // the large one
	rlps := chaintest.RLPS(blocks)
	ends := []int{}
	for i := range blocks {
		ends = append(ends, len(chaintest.RLPS(blocks[:i])))
	}
	for n := range len(rlps) {
		whole := slices.Contains(ends[1:], n)
		for _, f := range []chain.File{chaintest.BytesFile("cut.rlps", rlps[:n]), chaintest.StreamFile("cut.rlps", rlps[:n])} {
			m := &chaintest.Memory{}
			_, err := rlp.Importer{}.Import(t.Context(), []chain.File{f}, m, chain.ImportOptions{})
			var e *chain.InputError
			switch {
			case whole:
				if err != nil {
					t.Fatalf("%d bytes: %v", n, err)
				}
			case !errors.As(err, &e) || e.File != "cut.rlps" || !slices.Contains(ends, int(e.Offset)) || !errors.Is(err, chain.ErrTruncated):
				t.Fatalf("%d bytes: %v", n, err)
			case len(m.Tables()) > 0:
				t.Fatalf("%d bytes: tables were made", n)
			}
		}
	}
	for _, tc := range []struct {
		name   string
		b      []byte
		form   ethereum.Form
		offset int64
		want   string
	}{
		{"text", []byte("hello, world"), 0, 0, "a block: an RLP list: byte 0x68"},
		{"zeros", make([]byte, 100), 0, 0, "a block: an RLP list: byte 0x00"},
		{"garbage after", append(bytes.Clone(rlps), 0), 0, int64(len(rlps)), "a block: an RLP list"},
		{"huge", []byte("\xff\x00\x00\x00\x00\x00\x00\x00\x00"), 0, 0, "shortest form"},
		{"huge", []byte("\xff\x7f\xff\xff\xff\xff\xff\xff\xff"), 0, 0, "a block of at most 134217728 bytes"},
		{"long", []byte("\xfb\x07\xff\xff\x00"), 0, 0, "the file ends here"},
		{"geth as rlps", chaintest.Geth(blocks), ethereum.RLPS, 0, "the list of transactions"},
		{"rlps as geth", rlps, ethereum.Geth, 0, "a legacy transaction of 9 or more strings"},
		{"forms mixed in a file", append(chaintest.RLPS(blocks[:3]), chaintest.Geth(blocks[3:])...), 0, int64(ends[3]), "a transaction"},
	} {
		_, err := rlp.Importer{Form: tc.form}.Import(t.Context(), []chain.File{chaintest.StreamFile("dir/f", tc.b)}, &chaintest.Memory{}, chain.ImportOptions{})
		var e *chain.InputError
		if !errors.As(err, &e) || e.File != "dir/f" || e.Offset < tc.offset || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
	_, err := rlp.Importer{}.Import(t.Context(), []chain.File{chaintest.BytesFile("f", rlps)}, &chaintest.Memory{}, chain.ImportOptions{MaxBlockBytes: 1000})
	if err == nil || !strings.Contains(err.Error(), "a block of at most 1000 bytes") {
		t.Errorf("limit of 1000: %v", err)
	}
	if _, err := (rlp.Importer{}).Import(t.Context(), nil, &chaintest.Memory{}, chain.ImportOptions{}); err == nil {
		t.Error("an import of no files succeeds")
	}
}

// A file that cannot be read is not called a bad file.
func TestReadError(t *testing.T) {
	rlps := chaintest.RLPS(chaintest.EthBlocks(0, 40))
	broken := errors.New("the disk is on fire")
	for _, size := range []int64{-1, int64(len(rlps))} {
		for n := 0; n < len(rlps); n += 997 {
			f := chain.File{Name: "f", Size: size, Open: func() (io.ReadCloser, error) {
				return io.NopCloser(io.MultiReader(bytes.NewReader(rlps[:n]), failing{broken})), nil
			}}
			_, err := rlp.Importer{}.Import(t.Context(), []chain.File{f}, &chaintest.Memory{}, chain.ImportOptions{})
			if !errors.Is(err, broken) || errors.Is(err, chain.ErrInput) {
				t.Fatalf("after %d bytes: %v", n, err)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := rlp.Importer{}.Import(ctx, []chain.File{chaintest.BytesFile("f", rlps)}, &chaintest.Memory{}, chain.ImportOptions{})
	if !errors.Is(err, context.Canceled) || errors.Is(err, chain.ErrInput) {
		t.Errorf("canceled: %v", err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// A change of any value makes an export that is reported as different, or an error; never one that is called identical.
func TestDamagedRows(t *testing.T) {
	rlps := chaintest.RLPS(chaintest.EthBlocks(0, 10))
	for _, table := range []string{"blocks", "transactions", "receipts"} {
		fresh, _ := chaintest.Import(t, rlp.Importer{}, chaintest.BytesFile("f", rlps))
		for n := range fresh.Rows(table) {
			for c := range fresh.Row(table, n) {
				m, _ := chaintest.Import(t, rlp.Importer{}, chaintest.BytesFile("f", rlps))
				v := m.Row(table, n)[c]
				if len(v) == 0 || table == "blocks" && c == 0 { // the number is in the header too, and that is what is written
					continue
				}
				v[len(v)-1] ^= 1
				out := &chaintest.Output{}
				r, err := rlp.Exporter{}.Export(t.Context(), m, out, chain.ExportOptions{})
				if err == nil && r.Files[0].Match != chain.Different {
					t.Errorf("%s, row %d, value %d: %+v", table, n, c, r.Files[0])
				}
				if err != nil && len(out.Files) > 0 {
					t.Errorf("%s, row %d, value %d: %v, and there is a file", table, n, c, err)
				}
			}
		}
	}
	m, _ := chaintest.Import(t, rlp.Importer{}, chaintest.BytesFile("f", rlps))
	m.Drop("receipts")
	if _, err := (rlp.Exporter{}).Export(t.Context(), m, &chaintest.Output{}, chain.ExportOptions{}); !errors.Is(err, chain.ErrCannotExport) {
		t.Errorf("no receipts: %v", err)
	}
}
