package segment_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"testing"

	"github.com/segstore/segstore/segment"
)

// What is foretold comes true: exactly for the blocks where the sample is all
// there is, and within a few percent where it is a part.
func TestEstimateRecompress(t *testing.T) {
	if testing.Short() {
		t.Skip("needs many rows for a part of them to foretell the rest")
	}
	b, _ := write(t, segment.WriterOptions{Policy: policy(t, "chunk 4096\n* group=column codec=zstd:1\n"), Workers: 1}, testRows(40_000, 1))
	src := open(t, b, segment.ReaderOptions{})
	nine := 9
	for _, c := range []struct {
		name   string
		o      segment.RecompressOptions
		sample int64
		within float64
	}{
		{"level, all", segment.RecompressOptions{Level: &nine}, 1 << 40, 0},
		{"level, part", segment.RecompressOptions{Level: &nine}, 300_000, 0.02},
		{"bounds, part", segment.RecompressOptions{Policy: policy(t, "chunk 16384\n* group=column codec=zstd:3\n")}, 500_000, 0.04},
		{"dictionary, part", segment.RecompressOptions{Policy: policy(t, "chunk 4096\n* group=column codec=zstd:1+dict else=zstd:1 dict=16384\n")}, 500_000, 0.04},
		{"nothing", segment.RecompressOptions{}, 300_000, 0.02},
	} {
		got, err := segment.EstimateRecompress(context.Background(), src, c.o, c.sample)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		want, err := segment.Recompress(context.Background(), io.Discard, src, c.o)
		if err != nil {
			t.Fatal(err)
		}
		if got.Before != want.Before || got.Rows != want.Rows || got.RawBytes != want.RawBytes || got.ContentRoot != want.ContentRoot {
			t.Errorf("%s: before is %+v, want %+v", c.name, got.Before, want.Before)
		}
		near := func(what string, got, want float64, within float64) {
			if math.Abs(got-want) > want*within {
				t.Errorf("%s: %s is %.0f, want %.0f ± %.0f %%", c.name, what, got, want, within*100)
			}
		}
		for i, w := range want.Columns {
			g := got.Columns[i]
			if g.RawBytes != w.RawBytes || g.StoredBefore != w.StoredBefore || g.CodecAfter != w.CodecAfter || g.DictAfter != w.DictAfter {
				t.Errorf("%s: column is %+v, want %+v", c.name, g, w)
			}
			near(w.Column, float64(g.StoredAfter), float64(w.StoredAfter), c.within)
			near(w.Column+" blocks", float64(g.Blocks), float64(w.Blocks), c.within+0.05)
			near(w.Column+" copied", float64(g.Copied), float64(w.Copied), c.within)
		}
		near("total", float64(got.After.StoredBytes), float64(want.After.StoredBytes), c.within+0.01)
		near("chunks", float64(got.After.Chunks), float64(want.After.Chunks), c.within+0.02)
		if all := c.sample == 1<<40; all != (got.SampledRows == got.Rows) || got.SampledBytes > uint64(c.sample)*3/2 && !all {
			t.Errorf("%s: sampled %d rows, %d bytes", c.name, got.SampledRows, got.SampledBytes)
		}
	}
}

func TestEstimateRecompressErrors(t *testing.T) {
	b, _ := write(t, segment.WriterOptions{}, testRows(3000, 1))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	nine, far := 9, 99
	if _, err := segment.EstimateRecompress(ctx, open(t, b, segment.ReaderOptions{}), segment.RecompressOptions{Level: &nine}, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := segment.EstimateRecompress(context.Background(), open(t, b, segment.ReaderOptions{}), segment.RecompressOptions{Level: &far}, 0); err == nil {
		t.Error("level 99 accepted")
	}
	bad := bytes.Clone(b)
	bad[len(bad)/2] ^= 1
	for _, o := range []segment.RecompressOptions{{Level: &nine}, {Policy: policy(t, "chunk 2048\n* group=column codec=s2\n")}} {
		if _, err := segment.EstimateRecompress(context.Background(), open(t, bad, segment.ReaderOptions{}), o, 0); !errors.Is(err, segment.ErrCorrupt) {
			t.Errorf("damaged: %v", err)
		}
	}
}
