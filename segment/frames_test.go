package segment_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/segstore/segstore/codec"
	"github.com/segstore/segstore/dict"
	"github.com/segstore/segstore/segment"
)

var framesID = segment.ID{1, 2, 3, 4, 5}

func columnsOf(rows []segment.Row) []codec.Values {
	values := make([]codec.Values, len(rows[0]))
	for _, r := range rows {
		for i, v := range r {
			values[i].Append(v)
		}
	}
	return values
}

// testFrames are frames with a dictionary.
func testFrames(t testing.TB, rows []segment.Row) *segment.Frames {
	t.Helper()
	var b []byte
	for _, r := range rows {
		b = append(b, r[2]...)
	}
	d, err := dict.New(dict.RawContent, b[:4096:4096])
	if err != nil {
		t.Fatal(err)
	}
	f, err := segment.NewFrames(framesID, segment.FramesOptions{
		Table: "test", Schema: testSchema(), Dictionaries: map[string]*dict.Dict{"body": d}, Name: "log",
		Policy: policy(t, "chunk 4096\ncolumn:body group=column codec=zstd:1+dict else=s2 dict=4096\n* group=column codec=s2\n"),
	})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// allColumns are the columns of testSchema.
var allColumns = []int{0, 1, 2, 3}

func wantFrame(t testing.TB, f *segment.Frames, b []byte, first uint64, rows []segment.Row) {
	t.Helper()
	var got segment.FrameRows
	if err := f.Decode(&got, b, allColumns); err != nil {
		t.Fatal(err)
	}
	if got.FirstRow != first || got.Rows != len(rows) {
		t.Fatalf("%d rows from %d", got.Rows, got.FirstRow)
	}
	for i := range rows {
		for c := range rows[i] {
			if !bytes.Equal(got.Value(c, i), rows[i][c]) {
				t.Fatalf("row %d, column %d: %x", i, c, got.Value(c, i))
			}
		}
	}
}

// appendFrame appends a chunk.
func appendFrame(f *segment.Frames, dst []byte, first uint64, values []codec.Values) ([]byte, error) {
	var b segment.FrameBytes
	if err := f.Encode(&b, first, values); err != nil {
		return nil, err
	}
	return slices.Concat(dst, b.Frame, b.Blocks), nil
}

// Chunks come back from their bytes and the front records alone, one column too.
func TestFrames(t *testing.T) {
	rows := testRows(500, 11)
	f := testFrames(t, rows)
	r, err := segment.OpenFrames(framesID, f.AppendFront(nil), segment.FramesOptions{Name: "log"})
	if err != nil {
		t.Fatal(err)
	}
	if r.Table() != "test" || !r.Schema().Equal(testSchema()) {
		t.Fatalf("table %q, %v", r.Table(), r.Schema())
	}
	var log []byte
	for i, n := range []int{1, 3, 96, 400} {
		before := len(log)
		if log, err = appendFrame(f, log, uint64(1000+i), columnsOf(rows[:n])); err != nil {
			t.Fatal(err)
		}
		h, err := r.Head(log[before:])
		if err != nil || h.FirstRow != uint64(1000+i) || h.Rows != n || h.Size != len(log)-before {
			t.Fatalf("%+v, %v", h, err)
		}
		wantFrame(t, r, log[before:], uint64(1000+i), rows[:n])
		if err := r.Verify(log[before:]); err != nil {
			t.Fatal(err)
		}
		var one segment.FrameRows
		if err := r.Decode(&one, log[before:], []int{2}); err != nil || !bytes.Equal(one.Value(2, n-1), rows[n-1][2]) {
			t.Fatalf("one column: %v", err)
		}
		again, err := appendFrame(r, nil, uint64(1000+i), columnsOf(rows[:n])) // one who reads may go on writing
		if err != nil || !bytes.Equal(again, log[before:]) {
			t.Fatalf("written again: %d bytes, %v", len(again), err)
		}
	}
	if _, err := appendFrame(f, nil, 0, columnsOf(rows[:1])[:3]); err == nil {
		t.Error("a column short")
	}
}

// Every byte of a chunk and of the front records flipped: no wrong value, and damage
// that is placed.
func TestFramesEveryByteFlipped(t *testing.T) {
	rows := testRows(20, 12)
	f := testFrames(t, testRows(500, 11))
	whole, err := appendFrame(f, nil, 77, columnsOf(rows))
	if err != nil {
		t.Fatal(err)
	}
	var got segment.FrameRows
	for i := range whole {
		b := bytes.Clone(whole)
		b[i] ^= 1 << (i % 8)
		var ce *segment.CorruptionError
		if err := f.Verify(b); !errors.As(err, &ce) || ce.File != "log" {
			t.Fatalf("byte %d: %v", i, err)
		}
		_, _ = f.Head(b)
		if err := f.Decode(&got, b, allColumns); err == nil {
			if got.Rows != len(rows) { // a frame's own checksum is not looked at
				continue
			}
			wantFrame(t, f, b, got.FirstRow, rows)
		}
		if err := f.Decode(&got, whole[:i], allColumns); err == nil {
			t.Fatalf("cut at %d", i)
		}
	}
	front := f.AppendFront(nil)
	for i := range front {
		b := bytes.Clone(front)
		b[i] ^= 1 << (i % 8)
		if _, err := segment.OpenFrames(framesID, b, segment.FramesOptions{}); err == nil {
			t.Fatalf("front records: byte %d", i)
		}
		if _, err := segment.OpenFrames(framesID, front[:i], segment.FramesOptions{}); err == nil {
			t.Fatalf("front records cut at %d", i)
		}
	}
	if _, err := segment.OpenFrames(segment.ID{}, front, segment.FramesOptions{}); err == nil {
		t.Error("front records of another ID")
	}
}

func FuzzFrames(f *testing.F) {
	fr := testFrames(f, testRows(500, 11))
	for _, n := range []int{1, 20} {
		b, err := appendFrame(fr, nil, 5, columnsOf(testRows(n, 12)))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var got segment.FrameRows
		h, err := fr.Head(b)
		if err == nil && (h.Size > len(b) || h.Rows < 1) {
			t.Fatalf("%+v of %d bytes", h, len(b))
		}
		verr := fr.Verify(b)
		if err := fr.Decode(&got, b, allColumns); verr == nil && err == nil {
			for i := range got.Rows {
				for c := range allColumns {
					_ = got.Value(c, i)
				}
			}
		}
	})
}
