package segment_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/segstore/segstore/segment"
)

// smallSegment is a few chunks with every kind of section but dictionaries.
func smallSegment(t testing.TB) ([]byte, []segment.Row) {
	rows := testRows(40, 9)
	b, _ := write(t, segment.WriterOptions{
		FirstRow: 1000, Policy: policy(t, "chunk 1024\nkind:bytes group=stream codec=zstd:1\n* group=column codec=s2\n"),
		Metadata: map[string][]byte{"source": []byte("a test")},
	}, rows)
	return b, rows
}

// TestEveryByteFlipped flips every byte in turn: Verify names the section that it
// is in, and no read returns anything but the right bytes or an error.
func TestEveryByteFlipped(t *testing.T) {
	whole, rows := smallSegment(t)
	testFlips(t, whole, rows)
}

func testFlips(t *testing.T, whole []byte, rows []segment.Row) {
	t.Helper()
	r := open(t, whole, segment.ReaderOptions{})
	end := int64(0)
	for p := range r.Places() {
		if p.Offset != end {
			t.Fatalf("places do not tile the file: %v at %d", p, end)
		}
		end += p.Length
		for i := p.Offset; i < end; i++ {
			b := bytes.Clone(whole)
			b[i] ^= 1 << (i % 8)
			found := false
			fs := flaws(t, b, segment.Checksums)
			for _, f := range fs {
				found = found || f.Section == p.Section && f.Chunk == p.Chunk && f.Column == p.Column && f.Block == p.Block
			}
			if !found || fs[0].Offset > i {
				t.Errorf("byte %d, in %v: flaws %v", i, p, fs)
			}
			if len(flaws(t, b, segment.Content)) == 0 {
				t.Errorf("byte %d: no flaw by content", i)
			}
			readOrFail(t, b, rows)
			recoverOrFail(t, b, rows, true)
		}
	}
	if end != int64(len(whole)) {
		t.Fatalf("places end at %d of %d", end, len(whole))
	}
}

// readOrFail reads all rows every way: each is right, or an error that says so.
func readOrFail(t *testing.T, b []byte, rows []segment.Row) {
	t.Helper()
	r, err := segment.NewReader(bytes.NewReader(b), int64(len(b)), segment.ReaderOptions{Name: "x.seg"})
	if err != nil {
		wantCorrupt(t, err)
		return
	}
	first := r.FirstRow()
	if r.EndRow()-first != uint64(len(rows)) {
		t.Fatalf("rows %d to %d", first, r.EndRow())
	}
	for i := range rows {
		row, err := r.Row(nil, first+uint64(i))
		if err != nil {
			wantCorrupt(t, err)
		} else if !equal(row, rows[i]) {
			t.Fatalf("row %d has wrong bytes", i)
		}
	}
	n := 0
	for row, err := range r.Rows(first) {
		if err != nil {
			wantCorrupt(t, err)
		} else if !equal(row, rows[n]) {
			t.Fatalf("row %d of a scan has wrong bytes", n)
		}
		n++
	}
}

func wantCorrupt(t *testing.T, err error) {
	t.Helper()
	var ce *segment.CorruptionError
	if !errors.Is(err, segment.ErrCorrupt) || !errors.As(err, &ce) || ce.File != "x.seg" {
		t.Fatalf("not a placed corruption: %v", err)
	}
}

// recoverOrFail recovers what is left: every row yielded is right, in order, and
// what is missing is said.
func recoverOrFail(t *testing.T, b []byte, rows []segment.Row, wantSaid bool) (got int) {
	t.Helper()
	d, err := segment.Recover(bytes.NewReader(b), int64(len(b)), segment.RecoverOptions{Name: "x.seg"})
	if err != nil {
		wantCorrupt(t, err)
		return 0
	}
	said := len(d.Flaws()) > 0
	next := uint64(0)
	for n, err := range d.Rows(context.Background()) {
		if err != nil {
			wantCorrupt(t, err)
			said = true
			continue
		}
		i := n.N - d.FirstRow()
		if n.N < next || i >= uint64(len(rows)) || !equal(n.Row, rows[i]) {
			t.Fatalf("recovered row %d has wrong bytes or place", n.N)
		}
		next = n.N + 1
		got++
	}
	if got < len(rows) && wantSaid && !said {
		t.Fatalf("%d of %d rows, and nothing said", got, len(rows))
	}
	return got
}

// TestEveryTruncation cuts the file at every length.
func TestEveryTruncation(t *testing.T) {
	whole, rows := smallSegment(t)
	r := open(t, whole, segment.ReaderOptions{})
	complete := map[int64]int{} // end of a chunk: rows up to there
	rowsBefore := 0
	for p := range r.Places() {
		if p.Section == segment.SectionFrame || p.Section == segment.SectionDirectory {
			complete[p.Offset] = rowsBefore
		}
		rowsBefore = int(p.FirstRow + p.Rows - r.FirstRow())
	}
	for n := range len(whole) {
		b := whole[:n:n]
		fs := flaws(t, b, segment.Checksums)
		ok := false
		for _, f := range fs {
			ok = ok || f.Section == segment.SectionFooter || f.Section == segment.SectionFile
		}
		if !ok {
			t.Fatalf("cut at %d: flaws %v", n, fs)
		}
		if _, err := segment.NewReader(bytes.NewReader(b), int64(n), segment.ReaderOptions{}); !errors.Is(err, segment.ErrCorrupt) {
			t.Fatalf("cut at %d: opened: %v", n, err)
		}
		got := recoverOrFail(t, b, rows, true)
		if want, ok := complete[int64(n)]; ok && n >= 64+128 && got < want {
			t.Fatalf("cut at %d, behind row %d: %d rows recovered", n, want, got)
		}
	}
}

func TestForeignFiles(t *testing.T) {
	for _, b := range [][]byte{nil, {0}, make([]byte, 191), make([]byte, 192), make([]byte, 1<<20), bytes.Repeat([]byte("CHNK"), 1000)} {
		if len(flaws(t, b, segment.Checksums)) == 0 {
			t.Errorf("%d foreign bytes without a flaw", len(b))
		}
		if _, err := segment.NewReader(bytes.NewReader(b), int64(len(b)), segment.ReaderOptions{}); !errors.Is(err, segment.ErrCorrupt) {
			t.Errorf("%d foreign bytes: %v", len(b), err)
		}
	}
}
