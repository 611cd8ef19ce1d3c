package segment_test

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"testing"

	"github.com/segstore/segstore/segment"
)

const (
	exerciseBlock = 256 << 10 // MaxBlockBytes: what a file may claim
	exerciseRows  = 3000      // a hostile file may have billions
)

// exercise does all there is to do with a file that may hold anything. Nothing
// panics; every failure is ErrCorrupt or ErrVersion; memory is in proportion to
// the file; and where Verify finds no flaw, what is read is what the root is of.
func exercise(t *testing.T, b []byte) {
	t.Helper()
	var r *segment.Reader
	// A directory unpacks to 256 times its bytes at most, and 1 MiB; a decoder takes some.
	measure(t, "open", 6<<20+600*int64(len(b)), func() {
		var err error
		r, err = segment.NewReader(bytes.NewReader(b), int64(len(b)), segment.ReaderOptions{Name: "x.seg", MaxBlockBytes: exerciseBlock, Concurrency: 1})
		wantKnown(t, err)
	})
	// Verify, Recover and a scan hold one window or chunk; a chunk decodes to no more
	// than twice the largest block, and is decoded a few times.
	chunks, columns := int64(1), int64(1)
	if r != nil {
		chunks, columns = int64(min(r.Info().Chunks, exerciseRows)), int64(len(r.Schema().Columns))
	}
	budget := 16<<20 + 1000*int64(len(b)) + chunks*4*exerciseBlock + columns*2<<20
	whole := map[segment.Depth]bool{}
	for _, d := range []segment.Depth{segment.Structure, segment.Checksums, segment.Content} {
		measure(t, "verify", budget, func() { whole[d] = verifyKnown(t, b, d) })
	}
	if whole[segment.Content] && !whole[segment.Checksums] || whole[segment.Checksums] && !whole[segment.Structure] {
		t.Fatalf("whole by depth: %v", whole)
	}
	measure(t, "recover", budget, func() { recoverKnown(t, b) })
	if r == nil {
		if whole[segment.Content] {
			t.Fatal("without a flaw, and does not open")
		}
		return
	}
	var rows []segment.Row
	measure(t, "read", budget+int64(len(b))*64, func() { rows = readKnown(t, r, whole[segment.Content]) })
	measure(t, "recompress", 2*budget, func() { recompressKnown(t, r, rows) })
	if whole[segment.Structure] {
		end := int64(0)
		for p := range r.Places() {
			if p.Offset != end {
				t.Fatalf("%v is not at %d", p, end)
			}
			end += p.Length
		}
		if end != int64(len(b)) {
			t.Fatalf("places end at %d of %d", end, len(b))
		}
	}
	if whole[segment.Content] && len(rows) == int(r.Info().Rows) && r.Info().ContentRoot != naiveRoot(rows) {
		t.Fatal("without a flaw, and the rows are not those of the content root")
	}
}

// measure fails the test when f allocates more than limit bytes in all.
func measure(t *testing.T, what string, limit int64, f func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	if got := int64(after.TotalAlloc - before.TotalAlloc); got > limit {
		t.Fatalf("%s allocated %d bytes, at most %d expected", what, got, limit)
	}
}

func wantKnown(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		return
	}
	corrupt, version := errors.Is(err, segment.ErrCorrupt), errors.Is(err, segment.ErrVersion)
	if corrupt == version {
		t.Fatalf("corrupt %v, version %v: %v", corrupt, version, err)
	}
	var ce *segment.CorruptionError
	if errors.As(err, &ce) != corrupt || corrupt && (ce.File != "x.seg" || ce.Section == "" || ce.Offset < 0 || ce.Length < 0) {
		t.Fatalf("place %+v: %v", ce, err)
	}
}

func verifyKnown(t *testing.T, b []byte, d segment.Depth) (whole bool) {
	t.Helper()
	whole = true
	o := segment.VerifyOptions{Name: "x.seg", Depth: d, MaxBlockBytes: exerciseBlock}
	for f, err := range segment.Verify(context.Background(), bytes.NewReader(b), int64(len(b)), o) {
		whole = false
		if err == nil {
			err = &f
		} else if !errors.Is(err, segment.ErrVersion) {
			t.Fatalf("verify ended with %v", err)
		}
		wantKnown(t, err)
	}
	return whole
}

func recoverKnown(t *testing.T, b []byte) {
	t.Helper()
	d, err := segment.Recover(bytes.NewReader(b), int64(len(b)), segment.RecoverOptions{Name: "x.seg", MaxBlockBytes: exerciseBlock})
	wantKnown(t, err)
	if err != nil {
		return
	}
	n, next := 0, d.FirstRow()
	for row, err := range d.Rows(context.Background()) {
		wantKnown(t, err)
		if n++; n > exerciseRows {
			return
		}
		if err == nil {
			if row.N < next || len(row.Row) != len(d.Schema().Columns) {
				t.Fatalf("row %d of %d values after %d", row.N, len(row.Row), next)
			}
			next = row.N + 1
		}
	}
}

// readKnown returns the rows, as many as are asked for, until one cannot be read.
func readKnown(t *testing.T, r *segment.Reader, whole bool) (rows []segment.Row) {
	t.Helper()
	for row, err := range r.Rows(r.FirstRow()) {
		wantKnown(t, err)
		if err != nil {
			if whole {
				t.Fatalf("without a flaw, and row %d cannot be read: %v", len(rows), err)
			}
			break
		}
		for i, c := range r.Schema().Columns {
			if c.Kind == segment.Fixed && len(row[i]) != c.Width || c.Kind == segment.Uint && len(row[i]) != 8 {
				t.Fatalf("%d bytes in a value of %s", len(row[i]), c.KindString())
			}
		}
		if rows = append(rows, cloneRow(row)); len(rows) == exerciseRows {
			break
		}
	}
	for _, i := range []int{0, len(rows) / 2, len(rows)} { // the last one may not be there, or damaged
		n := r.FirstRow() + uint64(i)
		row, err := r.Row(nil, n)
		if n < r.EndRow() {
			wantKnown(t, err)
		} else if !errors.Is(err, segment.ErrRange) {
			t.Fatalf("row %d of %d: %v", n, r.EndRow(), err)
		}
		if err == nil && i < len(rows) && !equal(row, rows[i]) {
			t.Fatalf("row %d is %x, in a scan %x", n, row, rows[i])
		}
	}
	return rows
}

func cloneRow(row segment.Row) segment.Row {
	c := make(segment.Row, len(row))
	for i, v := range row {
		c[i] = bytes.Clone(v)
	}
	return c
}

// recompressKnown recompresses within the chunks' bounds and across them.
func recompressKnown(t *testing.T, r *segment.Reader, rows []segment.Row) {
	t.Helper()
	if len(rows) == exerciseRows {
		return
	}
	for _, o := range []segment.RecompressOptions{{Workers: 1}, {Workers: 1, Policy: policy(t, "chunk 4096\n* group=column codec=raw\n")}} {
		var out bytes.Buffer
		_, err := segment.Recompress(context.Background(), &out, r, o)
		if err != nil && len(rows) == int(r.Info().Rows) && !errors.Is(err, segment.ErrCorrupt) && !errors.Is(err, segment.ErrVersion) {
			t.Fatalf("all rows can be read, and recompressing fails: %v", err)
		}
		if err != nil {
			wantKnown(t, err)
			continue
		}
		again := open(t, out.Bytes(), segment.ReaderOptions{})
		if again.Info().ContentRoot != r.Info().ContentRoot || len(rows) == int(r.Info().Rows) && len(o.Policy.Rules) > 0 && !sameRows(again, rows) {
			t.Fatal("recompressing changed rows")
		}
	}
}

func sameRows(r *segment.Reader, rows []segment.Row) bool {
	n := 0
	for row, err := range r.Rows(r.FirstRow()) {
		if err != nil || n >= len(rows) || !equal(row, rows[n]) {
			return false
		}
		n++
	}
	return n == len(rows)
}
