package segment_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/segstore/segstore/codec"
	"github.com/segstore/segstore/segment"
)

func TestRoundTrip(t *testing.T) {
	counts := []int{1, 2, 255, 256, 257, 3000}
	if testing.Short() {
		counts = []int{1, 257}
	}
	for _, n := range counts {
		rows := testRows(n, uint64(n))
		for _, text := range []string{
			"chunk 1024\n* group=column codec=raw\n",
			"chunk 4096\n* group=stream codec=s2\n",
			"chunk 32768\n* group=column codec=zstd:1\n",
			"chunk 262144\nkind:uint group=column codec=raw\ncolumn:body encoding=plain group=stream codec=zstd:3\n* group=column codec=zstd:7\n",
			"chunk 16777216\n* group=column codec=zstd:19\n",
		} {
			t.Run(fmt.Sprintf("%d/%.11s", n, text), func(t *testing.T) {
				b, info := write(t, segment.WriterOptions{FirstRow: 77, Policy: policy(t, text)}, rows)
				wantWhole(t, b)
				r := open(t, b, segment.ReaderOptions{Cache: segment.NewCache(1 << 20)})
				if got := r.Info(); got.ID != info.ID || got.ContentRoot != info.ContentRoot || got.Rows != uint64(n) || got.RawBytes != info.RawBytes {
					t.Fatalf("info %+v, written was %+v", got, info)
				}
				wantRows(t, r, rows)
				var row segment.Row
				var err error
				for i := range rows {
					if row, err = r.Row(row, uint64(77+i)); err != nil || !equal(row, rows[i]) {
						t.Fatalf("row %d: %v", i, err)
					}
				}
			})
		}
	}
}

func TestWorkersDoNotChangeBytes(t *testing.T) {
	rows := testRows(2000, 3)
	one, _ := write(t, segment.WriterOptions{Workers: 1}, rows)
	for _, workers := range []int{2, 3, 8} {
		many, _ := write(t, segment.WriterOptions{Workers: workers}, rows)
		if !bytes.Equal(one, many) {
			t.Fatalf("%d workers write other bytes than one", workers)
		}
	}
}

func TestRecompressKeepsContentRoot(t *testing.T) {
	rows := testRows(3000, 4)
	src, info := write(t, segment.WriterOptions{FirstRow: 5}, rows)
	r := open(t, src, segment.ReaderOptions{})
	level := func(n int) *int { return &n }
	hot, _ := codec.Profile("hot")
	cold, _ := codec.Profile("cold")
	for name, o := range map[string]segment.RecompressOptions{
		"level 1":          {Level: level(1)},
		"level 19":         {Level: level(19)},
		"hot":              {Policy: hot},
		"cold":             {Policy: cold},
		"nothing":          {},
		"retrain":          {Retrain: true},
		"encoding by name": {Encoding: "plain/1"},
	} {
		t.Run(name, func(t *testing.T) {
			var first []byte
			for _, workers := range []int{1, 2} {
				o.Workers = workers
				var b bytes.Buffer
				rep, err := segment.Recompress(context.Background(), &b, r, o)
				if err != nil {
					t.Fatal(err)
				}
				if rep.ContentRoot != info.ContentRoot || rep.After.StoredBytes != int64(b.Len()) {
					t.Fatalf("report %+v", rep)
				}
				wantWhole(t, b.Bytes())
				n := open(t, b.Bytes(), segment.ReaderOptions{})
				wantRows(t, n, rows)
				if n.Info().ContentRoot != info.ContentRoot {
					t.Fatal("content root changed")
				}
				if !o.Retrain && !(segment.RecompressOptions{}).Settled(n) {
					t.Fatal("not settled under its own policy")
				}
				if workers == 1 {
					first = b.Bytes()
				} else if !bytes.Equal(first, b.Bytes()) {
					t.Fatal("two workers write other bytes than one")
				}
			}
			if name == "nothing" && (segment.RecompressOptions{}).Settled(r) { // a Writer has no rows to train on
				t.Fatal("settled, with no dictionary tried")
			}
			var again bytes.Buffer
			if _, err := segment.Recompress(context.Background(), &again, open(t, first, segment.ReaderOptions{}), segment.RecompressOptions{}); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(first, again.Bytes()) {
				t.Fatal("recompressing under the same policy changed bytes")
			}
		})
	}
}

func TestAppendRefusesBadRows(t *testing.T) {
	var b bytes.Buffer
	w, err := segment.NewWriter(&b, segment.WriterOptions{Table: "test", Schema: testSchema()})
	if err != nil {
		t.Fatal(err)
	}
	good := testRows(1, 1)[0]
	for _, row := range []segment.Row{nil, good[:3], {good[0][:7], good[1], good[2], good[3]}, {good[0], good[1][:31], good[2], good[3]}} {
		if err := w.Append(row); err == nil {
			t.Errorf("row of %d values taken", len(row))
		}
	}
	if err := w.Append(good); err != nil {
		t.Fatalf("a refused row killed the writer: %v", err)
	}
	if _, err := w.Finish(); err != nil {
		t.Fatal(err)
	}
	if err := w.Append(good); !errors.Is(err, segment.ErrClosed) {
		t.Fatalf("append after Finish: %v", err)
	}
	if _, err := w.Finish(); !errors.Is(err, segment.ErrClosed) {
		t.Fatalf("Finish twice: %v", err)
	}
	wantRows(t, open(t, b.Bytes(), segment.ReaderOptions{}), []segment.Row{good})
}

func TestNoRows(t *testing.T) {
	w, err := segment.NewWriter(&bytes.Buffer{}, segment.WriterOptions{Table: "test", Schema: testSchema()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Finish(); err == nil {
		t.Fatal("a segment without rows")
	}
}
