package segment_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"testing"

	"github.com/segstore/segstore/codec"
	"github.com/segstore/segstore/segment"
)

// sliceSource is rows in memory.
type sliceSource struct {
	first uint64
	rows  []segment.Row
	err   error // behind the rows
	more  uint64
}

func (s *sliceSource) FirstRow() uint64 { return s.first }
func (s *sliceSource) EndRow() uint64   { return s.first + uint64(len(s.rows)) + s.more }

func (s *sliceSource) RawBytes() (n uint64) {
	for _, r := range s.rows {
		for _, v := range r {
			n += uint64(len(v))
		}
	}
	return n
}

func (s *sliceSource) Rows(from uint64, columns ...string) iter.Seq2[segment.Row, error] {
	return func(yield func(segment.Row, error) bool) {
		for _, r := range s.rows[from-s.first:] {
			if !yield(r, nil) {
				return
			}
		}
		if s.err != nil {
			yield(nil, s.err)
		}
	}
}

// Write makes of rows what Recompress makes of a segment that holds them, under
// each profile.
func TestWriteLikeRecompress(t *testing.T) {
	rows := testRows(4000, 8)
	src, _ := write(t, segment.WriterOptions{FirstRow: 9, Policy: policy(t, "chunk 65536\n* group=column codec=s2\n"), Metadata: map[string][]byte{"a": []byte("b")}}, rows)
	for _, name := range codec.Profiles() {
		p := profile(t, name)
		var want bytes.Buffer
		rep, err := segment.Recompress(context.Background(), &want, open(t, src, segment.ReaderOptions{}), segment.RecompressOptions{Policy: p})
		if err != nil {
			t.Fatal(err)
		}
		for what, s := range map[string]segment.Source{"slice": &sliceSource{first: 9, rows: rows}, "segment": open(t, src, segment.ReaderOptions{})} {
			var got bytes.Buffer
			info, dictionaries, err := segment.Write(context.Background(), &got, s, segment.WriterOptions{
				Table: "test", Schema: testSchema(), Policy: p, Metadata: map[string][]byte{"a": []byte("b")},
			})
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got.Bytes(), want.Bytes()) || info.ContentRoot != rep.ContentRoot || len(dictionaries) != len(rep.Dictionaries) {
				t.Errorf("%s from a %s: %d bytes, recompressed %d", name, what, got.Len(), want.Len())
			}
			if !(segment.RecompressOptions{}).Settled(open(t, got.Bytes(), segment.ReaderOptions{})) {
				t.Errorf("%s from a %s: not settled", name, what)
			}
		}
	}
}

func TestWriteRefuses(t *testing.T) {
	rows := testRows(100, 8)
	wrong := errors.New("wrong")
	o := segment.WriterOptions{Table: "test", Schema: testSchema()}
	for what, s := range map[string]segment.Source{
		"an error":         &sliceSource{rows: rows, err: wrong},
		"too few rows":     &sliceSource{rows: rows, more: 1},
		"no rows":          &sliceSource{},
		"a row that lacks": &sliceSource{rows: []segment.Row{rows[0], rows[1][:3]}},
	} {
		_, _, err := segment.Write(context.Background(), io.Discard, s, o)
		if err == nil || what == "an error" && !errors.Is(err, wrong) {
			t.Errorf("%s: %v", what, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := segment.Write(ctx, io.Discard, &sliceSource{rows: rows}, o); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
