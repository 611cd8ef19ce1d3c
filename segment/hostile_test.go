package segment_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/segstore/segstore/dict"
	"github.com/segstore/segstore/segment"
)

func reference(t *testing.T, file []byte) *refFile {
	t.Helper()
	f, err := parseReference(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func baseNamed(t *testing.T, name string) base {
	t.Helper()
	for _, b := range bases(t) {
		if b.name == name {
			return b
		}
	}
	t.Fatalf("no base %q", name)
	return base{}
}

// bomb returns a zstd frame of a few bytes that holds n zeros, n a multiple of 128 KiB.
func bomb(n int) []byte {
	b := []byte{0x28, 0xb5, 0x2f, 0xfd, 0xa0}
	b = binary.LittleEndian.AppendUint32(b, uint32(n))
	const block = 128 << 10
	for ; n > 0; n -= block {
		head := uint32(block<<3 | 1<<1)
		if n == block {
			head |= 1
		}
		b = append(b, byte(head), byte(head>>8), byte(head>>16), 0)
	}
	return b
}

func wantFlaw(t *testing.T, b []byte, section segment.Section, text string) {
	t.Helper()
	fs := flaws(t, b, segment.Content)
	for _, f := range fs {
		if f.Section == section && strings.Contains(f.Error(), text) {
			return
		}
	}
	t.Errorf("no flaw of %s with %q: %v", section, text, fs)
}

// A directory is small and claims to be large: what it claims is not reserved.
func TestDirectoryOutOfProportion(t *testing.T) {
	f := reference(t, baseNamed(t, "raw").file)
	const size = 512 << 20
	z := bomb(size)
	d, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(1<<30))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if out, err := d.DecodeAll(bomb(1<<20), nil); err != nil || len(out) != 1<<20 {
		t.Fatalf("the bomb is none: %d bytes, %v", len(out), err)
	}
	b := f.edit(refEdit{packed: append(binary.AppendUvarint([]byte{2}, size), z...)})
	measure(t, "open", 1<<20, func() {
		if _, err := segment.NewReader(bytes.NewReader(b), int64(len(b)), segment.ReaderOptions{}); !errors.Is(err, segment.ErrCorrupt) {
			t.Errorf("opened: %v", err)
		}
	})
	wantFlaw(t, b, segment.SectionDirectory, "directory of 536870912 bytes")

	// Chunks that the file has no room for: 28 bytes of memory for 15 that pack to none.
	f.dir.codec = 2
	raw := f.dir.raw
	at := bytes.Index(raw, []byte(f.dir.encoder)) + len(f.dir.encoder)
	many := append(bytes.Clone(raw[:at]), binary.AppendUvarint(nil, 60_000)...)
	many = append(many, make([]byte, 60_000*20)...)
	b = f.edit(refEdit{directory: many})
	measure(t, "open", 4<<20, func() {
		if _, err := segment.NewReader(bytes.NewReader(b), int64(len(b)), segment.ReaderOptions{}); !errors.Is(err, segment.ErrCorrupt) {
			t.Errorf("opened: %v", err)
		}
	})
	wantFlaw(t, b, segment.SectionDirectory, "")
}

// Such a directory, if a writer comes by one, is stored as it is.
func TestDirectoryThatPacksTooWell(t *testing.T) {
	rows := testRows(3, 1)
	b, _ := write(t, segment.WriterOptions{Metadata: map[string][]byte{"zeros": make([]byte, 8<<20)}}, rows)
	if len(b) < 8<<20 {
		t.Fatalf("%d bytes", len(b))
	}
	r := open(t, b, segment.ReaderOptions{})
	wantRows(t, r, rows)
	if got := r.Metadata()["zeros"]; !bytes.Equal(got, make([]byte, 8<<20)) {
		t.Fatal("metadata lost")
	}
}

// Every block of a chunk is as large as a block may be: together they are more
// than a chunk may be.
func TestChunkOfBombs(t *testing.T) {
	if testing.Short() {
		t.Skip("decodes 200 MB")
	}
	const columns, size = 20, 64 << 10
	var s segment.Schema
	row := make(segment.Row, columns)
	for i := range columns {
		s.Columns = append(s.Columns, segment.Column{Name: "c" + string(rune('a'+i)), Kind: segment.Bytes})
		row[i] = bytes.Repeat([]byte{byte(i)}, 100)
	}
	whole, _ := write(t, segment.WriterOptions{Table: "t", Schema: s, Policy: policy(t, "chunk 4096\n* group=column codec=zstd:1\n")}, []segment.Row{row})
	f := reference(t, whole)
	for _, b := range f.chunks[0].blocks {
		b.codec, b.raw, b.stored = 2, 100<<20, bomb(100<<20)
	}
	b := f.build()
	o := segment.ReaderOptions{Concurrency: 1}
	if _, err := open(t, b, segment.ReaderOptions{MaxBlockBytes: 1 << 20}).Row(nil, 0); !errors.Is(err, segment.ErrLimit) || errors.Is(err, segment.ErrCorrupt) {
		t.Errorf("row above the reader's limit: %v", err)
	}
	measure(t, "row", 1<<30, func() {
		_, err := open(t, b, o).Row(nil, 0)
		var ce *segment.CorruptionError
		if !errors.As(err, &ce) || ce.Column != "cc" { // the third
			t.Errorf("row: %v", err)
		}
	})
	c, err := open(t, b, o).Column("ct")
	if err != nil {
		t.Fatal(err)
	}
	if v, err := c.Value(nil, 0); err != nil || len(v) != 100<<20-1 { // one column alone is within the limits
		t.Errorf("%d bytes, %v", len(v), err)
	}
}

// A frame with a whole checksum says that it begins with a row far away, where no
// directory bounds the rows.
func TestFrameOfFarRow(t *testing.T) {
	base := baseNamed(t, "raw")
	f := reference(t, base.file)
	last := &f.chunks[len(f.chunks)-1]
	last.first = 1 << 60
	b := f.build()
	b = b[:len(b)-20]
	measure(t, "verify", 4<<20, func() {
		for f, err := range segment.Verify(context.Background(), bytes.NewReader(b), int64(len(b)), segment.VerifyOptions{Depth: segment.Content}) {
			if err != nil || f.Section == segment.SectionBlock {
				t.Errorf("%v, %v", f, err)
			}
		}
	})
	exercise(t, b)
	// With the footer whole such a frame is beyond the segment, and none.
	b = f.build()
	b[f.footer.dirOffset]++
	wantFlaw(t, b, segment.SectionFrame, "no whole frame here")
}

type countingReader struct {
	r     io.ReaderAt
	bytes int64
}

func (c *countingReader) ReadAt(b []byte, off int64) (int, error) {
	c.bytes += int64(len(b))
	return c.r.ReadAt(b, off)
}

// Bytes full of what looks like frames: a search reads them a bounded number of
// times, and says that it gave up.
func TestFalseFrames(t *testing.T) {
	whole := baseNamed(t, "raw")
	f := reference(t, whole.file)
	const size = 2 << 20
	for name, unit := range map[string]string{
		"magic alone":       "CHNK",
		"no frame at all":   "CHNX",
		"frames of all":     "CHNK\x00\x01\x80\x80\x40\x80\x80\x01\x00\x0012345678", // blocks of 1 MiB and 16 KiB
		"half in a window":  "xCHNK\x00\x01\x0a\x0a\x0a\x0a12345678",
		"magic in a window": strings.Repeat("x", 256<<10-2) + "CHNK",
	} {
		t.Run(name, func(t *testing.T) {
			chunks := bytes.Repeat([]byte(unit), size/len(unit))
			b := f.edit(refEdit{})
			b = append(b[:64+f.header.front:64+f.header.front], chunks...)
			tail := f.build()[64+f.header.front:]
			b = append(b, tail[:len(tail)-20]...) // the chunks, behind it all
			r := &countingReader{r: bytes.NewReader(b)}
			d, err := segment.Recover(r, int64(len(b)), segment.RecoverOptions{})
			if err != nil {
				t.Fatal(err)
			}
			rows, said := 0, 0
			began := time.Now()
			for _, err := range d.Rows(context.Background()) {
				if err == nil {
					rows++
				} else {
					said++
				}
			}
			if said == 0 || name != "frames of all" && rows != len(whole.rows) {
				t.Errorf("%d rows, %d errors", rows, said)
			}
			if r.bytes > 80*int64(len(b)) {
				t.Errorf("%d bytes read of %d", r.bytes, len(b))
			}
			t.Logf("%v, %d rows, read %.1f times", time.Since(began), rows, float64(r.bytes)/float64(len(b)))
		})
	}
}

// Dictionaries at the front only: where one is damaged the file does not open, and
// says which; where both are, too.
func TestDamagedDictionary(t *testing.T) {
	whole := baseNamed(t, "dictionaries")
	for p := range open(t, whole.file, segment.ReaderOptions{}).Places() {
		if p.Section != segment.SectionDictionary {
			continue
		}
		for _, off := range []int64{0, 1, 2, 4, 6, 8, 30, p.Length - 1} {
			b := bytes.Clone(whole.file)
			b[p.Offset+off] ^= 4
			_, err := segment.NewReader(bytes.NewReader(b), int64(len(b)), segment.ReaderOptions{Name: "x.seg"})
			var ce *segment.CorruptionError
			if !errors.As(err, &ce) || ce.Section != segment.SectionDictionary || ce.Block != p.Block || ce.Offset != p.Offset {
				t.Errorf("dictionary %d, byte %d: %v", p.Block, off, err)
			}
			exercise(t, b)
		}
	}
}

// A damaged last chunk is one flaw, not one of the hashes too; its rows are known
// to be lost.
func TestLastChunkDamaged(t *testing.T) {
	rows := testRows(400, 3)
	whole, _ := write(t, segment.WriterOptions{Policy: policy(t, "chunk 4096\n* group=column codec=raw\n")}, rows)
	f := reference(t, whole)
	b := bytes.Clone(whole)
	b[f.footer.dirOffset-20]++
	fs := flaws(t, b, segment.Content)
	if len(fs) != 1 || fs[0].Section != segment.SectionBlock || fs[0].Chunk != len(f.chunks)-1 {
		t.Fatalf("flaws %v", fs)
	}
	// In the middle likewise.
	b = bytes.Clone(whole)
	b[bytes.Index(b, rows[200][1])]++
	if fs = flaws(t, b, segment.Content); len(fs) != 1 || fs[0].FirstRow > 200 || fs[0].FirstRow+fs[0].Rows <= 200 {
		t.Fatalf("flaws %v", fs)
	}
}

// With the end lost, what the front records say must fit the encodings.
func TestLayoutThatDoesNotFit(t *testing.T) {
	f := reference(t, baseNamed(t, "raw").file)
	body := f.records[2].body
	i := bytes.Index(body, []byte("plain/1")) + len("plain/1") + 1
	body[i] = 3 // streams of plain/1
	b := f.build()
	b = b[:len(b)-20]
	_, err := segment.Recover(bytes.NewReader(b), int64(len(b)), segment.RecoverOptions{Name: "x.seg"})
	if !errors.Is(err, segment.ErrCorrupt) {
		t.Errorf("recover: %v", err)
	}
	wantFlaw(t, b, segment.SectionLayout, "streams")
	exercise(t, b)
}

// A dictionary that the directory names is held against its name.
func TestOtherDictionary(t *testing.T) {
	f := reference(t, baseNamed(t, "dictionaries").file)
	f.records[4].body = append([]byte{byte(dict.RawContent)}, "another dictionary, as whole as the first"...)
	b := f.build()
	_, err := segment.NewReader(bytes.NewReader(b), int64(len(b)), segment.ReaderOptions{Name: "x.seg"})
	if !errors.Is(err, segment.ErrCorrupt) || !strings.Contains(err.Error(), "dictionary") {
		t.Errorf("opened: %v", err)
	}
	wantFlaw(t, b, segment.SectionDictionary, "differs from the directory")
}
