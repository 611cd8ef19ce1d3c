package cmd

import (
	"bytes"
	"testing"

	"github.com/segstore/segstore/codec"
	"github.com/segstore/segstore/segment"
)

// The end of a segment is found whatever follows it, however long, and nowhere where its footer is gone. A segment that
// a value of another one holds does not end that.
func TestSegmentEnd(t *testing.T) {
	raw, err := codec.ParsePolicy("chunk 32768\n* group=column codec=raw\n")
	if err != nil {
		t.Fatal(err)
	}
	write := func(value []byte) []byte {
		var out bytes.Buffer
		w, err := segment.NewWriter(&out, segment.WriterOptions{Policy: raw, Table: "t", Schema: segment.Schema{Columns: []segment.Column{{Name: "a", Kind: segment.Bytes}}}})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Append(segment.Row{value}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Finish(); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	inner := write([]byte("x"))
	outer := write(inner)
	if !bytes.Contains(outer, inner[len(inner)-footerBytes:]) {
		t.Fatal("the inner segment is compressed: this proves nothing")
	}
	for name, tc := range map[string]struct {
		b    []byte
		want int // -1: all of it
	}{
		"as it is":       {inner, -1},
		"a byte":         {append(bytes.Clone(inner), 0), len(inner)},
		"a window less":  {append(bytes.Clone(inner), make([]byte, endWindow-footerBytes-1)...), len(inner)},
		"across windows": {append(bytes.Clone(inner), make([]byte, endWindow-footerBytes/2)...), len(inner)},
		"windows":        {append(bytes.Clone(inner), make([]byte, 3*endWindow)...), len(inner)},
		"magics":         {append(bytes.Clone(inner), bytes.Repeat([]byte(footerMagic), 1000)...), len(inner)},
		"inner, cut":     {outer[:len(outer)-1], -1},
		"outer":          {append(bytes.Clone(outer), '\n'), len(outer)},
		"no footer":      {inner[:len(inner)-footerBytes], -1},
		"short":          {[]byte("SEGEND\r\n"), -1},
		"empty":          {nil, -1},
	} {
		if tc.want < 0 {
			tc.want = len(tc.b)
		}
		if got, err := segmentEnd(t.Context(), bytes.NewReader(tc.b), int64(len(tc.b))); err != nil || got != int64(tc.want) {
			t.Errorf("%s: %d, %v, want %d of %d", name, got, err, tc.want, len(tc.b))
		}
	}
}
