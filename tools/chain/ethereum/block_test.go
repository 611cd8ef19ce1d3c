package ethereum_test

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/segstore/segstore/tools/chain/chaintest"
	"github.com/segstore/segstore/tools/chain/ethereum"
)

// A block small enough to be written by hand: 15 empty items but for the number 5 as header, a legacy transaction of nine empty
// items, a typed one 02 c101, no uncles.
const (
	handHeader   = "cf 80 80 80 80 80 80 80 80 05 80 80 80 80 80 80"
	handTx       = "c9 80 80 80 80 80 80 80 80 80"
	handTxs      = "ce" + handTx + "83 02c101"
	handBody     = "d0" + handTxs + "c0"
	handReceipts = "c7 c102 84 02c20304"
)

func TestByHand(t *testing.T) {
	var b ethereum.Block
	block := unhex("e9" + handHeader + handBody + handReceipts)
	if err := b.SplitRLPS(block); err != nil {
		t.Fatal(err)
	}
	if b.Number != 5 || !bytes.Equal(b.Header, unhex(handHeader)) || !bytes.Equal(b.Uncles, unhex("c0")) || b.Withdrawals != nil {
		t.Errorf("%+v", b)
	}
	if len(b.Transactions) != 2 || !bytes.Equal(b.Transactions[0], unhex(handTx)) || !bytes.Equal(b.Transactions[1], unhex("02c101")) {
		t.Errorf("transactions %x", b.Transactions)
	}
	if len(b.Receipts) != 2 || !bytes.Equal(b.Receipts[0], unhex("c102")) || !bytes.Equal(b.Receipts[1], unhex("02c20304")) {
		t.Errorf("receipts %x", b.Receipts)
	}
	if got := b.AppendRLPS(nil); !bytes.Equal(got, block) {
		t.Errorf("joined: %x", got)
	}
	if got := b.AppendBody(nil); !bytes.Equal(got, unhex(handBody)) {
		t.Errorf("body: %x", got)
	}
	if got := b.AppendReceipts(nil); !bytes.Equal(got, unhex(handReceipts)) {
		t.Errorf("receipts: %x", got)
	}
	want := unhex("e0" + handHeader + handTxs + "c0")
	if got := b.AppendGeth(nil); !bytes.Equal(got, want) {
		t.Errorf("geth: %x, not %x", got, want)
	}
}

func TestSplitAndJoin(t *testing.T) {
	var b ethereum.Block
	for _, x := range chaintest.EthBlocks(4_000_000, 40) {
		rlps, geth := chaintest.RLPS([]chaintest.EthBlock{x}), chaintest.Geth([]chaintest.EthBlock{x})
		if err := b.SplitRLPS(rlps); err != nil {
			t.Fatal(err)
		}
		same := func(a, b [][]byte) bool { return slices.EqualFunc(a, b, bytes.Equal) }
		if b.Number != x.Number || !bytes.Equal(b.Header, x.Header) || !same(b.Transactions, x.Transactions) || !same(b.Receipts, x.CanonicalReceipts) {
			t.Fatalf("block %d is not what it was", x.Number)
		}
		if !bytes.Equal(b.AppendRLPS(nil), rlps) || !bytes.Equal(b.AppendGeth(nil), geth) ||
			!bytes.Equal(b.AppendBody(nil), x.Body) || !bytes.Equal(b.AppendReceipts(nil), x.Receipts) {
			t.Fatalf("block %d does not come back", x.Number)
		}
		if err := b.SplitGeth(geth); err != nil {
			t.Fatal(err)
		}
		if b.HasReceipts || !same(b.Transactions, x.Transactions) || !bytes.Equal(b.AppendGeth(nil), geth) {
			t.Fatalf("block %d does not come back from geth's form", x.Number)
		}
		for form, raw := range map[ethereum.Form][]byte{ethereum.RLPS: rlps, ethereum.Geth: geth} {
			start, got, err := ethereum.Start(raw)
			if err != nil || got != form || start.Number != x.Number {
				t.Fatalf("block %d in form %v: number %d, form %v, %v", x.Number, form, start.Number, got, err)
			}
		}
	}
}

// What is not a block is refused, with its place.
func TestSplitRefuses(t *testing.T) {
	h := chaintest.Raw(unhex(handHeader))
	list := func(items ...any) []any { return items }
	tx, rc := chaintest.Raw(unhex(handTx)), chaintest.Raw(unhex("c101"))
	empty := list()
	for _, tc := range []struct {
		name   string
		form   ethereum.Form
		block  []byte
		offset int
		want   string
	}{
		{"nothing", ethereum.RLPS, nil, 0, "a block with receipts"},
		{"string", ethereum.RLPS, unhex("83646f67"), 0, "not a list"},
		{"trailing", ethereum.RLPS, append(chaintest.RLP(list(h, list(empty, empty), empty)), 0x80), 21, "bytes follow"},
		{"cut", ethereum.RLPS, unhex("d3 " + handHeader), 0, "the bytes end inside an item"},
		{"header string", ethereum.RLPS, chaintest.RLP(list("h", list(empty, empty), empty)), 1, "a block header"},
		{"header short", ethereum.RLPS, chaintest.RLP(list(list("a", "b"), list(empty, empty), empty)), 1, "2 items"},
		{"header nested", ethereum.Geth, chaintest.RLP(list(list("a", empty), empty, empty)), 3, "item 1 is a list"},
		{"number with zeros", ethereum.Geth, chaintest.RLP(list(list("a", "b", "c", "d", "e", "f", "g", "h", "\x00\x01"), empty, empty)), 10, "a block number"},
		{"number too long", ethereum.Geth, chaintest.RLP(list(list("a", "b", "c", "d", "e", "f", "g", "h", "123456789"), empty, empty)), 10, "a block number"},
		{"body empty", ethereum.RLPS, chaintest.RLP(list(h, empty, empty)), 18, "the list of transactions"},
		{"body of one", ethereum.RLPS, chaintest.RLP(list(h, list(empty), empty)), 19, "the list of uncles"},
		{"body of four", ethereum.RLPS, chaintest.RLP(list(h, list(empty, empty, empty, empty), empty)), 21, "a body of 2 or 3 items"},
		{"uncles string", ethereum.RLPS, chaintest.RLP(list(h, list(empty, "u"), empty)), 19, "the list of uncles"},
		{"withdrawals string", ethereum.RLPS, chaintest.RLP(list(h, list(empty, empty, "w"), empty)), 20, "the list of withdrawals"},
		{"no receipts", ethereum.RLPS, chaintest.RLP(list(h, list(empty, empty))), 20, "the list of receipts"},
		{"fourth item", ethereum.RLPS, chaintest.RLP(list(h, list(empty, empty), empty, empty)), 21, "a block of 3 items"},
		{"a receipt too few", ethereum.RLPS, chaintest.RLP(list(h, list(list(tx), empty), empty)), 30, "1 receipts, as many as transactions"},
		{"empty transaction", ethereum.RLPS, chaintest.RLP(list(h, list(list(""), empty), list(rc))), 19, "an empty string"},
		{"type too high", ethereum.RLPS, chaintest.RLP(list(h, list(list("\xc1\x01"), empty), list(rc))), 19, "type 0xc1"},
		{"type 0x80", ethereum.Geth, chaintest.RLP(list(h, list("\x80"), empty)), 18, "type 0x80"},
		{"receipt type", ethereum.RLPS, chaintest.RLP(list(h, list(list(tx), empty), list("\xff"))), 31, "type 0xff"},
		{"transaction not canonical", ethereum.Geth, chaintest.RLP(list(h, list(chaintest.Raw(unhex("8101"))), empty)), 18, "shortest form"},
		{"transaction cut", ethereum.Geth, chaintest.RLP(list(h, list(chaintest.Raw(unhex("c5 01"))), empty)), 18, "5 bytes of payload, 1 left"},
		{"transaction of one item", ethereum.Geth, chaintest.RLP(list(h, list(rc), empty)), 18, "9 or more strings: wrong items: 1 items"},
		{"transaction of lists", ethereum.Geth, chaintest.RLP(list(h, list(list(empty, empty)), empty)), 18, "item 0 is a list"},
		{"receipt of a list", ethereum.RLPS, chaintest.RLP(list(h, list(list(tx), empty), list(list(empty)))), 31, "starts with a list"},
		{"receipt of nothing", ethereum.RLPS, chaintest.RLP(list(h, list(list(tx), empty), list(empty))), 32, "a legacy receipt"},
		{"uncle string", ethereum.Geth, chaintest.RLP(list(h, empty, list("u"))), 19, "an uncle"},
		{"fifth item", ethereum.Geth, chaintest.RLP(list(h, empty, empty, empty, empty)), 20, "a block of 3 or 4 items"},
	} {
		var b ethereum.Block
		err := b.SplitGeth(tc.block)
		if tc.form == ethereum.RLPS {
			err = b.SplitRLPS(tc.block)
		}
		var s *ethereum.SyntaxError
		if !errors.As(err, &s) || s.Offset != tc.offset || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s, %x: %v", tc.name, tc.block, err)
		}
	}
}

func TestFormText(t *testing.T) {
	for f, want := range map[ethereum.Form]string{0: "auto", 1: "geth", 2: "rlps"} {
		b, err := f.MarshalText()
		var g ethereum.Form
		if err != nil || string(b) != want || g.UnmarshalText(b) != nil || g != f {
			t.Errorf("form %d: %q, %v", f, b, g)
		}
	}
	var f ethereum.Form
	if err := f.UnmarshalText([]byte("rlpx")); err == nil {
		t.Error("form rlpx is taken")
	}
}

// Whatever is taken comes back byte for byte; what is taken as a form starts like it.
func FuzzBlock(f *testing.F) {
	for _, x := range chaintest.EthBlocks(7, 12) {
		f.Add(chaintest.RLPS([]chaintest.EthBlock{x}))
		f.Add(chaintest.Geth([]chaintest.EthBlock{x}))
	}
	if path, ok := chaintest.FindData(f, "eth/fixture-small.rlps"); ok {
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for len(b) > 0 {
			_, head, payload, err := ethereum.ItemHeader(b)
			if err != nil {
				f.Fatal(err)
			}
			n := head + int(payload)
			if n < 20_000 {
				f.Add(b[:n])
			}
			b = b[n:]
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var b ethereum.Block
		if b.SplitRLPS(raw) == nil {
			if again := b.AppendRLPS(nil); !bytes.Equal(again, raw) {
				t.Errorf("rlps: %x, again %x", raw, again)
			}
			if start, _, err := ethereum.Start(raw); err != nil || start.Number != b.Number || !bytes.Equal(start.Parent, b.Parent) {
				t.Errorf("start of %x: number %d, %v", raw, start.Number, err)
			}
		}
		if b.SplitGeth(raw) == nil {
			if again := b.AppendGeth(nil); !bytes.Equal(again, raw) {
				t.Errorf("geth: %x, again %x", raw, again)
			}
		}
		if b.SplitBody(raw) == nil && !bytes.Equal(b.AppendBody(nil), raw) {
			t.Errorf("body: %x, again %x", raw, b.AppendBody(nil))
		}
	})
}
