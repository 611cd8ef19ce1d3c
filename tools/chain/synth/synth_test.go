package synth

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"golang.org/x/crypto/sha3"

	"github.com/segstore/segstore/tools/chain"
	"github.com/segstore/segstore/tools/chain/chaintest"
	"github.com/segstore/segstore/tools/chain/ethereum"
	"github.com/segstore/segstore/tools/chain/rlp"
)

// decode is a plain RLP decoder, written for these tests: []any for a list, []byte for a string.
func decode(t *testing.T, b []byte) any {
	t.Helper()
	v, rest := decodeNext(t, b)
	if len(rest) > 0 {
		t.Fatalf("%d bytes after an item", len(rest))
	}
	return v
}

func decodeNext(t *testing.T, b []byte) (v any, rest []byte) {
	t.Helper()
	first := b[0]
	if first < 0x80 {
		return b[:1], b[1:]
	}
	base := byte(0x80)
	if first >= 0xc0 {
		base = 0xc0
	}
	head, n := 1, int(first-base)
	if n > 55 {
		head += n - 55
		n = 0
		for _, x := range b[1:head] {
			n = n<<8 | int(x)
		}
		if n < 56 || b[1] == 0 {
			t.Fatalf("length %x is too long", b[:head])
		}
	}
	payload, rest := b[head:head+n], b[head+n:]
	if base == 0x80 {
		if n == 1 && payload[0] < 0x80 {
			t.Fatalf("byte %x has a prefix", payload)
		}
		return payload, rest
	}
	list := []any{}
	for len(payload) > 0 {
		var item any
		item, payload = decodeNext(t, payload)
		list = append(list, item)
	}
	return list, rest
}

func keccakOf(b []byte) []byte {
	h := sha3.NewLegacyKeccak256()
	h.Write(b)
	return h.Sum(nil)
}

func TestKnownHashes(t *testing.T) {
	w := New(1).world
	for got, want := range map[string]string{
		hex.EncodeToString(w.event.transfer.hash[:]): "ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef",
		hex.EncodeToString(w.event.approval.hash[:]): "8c5be1e5ebec7d5bd14f71427d1e84f3dd0314c0f7b2291e5b200ac8c7c3b925",
		hex.EncodeToString(w.event.swap.hash[:]):     "d78ad95fa46c994b6551d0da85fc275fe613ce37657fb8d5e3d130840159d822",
		hex.EncodeToString(w.method.transfer[:]):     "a9059cbb",
		hex.EncodeToString(w.method.approve[:]):      "095ea7b3",
		hex.EncodeToString(w.method.swap[:]):         "38ed1739",
		noUncles:                                     hex.EncodeToString(keccakOf([]byte{0xc0})),
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	// The yellow paper's filter of an address, computed by hand from its hash: keccak256 of 20 zeros is 5380c7b7ae81a58e….
	if got := w.keccak.bits(make([]byte, 20)); got != (bloomBits{0x380, 0x7b7, 0x681}) {
		t.Errorf("bits %x", got)
	}
	var f bloom
	f.add(bloomBits{0, 9, 2047})
	if f[255] != 1 || f[254] != 2 || f[0] != 0x80 {
		t.Errorf("filter %x", f)
	}
}

// TestBlocks decodes blocks with a decoder of its own and checks all that the package promises of them.
func TestBlocks(t *testing.T) {
	var parent []byte
	var time uint64
	kinds := map[byte]int{}
	number, failed, created := uint64(FirstBlock), 0, 0
	for b := range New(7).Blocks(40) {
		header := decode(t, b.Header).([]any)
		if len(header) != 20 {
			t.Fatalf("header of %d items", len(header))
		}
		if got := header[0].([]byte); parent != nil && !bytes.Equal(got, parent) {
			t.Fatalf("block %d: parent %x, want %x", number, got, parent)
		}
		parent = keccakOf(b.Header)
		if n := toUint(header[8]); n != number || b.Number != number {
			t.Fatalf("block %d is number %d, %d", number, n, b.Number)
		}
		if now := toUint(header[11]); time > 0 && now != time+12 {
			t.Fatalf("block %d: time %d after %d", number, now, time)
		} else {
			time = now
		}
		number++
		if n := len(decode(t, b.Withdrawals).([]any)); n != 16 || len(decode(t, b.Uncles).([]any)) != 0 {
			t.Errorf("%d withdrawals, uncles %x", n, b.Uncles)
		}
		if len(b.Transactions) != len(b.Receipts) || !b.HasReceipts {
			t.Fatalf("%d transactions, %d receipts", len(b.Transactions), len(b.Receipts))
		}
		var all [256]byte
		gas := uint64(0)
		for i := range b.Transactions {
			kind, tx := typed(t, b.Transactions[i])
			receiptKind, receipt := typed(t, b.Receipts[i])
			kinds[kind]++
			items := map[byte]int{0: 9, 1: 11, 2: 12, 3: 14}[kind]
			if receiptKind != kind || len(tx) != items || len(receipt) != 4 {
				t.Fatalf("transaction of type %d has %d items, receipt of type %d has %d", kind, len(tx), receiptKind, len(receipt))
			}
			for _, scalar := range tx[len(tx)-2:] {
				if s := scalar.([]byte); len(s) != 32 || s[0] == 0 {
					t.Fatalf("signature %x", s)
				}
			}
			to := map[byte]int{0: 3, 1: 4, 2: 5, 3: 5}[kind]
			if n := len(tx[to].([]byte)); n == 0 {
				created++
			} else if n != 20 {
				t.Fatalf("to %x", tx[to])
			}
			used := toUint(receipt[1])
			if used <= gas {
				t.Fatalf("gas used %d after %d", used, gas)
			}
			gas = used
			logs := receipt[3].([]any)
			if toUint(receipt[0]) == 0 {
				failed++
				if len(logs) > 0 {
					t.Fatal("failed, and has logs")
				}
			}
			want := filter(logs)
			if !bytes.Equal(receipt[2].([]byte), want[:]) {
				t.Fatalf("block %d, receipt %d: bloom %x, want %x", b.Number, i, receipt[2], want)
			}
			for j := range all {
				all[j] |= want[j]
			}
		}
		if !bytes.Equal(header[6].([]byte), all[:]) || toUint(header[10]) != gas || toUint(header[9]) < gas {
			t.Fatalf("block %d: bloom or gas is not that of its receipts", b.Number)
		}
		var again ethereum.Block
		if err := again.SplitRLPS(b.AppendRLPS(nil)); err != nil {
			t.Fatal(err)
		}
	}
	for kind := range byte(4) {
		if kinds[kind] == 0 {
			t.Errorf("no transaction of type %d", kind)
		}
	}
	if failed == 0 || created == 0 {
		t.Errorf("%d failed, %d made a contract", failed, created)
	}
}

func toUint(v any) (n uint64) {
	for _, x := range v.([]byte) {
		n = n<<8 | uint64(x)
	}
	return n
}

func typed(t *testing.T, b []byte) (kind byte, items []any) {
	t.Helper()
	if b[0] < 0x80 {
		kind, b = b[0], b[1:]
	}
	return kind, decode(t, b).([]any)
}

// filter computes the bloom filter of logs as the yellow paper's section 4.3.1 words it.
func filter(logs []any) (f [256]byte) {
	add := func(item []byte) {
		h := keccakOf(item)
		for i := 0; i < 6; i += 2 {
			bit := (int(h[i])*256 + int(h[i+1])) % 2048
			f[(2047-bit)/8] |= 1 << (bit % 8)
		}
	}
	for _, l := range logs {
		log := l.([]any)
		add(log[0].([]byte))
		for _, topic := range log[1].([]any) {
			add(topic.([]byte))
		}
	}
	return f
}

// TestSameBytes: a seed stands for the same bytes, on every machine and however they are asked for.
func TestSameBytes(t *testing.T) {
	const golden = "386191c0e4d98da142cb98cf446881b46386eac69ef950a88ab0c7ab97e62c16"
	var a, b bytes.Buffer
	stats, err := New(5).Write(context.Background(), &a, Limit{Blocks: 20})
	if err != nil {
		t.Fatal(err)
	}
	for block := range New(5).Blocks(20) {
		b.Write(block.AppendRLPS(nil))
	}
	if !bytes.Equal(a.Bytes(), b.Bytes()) || stats.Blocks != 20 || stats.Bytes != uint64(a.Len()) {
		t.Errorf("Write and Blocks differ: %+v, %d bytes", stats, a.Len())
	}
	if sum := sha256.Sum256(a.Bytes()); hex.EncodeToString(sum[:]) != golden {
		t.Errorf("SHA-256 %x, want %s", sum, golden)
	}
	r, err := File("x", 5, Limit{Blocks: 20}).Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := iotest.TestReader(r, a.Bytes()); err != nil {
		t.Error(err)
	}
	b.Reset()
	if _, err := New(6).Write(context.Background(), &b, Limit{Blocks: 20}); err != nil || bytes.Equal(a.Bytes(), b.Bytes()) {
		t.Errorf("another seed, the same bytes: %v", err)
	}
}

// TestFill: Fill makes the rows that an import of the stream makes, and they are written back as that stream.
func TestFill(t *testing.T) {
	filled, imported := new(chaintest.Memory), new(chaintest.Memory)
	limit := Limit{Bytes: 3 << 20}
	report, err := New(9).Fill(context.Background(), filled, "synth.rlps", limit)
	if err != nil {
		t.Fatal(err)
	}
	want, err := rlp.Importer{}.Import(context.Background(), []chain.File{File("synth.rlps", 9, limit)}, imported, chain.ImportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !filled.Equal(imported) {
		t.Error("the tables differ")
	}
	if len(report.Sources) != 1 || report.Sources[0].SHA256 != want.Sources[0].SHA256 || len(report.Tables) != len(want.Tables) {
		t.Errorf("%+v, want %+v", report, want)
	}
	if n := filled.FirstRow(ethereum.BlocksTable); n != FirstBlock {
		t.Errorf("first row %d", n)
	}
	if size := report.Sources[0].Size; size < limit.Bytes || size > limit.Bytes+3<<20 {
		t.Errorf("%d bytes, asked for %d", size, limit.Bytes)
	}
}

type full struct{}

var errFull = errors.New("disk full")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestWriteErrors(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	if _, err := New(1).Write(ctx, full{}, Limit{Blocks: 1}); !errors.Is(err, errFull) {
		t.Error(err)
	}
	if _, err := New(1).Write(ctx, io.Discard, Limit{}); err == nil {
		t.Error("no limit, no error")
	}
	if _, err := New(1).Fill(ctx, new(chaintest.Memory), "x", Limit{}); err == nil {
		t.Error("no limit, no error")
	}
	if _, err := File("x", 1, Limit{}).Open(); err == nil {
		t.Error("no limit, no error")
	}
	cancel()
	if _, err := New(1).Write(ctx, io.Discard, Limit{Blocks: 1}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := New(1).Fill(ctx, new(chaintest.Memory), "x", Limit{Blocks: 1}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func BenchmarkWrite(b *testing.B) {
	g := New(1)
	b.ReportAllocs()
	b.SetBytes(64 << 20)
	for b.Loop() {
		if _, err := g.Write(context.Background(), io.Discard, Limit{Bytes: 64 << 20}); err != nil {
			b.Fatal(err)
		}
	}
}
