package segment_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/segstore/segstore/codec"
	"github.com/segstore/segstore/segment"
)

// Every block of a segment comes out, and a decoder that knows nothing of ours
// makes the raw bytes of the stored ones.
func TestBlock(t *testing.T) {
	for _, group := range []string{"column", "stream"} {
		b, _ := write(t, segment.WriterOptions{Policy: policy(t, "chunk 4096\n* group="+group+" codec=zstd:3\n")}, testRows(500, 1))
		r := open(t, b, segment.ReaderOptions{Name: "a.seg"})
		z, err := zstd.NewReader(nil)
		if err != nil {
			t.Fatal(err)
		}
		defer z.Close()
		seen, kept := 0, 0
		for p := range r.Places() {
			if p.Section != segment.SectionBlock {
				continue
			}
			seen++
			stored, raw, info, err := r.Block(p.Column, p.Chunk, p.Block)
			if err != nil {
				t.Fatal(err)
			}
			if info.Place != p {
				t.Fatalf("place is %v, Places has %v", info.Place, p)
			}
			if info.RawBytes != len(raw) || info.StoredBytes != len(stored) || info.Dictionary != -1 {
				t.Fatalf("%v: info %+v for %d raw and %d stored bytes", p, info, len(raw), len(stored))
			}
			if !bytes.Contains(b[p.Offset:p.Offset+p.Length], stored) {
				t.Fatalf("%v: stored bytes are not in the file there", p)
			}
			var want []byte
			if info.Codec.ID == codec.Zstd {
				if want, err = z.DecodeAll(stored, nil); err != nil {
					t.Fatalf("%v: %v", p, err)
				}
			} else {
				kept++
				want = stored
			}
			if !bytes.Equal(want, raw) {
				t.Fatalf("%v: stored bytes do not decode to the raw ones", p)
			}
			total, rest := uint64(0), raw
			for range len(info.Streams) - 1 {
				n, w := binary.Uvarint(rest)
				total, rest = total+n, rest[w:]
			}
			for _, s := range info.Streams {
				total -= min(total, s.RawBytes)
				rest = rest[s.RawBytes:]
			}
			if total != 0 || len(rest) != 0 {
				t.Fatalf("%v: streams %+v do not fill %d bytes", p, info.Streams, len(raw))
			}
		}
		if seen < 20 || kept == 0 {
			t.Fatalf("%d blocks, %d kept raw: too few to prove anything", seen, kept)
		}
	}
}

func TestBlockErrors(t *testing.T) {
	b, _ := write(t, segment.WriterOptions{}, testRows(100, 1))
	r := open(t, b, segment.ReaderOptions{Name: "a.seg"})
	for _, c := range []struct {
		column       string
		chunk, block int
		want         error
		text         string
	}{
		{"none", 0, 0, segment.ErrColumn, `"none"`},
		{"body", -1, 0, segment.ErrBlock, "chunk -1"},
		{"body", r.Info().Chunks, 0, segment.ErrBlock, "chunk"},
		{"body", 0, 1, segment.ErrBlock, "block 1"},
		{"body", 0, -1, segment.ErrBlock, "block -1"},
	} {
		if _, _, _, err := r.Block(c.column, c.chunk, c.block); !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if r.Dictionary(0) != nil || r.Dictionary(-1) != nil {
		t.Error("a dictionary out of nowhere")
	}
	_, _, info, err := r.Block("body", 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	bad := bytes.Clone(b)
	bad[info.Offset+info.Length/2] ^= 1
	var ce *segment.CorruptionError
	if _, _, _, err := open(t, bad, segment.ReaderOptions{}).Block("body", 0, 0); !errors.As(err, &ce) || ce.Offset != info.Offset {
		t.Errorf("damaged block: %v", err)
	}
	r, err = segment.NewReader(&short{b, info.Offset}, int64(len(b)), segment.ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := r.Block("body", 0, 0); !errors.Is(err, io.ErrNoProgress) || errors.Is(err, segment.ErrCorrupt) {
		t.Errorf("reading fails: %v", err)
	}
}

// short fails to read at one offset.
type short struct {
	b  []byte
	at int64
}

func (s *short) ReadAt(p []byte, off int64) (int, error) {
	if off == s.at {
		return 0, io.ErrNoProgress
	}
	return bytes.NewReader(s.b).ReadAt(p, off)
}

// A block whose streams are all empty is not stored.
func TestBlockEmpty(t *testing.T) {
	rows := testRows(10, 1)
	for i := range rows {
		rows[i][3] = nil
	}
	b, _ := write(t, segment.WriterOptions{}, rows)
	stored, raw, info, err := open(t, b, segment.ReaderOptions{}).Block("note", 0, 0)
	if err != nil || len(stored)+len(raw) != 0 || info.Length != 0 || len(info.Streams) != 2 {
		t.Errorf("%q, %q, %+v, %v", stored, raw, info, err)
	}
}
