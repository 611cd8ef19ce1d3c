package segment_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/segstore/segstore/codec"
	"github.com/segstore/segstore/segment"
)

// testSchema has a column of each kind.
func testSchema() segment.Schema {
	return segment.Schema{Columns: []segment.Column{
		{Name: "number", Kind: segment.Uint},
		{Name: "hash", Kind: segment.Fixed, Width: 32},
		{Name: "body", Kind: segment.Bytes, Format: "test-body"},
		{Name: "note", Kind: segment.Bytes},
	}}
}

// testRows returns n rows of testSchema: some alike, some random, some empty.
func testRows(n int, seed uint64) []segment.Row {
	rng := rand.New(rand.NewPCG(seed, 1))
	words := []string{"transfer", "approve", "swap", "0x000000000000000000", "deposit", "withdraw"}
	rows := make([]segment.Row, n)
	for i := range rows {
		hash := make([]byte, 32)
		for k := 0; k < 32; k += 8 {
			binary.LittleEndian.PutUint64(hash[k:], rng.Uint64())
		}
		var body []byte
		for range rng.IntN(40) {
			body = append(body, words[rng.IntN(len(words))]...)
		}
		var note []byte
		if rng.IntN(10) == 0 {
			note = fmt.Appendf(nil, "note %d", rng.IntN(1000))
		}
		rows[i] = segment.Row{segment.AppendUint(nil, uint64(1000+i*3)), hash, body, note}
	}
	return rows
}

// write returns a segment of rows.
func write(t testing.TB, o segment.WriterOptions, rows []segment.Row) ([]byte, segment.Info) {
	t.Helper()
	if o.Table == "" {
		o.Table, o.Schema = "test", testSchema()
	}
	var b bytes.Buffer
	w, err := segment.NewWriter(&b, o)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	for _, r := range rows {
		if err := w.Append(r); err != nil {
			t.Fatal(err)
		}
	}
	info, err := w.Finish()
	if err != nil {
		t.Fatal(err)
	}
	if info.StoredBytes != int64(b.Len()) {
		t.Fatalf("info says %d bytes, written were %d", info.StoredBytes, b.Len())
	}
	return b.Bytes(), info
}

func open(t testing.TB, b []byte, o segment.ReaderOptions) *segment.Reader {
	t.Helper()
	r, err := segment.NewReader(bytes.NewReader(b), int64(len(b)), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// flaws returns what Verify finds.
func flaws(t testing.TB, b []byte, d segment.Depth) []segment.Flaw {
	t.Helper()
	var fs []segment.Flaw
	for f, err := range segment.Verify(context.Background(), bytes.NewReader(b), int64(len(b)), segment.VerifyOptions{Depth: d}) {
		if err != nil {
			t.Fatal(err)
		}
		fs = append(fs, f)
	}
	return fs
}

func wantWhole(t testing.TB, b []byte) {
	t.Helper()
	for _, f := range flaws(t, b, segment.Content) {
		t.Errorf("flaw: %v", &f)
	}
}

func wantRows(t testing.TB, r *segment.Reader, rows []segment.Row) {
	t.Helper()
	n := 0
	for row, err := range r.Rows(r.FirstRow()) {
		if err != nil {
			t.Fatal(err)
		}
		if n >= len(rows) || !equal(row, rows[n]) {
			t.Fatalf("row %d is %x", n, row)
		}
		n++
	}
	if n != len(rows) {
		t.Fatalf("%d rows, want %d", n, len(rows))
	}
}

func equal(a, b segment.Row) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !bytes.Equal(a[i], b[i]) {
			return false
		}
	}
	return true
}

func policy(t testing.TB, text string) codec.Policy {
	t.Helper()
	p, err := codec.ParsePolicy(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
