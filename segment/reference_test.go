package segment_test

import (
	"encoding/binary"
	"fmt"

	"github.com/cespare/xxhash/v2"
)

// What follows reads and writes segments by FORMAT.md alone: it shares no code
// with the package, so that both cannot be wrong in the same way. It is not
// careful: where a file is no segment it panics, and parseReference says so.

type refFile struct {
	header  refHeader
	records []refRecord
	schema  []refColumn
	layout  []refLayout
	chunks  []refChunk
	dir     refDirectory
	footer  refFooter
}

type refHeader struct {
	version, required, ignorable, zero uint32
	id                                 [16]byte
	firstRow, front                    uint64
}

type refRecord struct {
	kind, zero byte
	index      uint16
	body       []byte
}

type refColumn struct {
	name   string
	kind   byte
	width  uint64
	format string
}

type refLayout struct {
	encoding string
	blocks   []refBlockLayout
}

type refBlockLayout struct {
	streams    uint64
	codec      string
	dictionary uint64 // plus one
}

type refChunk struct {
	first, rows uint64
	blocks      []*refBlock // nil where not stored
	sum         uint64
}

type refBlock struct {
	column, number int
	codec          byte
	raw            uint64
	stored         []byte
}

type refDirectory struct {
	codec        byte
	table        string
	schema       []byte
	layout       []byte
	ids          [][]byte
	copied       byte
	kinds        []byte
	dictionaries [][]byte
	policy       string
	trials       string
	encoder      string
	rows         []uint64
	lens         [][]uint64
	sums         []uint64
	runs         [][]byte
	stats        [][]uint64
	keys         []string
	values       [][]byte

	raw, packed []byte // before compression, and as it lay in the file
}

type refFooter struct {
	refHeader                 // version to front; rows are apart
	rows                      uint64
	dirOffset, dirLen, dirSum uint64
	root                      [32]byte
}

// refReader reads fields one after another, and notes what each of them is.
type refReader struct {
	b    []byte
	off  int
	note func(off, n int, what string)
}

func (r *refReader) raw(n uint64, what string, args ...any) []byte {
	if n > uint64(len(r.b)-r.off) {
		panic(fmt.Sprintf("%s: %d bytes at %d of %d", what, n, r.off, len(r.b)))
	}
	b := r.b[r.off : r.off+int(n)]
	if r.note != nil {
		r.note(r.off, int(n), fmt.Sprintf(what, args...))
	}
	r.off += int(n)
	return b
}

func (r *refReader) byte(what string, args ...any) byte { return r.raw(1, what, args...)[0] }

func (r *refReader) u16(what string, args ...any) uint16 {
	return binary.LittleEndian.Uint16(r.raw(2, what, args...))
}

func (r *refReader) u32(what string, args ...any) uint32 {
	return binary.LittleEndian.Uint32(r.raw(4, what, args...))
}

func (r *refReader) u64(what string, args ...any) uint64 {
	return binary.LittleEndian.Uint64(r.raw(8, what, args...))
}

func (r *refReader) uvarint(what string, args ...any) uint64 {
	v, n := binary.Uvarint(r.b[r.off:])
	if n <= 0 || n > 1 && r.b[r.off+n-1] == 0 {
		panic(fmt.Sprintf("%s: no uvarint at %d", what, r.off))
	}
	r.raw(uint64(n), what, args...)
	return v
}

func (r *refReader) bytes(what string, args ...any) []byte {
	what = fmt.Sprintf(what, args...)
	n := r.uvarint("length of %s", what)
	if n == 0 {
		return nil
	}
	return r.raw(n, "%s", what)
}

func (r *refReader) sum(want uint64, what string, args ...any) uint64 {
	what = fmt.Sprintf(what, args...)
	if got := r.u64("checksum of %s", what); got != want {
		panic(fmt.Sprintf("%s: checksum %016x, computed %016x", what, got, want))
	}
	return want
}

func (r *refReader) check(ok bool, what string, args ...any) {
	if !ok {
		panic(fmt.Sprintf("at %d: ", r.off) + fmt.Sprintf(what, args...))
	}
}

func xxh(parts ...[]byte) uint64 {
	d := xxhash.New()
	for _, p := range parts {
		_, _ = d.Write(p) // never fails
	}
	return d.Sum64()
}

// parseReference takes a whole segment apart and checks all of its checksums.
func parseReference(b []byte, note func(off, n int, what string)) (f *refFile, err error) {
	defer func() {
		if p := recover(); p != nil {
			f, err = nil, fmt.Errorf("reference: %v", p)
		}
	}()
	f = &refFile{}
	r := &refReader{b: b, note: note}
	f.parseHeader(r)
	f.parseFront(r)
	foot := &refReader{b: b, off: len(b) - 128}
	f.parseFooter(foot)
	for uint64(r.off) < f.footer.dirOffset {
		f.parseChunk(r)
	}
	f.parseDirectory(r)
	f.parseFooter(r)
	r.check(r.off == len(b), "bytes behind the footer")
	f.checkAgreement(r)
	return f, nil
}

func (h *refHeader) parse(r *refReader, magic string) {
	r.check(string(r.raw(8, "magic")) == magic, "magic")
	h.version = r.u32("version")
	h.required = r.u32("required features")
	h.ignorable = r.u32("ignorable features")
	h.zero = r.u32("zero")
	h.id = [16]byte(r.raw(16, "ID"))
	h.firstRow = r.u64("first row")
}

func (f *refFile) parseHeader(r *refReader) {
	h := &f.header
	h.parse(r, "\x89SEG\r\n\x1a\n")
	h.front = r.u64("bytes of the front records")
	r.sum(xxh(r.b[:56]), "the header")
}

func (f *refFile) parseFooter(r *refReader) {
	t := &f.footer
	start := r.off
	t.refHeader.parse(r, "SEGEND\r\n")
	t.rows = r.u64("rows")
	t.front = r.u64("bytes of the front records")
	t.dirOffset = r.u64("offset of the directory")
	t.dirLen = r.u64("length of the directory")
	t.dirSum = r.u64("checksum of the directory")
	t.root = [32]byte(r.raw(32, "content root"))
	r.sum(xxh(r.b[start:start+120]), "the footer")
}

func (f *refFile) parseFront(r *refReader) {
	end := r.off + int(f.header.front)
	for r.off < end {
		start := r.off
		name := []string{"", "table", "schema", "layout", "dictionary"}[r.b[r.off]]
		rec := refRecord{kind: r.byte("kind: %s", name), zero: r.byte("zero"), index: r.u16("index")}
		n := r.u32("length of the body")
		body := r.off
		if r.note != nil && (rec.kind == 2 || rec.kind == 3) {
			sub := &refReader{b: r.b[:r.off+int(n)], off: r.off, note: r.note}
			f.parseBody(sub, rec.kind)
			r.off += int(n)
		} else {
			r.raw(uint64(n), "%s", name)
		}
		rec.body = r.b[body:r.off]
		r.sum(xxh(f.header.id[:], r.b[start:r.off]), "the record")
		f.records = append(f.records, rec)
	}
	f.parseBody(&refReader{b: f.records[1].body}, 2)
	f.parseBody(&refReader{b: f.records[2].body}, 3)
}

func (f *refFile) parseBody(r *refReader, kind byte) {
	if kind == 2 {
		f.schema = nil
		for range r.uvarint("columns") {
			name := string(r.bytes("name"))
			f.schema = append(f.schema, refColumn{name, r.byte("kind of %s", name), r.uvarint("width"), string(r.bytes("format"))})
		}
	} else {
		f.layout = nil
		for range r.uvarint("columns") {
			l := refLayout{encoding: string(r.bytes("encoding"))}
			for range r.uvarint("blocks") {
				l.blocks = append(l.blocks, refBlockLayout{r.uvarint("streams in the block"), string(r.bytes("codec")), r.uvarint("dictionary plus one")})
			}
			f.layout = append(f.layout, l)
		}
	}
	r.check(r.off == len(r.b), "bytes behind the record")
}

func (f *refFile) parseChunk(r *refReader) {
	start, number := r.off, len(f.chunks)
	r.check(string(r.raw(4, "chunk %d: magic", number)) == "CHNK", "magic")
	c := refChunk{first: r.uvarint("first row"), rows: r.uvarint("rows")}
	var lens []uint64
	for i, l := range f.layout {
		for j := range l.blocks {
			lens = append(lens, r.uvarint("length of block %d of %s", j, f.schema[i].name))
		}
	}
	head := r.b[start:r.off]
	sum := r.off
	want := [][]byte{f.header.id[:], head}
	r.off += 8
	blocks := r.off
	for _, n := range lens {
		if blocks += int(n); n > 0 {
			want = append(want, r.b[blocks-8:blocks])
		}
	}
	r.off = sum
	c.sum = r.sum(xxh(want...), "the frame")
	for i, l := range f.layout {
		for j := range l.blocks {
			n := lens[0]
			if lens = lens[1:]; n == 0 {
				c.blocks = append(c.blocks, nil)
				continue
			}
			start := r.off
			b := &refBlock{column: i, number: j, codec: r.byte("codec"), raw: r.uvarint("bytes before compression")}
			b.stored = r.raw(n-8-uint64(r.off-start), "block %d of %s", j, f.schema[i].name)
			r.sum(blockSum(f.header.id, i, j, c.first, r.b[start:r.off]), "the block")
			c.blocks = append(c.blocks, b)
		}
	}
	f.chunks = append(f.chunks, c)
}

func blockSum(id [16]byte, column, number int, first uint64, b []byte) uint64 {
	p := binary.LittleEndian.AppendUint32(nil, uint32(column))
	p = binary.LittleEndian.AppendUint32(p, uint32(number))
	p = binary.LittleEndian.AppendUint64(p, first)
	return xxh(id[:], p, b)
}

func (f *refFile) parseDirectory(r *refReader) {
	start := r.off
	d := &f.dir
	d.codec = r.byte("codec of the directory")
	n := r.uvarint("bytes before compression")
	end := int(f.footer.dirOffset + f.footer.dirLen)
	packed := r.b[r.off:end]
	sub := &refReader{b: r.b[:end], off: r.off, note: r.note}
	if d.codec != 0 {
		raw := decompress(d.codec, packed, nil)
		sub = &refReader{b: raw}
	}
	r.check(len(sub.b)-sub.off == int(n), "directory of %d bytes", len(sub.b)-sub.off)
	d.raw, d.packed = sub.b[sub.off:], r.b[start:end]
	d.parse(sub, f)
	r.off = end
	r.check(xxh(f.header.id[:], r.b[start:end]) == f.footer.dirSum, "checksum of the directory")
}

func (d *refDirectory) parse(r *refReader, f *refFile) {
	d.table = string(r.bytes("table"))
	d.schema = r.bytes("schema")
	d.layout = r.bytes("layout")
	for i := range r.uvarint("dictionaries") {
		d.ids = append(d.ids, r.raw(32, "SHA-256 of dictionary %d", i))
	}
	if d.copied = r.byte("whether they are here too"); d.copied == 1 {
		for i := range d.ids {
			d.kinds = append(d.kinds, r.byte("kind of dictionary %d", i))
			d.dictionaries = append(d.dictionaries, r.bytes("dictionary %d", i))
		}
	}
	d.policy = string(r.bytes("policy"))
	d.trials = string(r.bytes("trials"))
	d.encoder = string(r.bytes("encoder"))
	blocks := 0
	for _, l := range f.layout {
		blocks += len(l.blocks)
	}
	for i := range r.uvarint("chunks") {
		d.rows = append(d.rows, r.uvarint("chunk %d: rows", i))
		var lens []uint64
		for range blocks {
			lens = append(lens, r.uvarint("length of a block"))
		}
		d.lens = append(d.lens, lens)
	}
	for i := range d.rows {
		d.sums = append(d.sums, r.u64("checksum of the frame of chunk %d", i))
	}
	for i := range (f.footer.rows + 255) / 256 {
		d.runs = append(d.runs, r.raw(32, "node of run %d", i))
	}
	for i, l := range f.layout {
		stats := []uint64{r.uvarint("%s: bytes of its values", f.schema[i].name)}
		for _, bl := range l.blocks {
			for range bl.streams {
				stats = append(stats, r.uvarint("bytes of a stream"))
			}
		}
		for range l.blocks {
			stats = append(stats, r.uvarint("bytes before compression"), r.uvarint("bytes in the file"), r.uvarint("blocks"), r.uvarint("kept raw"))
		}
		d.stats = append(d.stats, stats)
	}
	for range r.uvarint("entries of metadata") {
		d.keys = append(d.keys, string(r.bytes("key")))
		d.values = append(d.values, r.bytes("value"))
	}
	r.check(r.off == len(r.b), "bytes behind the directory")
}
