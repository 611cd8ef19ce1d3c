package segment_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/segstore/segstore/codec"
	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/tools/chain/chaintest"
	"github.com/segstore/segstore/tools/chain/rlp"
)

// realReceipts are the 22,715 of the bench set.
func realReceipts(tb testing.TB) []segment.Row {
	tb.Helper()
	m, _ := chaintest.Import(tb, rlp.Importer{}, chaintest.DataFile(tb, "eth/bench-mainnet.rlps"))
	var rows []segment.Row
	for row, err := range m.Scan("receipts", 0) {
		if err != nil {
			tb.Fatal(err)
		}
		rows = append(rows, cloneRow(row))
	}
	return rows
}

func receiptOptions(tb testing.TB) segment.WriterOptions {
	return segment.WriterOptions{
		Table: "receipts", Schema: segment.Schema{Columns: []segment.Column{{Name: "receipt", Kind: segment.Bytes, Format: "eth-receipt"}}},
		Policy: policy(tb, "chunk 262144\n* group=column codec=s2\n"),
	}
}

// TestReceipt12Size: twelve streams in one block take no more than 1.03 times the
// bytes of plain, under the balanced profile.
func TestReceipt12Size(t *testing.T) {
	if testing.Short() {
		t.Skip("trains dictionaries")
	}
	rows := realReceipts(t)
	b, info := write(t, receiptOptions(t), rows)
	r := open(t, b, segment.ReaderOptions{})
	sizes := map[string]int64{}
	for _, name := range []string{"plain", "receipt-12"} {
		o := segment.RecompressOptions{Policy: profile(t, "balanced"), Encoding: name, Encodings: []codec.Encoding{receipt12{}}}
		var out bytes.Buffer
		rep, err := segment.Recompress(context.Background(), &out, r, o)
		if err != nil {
			t.Fatal(err)
		}
		sizes[name] = rep.After.StoredBytes
		t.Logf("%s: %d of %d bytes, %.2f %%", name, rep.After.StoredBytes, rep.RawBytes, 100*float64(rep.After.StoredBytes)/float64(rep.RawBytes))
		if rep.ContentRoot != info.ContentRoot {
			t.Error("content root changed")
		}
		again := open(t, out.Bytes(), segment.ReaderOptions{Encodings: o.Encodings})
		wantRows(t, again, rows)
		if stats := again.Stats()[0].Streams; name == "receipt-12" && (len(stats) != 12 || stats[rcEscapes].RawBytes > info.RawBytes/100) {
			t.Errorf("streams %+v", stats)
		}
	}
	if ratio := float64(sizes["receipt-12"]) / float64(sizes["plain"]); ratio > 1.03 {
		t.Errorf("%.3f times the bytes of plain", ratio)
	}
}

// BenchmarkReceipt12Scan scans the receipts in plain and in twelve streams, in turn;
// "ratio" is the time of plain through that of twelve streams.
func BenchmarkReceipt12Scan(b *testing.B) {
	spool, info := write(b, receiptOptions(b), realReceipts(b))
	r := open(b, spool, segment.ReaderOptions{})
	var readers []*segment.Reader
	for _, name := range []string{"plain", "receipt-12"} {
		o := segment.RecompressOptions{Policy: profile(b, "balanced"), Encoding: name, Encodings: []codec.Encoding{receipt12{}}}
		var out bytes.Buffer
		if _, err := segment.Recompress(context.Background(), &out, r, o); err != nil {
			b.Fatal(err)
		}
		readers = append(readers, open(b, out.Bytes(), segment.ReaderOptions{Encodings: o.Encodings, Concurrency: 1}))
	}
	var took [2]time.Duration
	b.SetBytes(int64(2 * info.RawBytes))
	for b.Loop() {
		for i, r := range readers {
			start := time.Now()
			for _, err := range r.Rows(0) {
				if err != nil {
					b.Fatal(err)
				}
			}
			took[i] += time.Since(start)
		}
	}
	b.ReportMetric(float64(took[0])/float64(took[1]), "ratio")
	b.ReportMetric(float64(took[1].Nanoseconds())/float64(b.N)/float64(info.Rows), "ns/row")
}

// receiptStreams splits values and checks that they come back.
func receiptStreams(t testing.TB, values ...[]byte) [][]byte {
	t.Helper()
	var v, got codec.Values
	for _, x := range values {
		v.Append(x)
	}
	s, err := receipt12{}.Split([][]byte{[]byte("used")}, &v)
	if err != nil {
		t.Fatal(err)
	}
	if err := (receipt12{}).Join(&got, s, v.Len()); err != nil || !got.Equal(&v) {
		t.Fatalf("%d values: %v\n%x\n%x", v.Len(), err, v.Data, got.Data)
	}
	return s
}

// someReceipt writes a receipt as the chain does, from a seed.
func someReceipt(seed uint64) []byte {
	rng := rand.New(rand.NewPCG(seed, 12))
	item := func(base byte, b []byte) []byte {
		if base == 0x80 && len(b) == 1 && b[0] < 0x80 {
			return b
		}
		if len(b) < 56 {
			return append([]byte{base + byte(len(b))}, b...)
		}
		n := bytes.TrimLeft(binary.BigEndian.AppendUint32(nil, uint32(len(b))), "\x00")
		return append(append([]byte{base + 55 + byte(len(n))}, n...), b...)
	}
	random := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		return b
	}
	status := [][]byte{nil, {1}, random(32)}[rng.IntN(3)]
	gas := bytes.TrimLeft(binary.BigEndian.AppendUint32(nil, rng.Uint32()>>rng.IntN(33)), "\x00")
	bloom := make([]byte, 256)
	for range rng.IntN(12) * rng.IntN(12) * rng.IntN(12) {
		bloom[rng.IntN(256)] |= 1 << rng.IntN(8)
	}
	var logs []byte
	for range rng.IntN(4) * rng.IntN(4) {
		var topics []byte
		for range rng.IntN(5) {
			topics = append(topics, item(0x80, random(32))...)
		}
		log := append(item(0x80, random(20)), item(0xc0, topics)...)
		logs = append(logs, item(0xc0, append(log, item(0x80, random(rng.IntN(3)*rng.IntN(400)+rng.IntN(2)))...))...)
	}
	body := append(append(item(0x80, status), item(0x80, gas)...), append(item(0x80, bloom), item(0xc0, logs)...)...)
	return append([]byte{1, 2, 3, 4}[:rng.IntN(2)], item(0xc0, body)...)
}

// Receipts of every shape are cut, all others are carried as they are.
func TestReceipt12Lossless(t *testing.T) {
	var all [][]byte
	for seed := range uint64(400) {
		b := someReceipt(seed)
		if s := receiptStreams(t, b); len(s[rcEscapes]) > 0 {
			t.Errorf("receipt %d is not understood: %x", seed, b)
		}
		all = append(all, b)
		rng := rand.New(rand.NewPCG(seed, 13))
		for range 20 { // near misses: headers that are not the shortest, lengths that do not fit
			bad := bytes.Clone(b)
			bad[rng.IntN(min(len(bad), 1+rng.IntN(300)))] = byte(rng.Uint32())
			receiptStreams(t, bad)
			all = append(all, bad[:rng.IntN(len(bad)+1)])
		}
	}
	receiptStreams(t, all...)
	for _, b := range [][]byte{nil, {0}, {0xc0}, {7, 0xc0}, []byte("text"), bytes.Repeat([]byte{0xff}, 300)} {
		receiptStreams(t, b, all[0], b)
	}
}

func TestReceipt12JoinAllocatesNothing(t *testing.T) {
	var v, got codec.Values
	for seed := range uint64(60) {
		v.Append(someReceipt(seed))
	}
	s, err := receipt12{}.Split(nil, &v)
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(20, func() {
		if err := (receipt12{}).Join(&got, s, 60); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzReceipt12 joins hostile streams: rows, then for each stream but the last a
// length in two bytes.
func FuzzReceipt12(f *testing.F) {
	pack := func(rows uint16, s [][]byte) []byte {
		b := binary.LittleEndian.AppendUint16(nil, rows)
		for _, x := range s {
			b = binary.LittleEndian.AppendUint16(b, uint16(len(x)))
		}
		return append(b, bytes.Join(s, nil)...)
	}
	for seed := range uint64(8) {
		f.Add(pack(3, receiptStreams(f, someReceipt(seed), []byte("no receipt"), someReceipt(seed+100))))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < 2+2*rcStreams {
			return
		}
		rows, head := int(binary.LittleEndian.Uint16(b))+1, b[2:]
		b = b[2+2*rcStreams:]
		s := make([][]byte, rcStreams)
		for i := range s {
			n := min(int(binary.LittleEndian.Uint16(head[2*i:])), len(b))
			s[i], b = b[:n:n], b[n:]
		}
		var v codec.Values
		measure(t, "join", 1<<20+int64(rows)*2*rcReceipt+200*int64(len(bytes.Join(s, nil))), func() {
			if err := (receipt12{}).Join(&v, s, rows); err != nil {
				if !errors.Is(err, codec.ErrCorrupt) {
					t.Fatal(err)
				}
				v = codec.Values{}
			}
		})
		for i := range v.Len() {
			_ = v.At(i)
		}
	})
}
