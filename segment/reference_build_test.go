package segment_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"github.com/klauspost/compress/zstd"
)

// refEdit replaces parts of a file by other bytes; build stamps checksums over
// them. A nil part stays what the file says.
type refEdit struct {
	header    []byte         // 56 bytes, before its checksum
	front     []byte         // the front records; each one that can be found gets its checksum
	heads     map[int][]byte // of frames, before their checksums
	directory []byte         // before compression
	packed    []byte         // the directory as it lies
	footer    []byte         // 120 bytes, before its checksum
	chunks    []byte         // all frames and blocks; each frame that can be found gets its checksum
}

// build puts the file together again.
func (f *refFile) build() []byte { return f.edit(refEdit{}) }

// edit builds the file with parts replaced: handles, sums that follow, and all
// checksums are made to fit, so that a reader goes as deep as the parts let it.
func (f *refFile) edit(e refEdit) []byte {
	id := f.footer.id
	front := e.front
	if front == nil {
		for _, r := range f.records {
			front = append(front, r.kind, r.zero)
			front = binary.LittleEndian.AppendUint16(front, r.index)
			front = binary.LittleEndian.AppendUint32(front, uint32(len(r.body)))
			front = append(append(front, r.body...), make([]byte, 8)...)
		}
	}
	front = stampRecords(id, front)
	f.header.front, f.footer.front = uint64(len(front)), uint64(len(front))
	f.header.id = id
	header := e.header
	if header == nil {
		header = binary.LittleEndian.AppendUint64(f.header.append(nil, "\x89SEG\r\n\x1a\n"), f.header.front)
	}
	out := stamp(header)
	out = append(out, front...)
	start := len(out)
	for i := range f.chunks {
		out = f.appendChunk(out, i, e.heads[i])
	}
	if e.chunks != nil {
		out = append(out[:start], f.stampFrames(e.chunks)...)
	}
	t := &f.footer
	t.dirOffset = uint64(len(out))
	packed := e.packed
	if packed == nil {
		packed = f.packDirectory(e.directory)
	}
	t.dirLen, t.dirSum = uint64(len(packed)), xxh(id[:], packed)
	out = append(out, packed...)
	footer := e.footer
	if footer == nil {
		footer = t.append(nil)
	}
	return append(out, stamp(footer)...)
}

func stamp(b []byte) []byte { return binary.LittleEndian.AppendUint64(slices.Clip(b), xxh(b)) }

func (h *refHeader) append(dst []byte, magic string) []byte {
	dst = append(dst, magic...)
	for _, v := range []uint32{h.version, h.required, h.ignorable, h.zero} {
		dst = binary.LittleEndian.AppendUint32(dst, v)
	}
	return binary.LittleEndian.AppendUint64(append(dst, h.id[:]...), h.firstRow)
}

func (t *refFooter) append(dst []byte) []byte {
	dst = t.refHeader.append(dst, "SEGEND\r\n")
	for _, v := range []uint64{t.rows, t.front, t.dirOffset, t.dirLen, t.dirSum} {
		dst = binary.LittleEndian.AppendUint64(dst, v)
	}
	return append(dst, t.root[:]...)
}

// stampRecords sets the checksum of every record as far as they can be followed.
func stampRecords(id [16]byte, b []byte) []byte {
	b = slices.Clone(b)
	for off := 0; len(b)-off >= 16; {
		n := int(binary.LittleEndian.Uint32(b[off+4:]))
		if n > len(b)-off-16 {
			break
		}
		binary.LittleEndian.PutUint64(b[off+8+n:], xxh(id[:], b[off:off+8+n]))
		off += 16 + n
	}
	return b
}

// appendChunk appends chunk i; the directory takes over its lengths and checksum.
func (f *refFile) appendChunk(out []byte, i int, head []byte) []byte {
	c := &f.chunks[i]
	var blocks []byte
	var sums [][]byte
	lens := make([]uint64, len(c.blocks))
	for k, b := range c.blocks {
		if b == nil {
			continue
		}
		start := len(blocks)
		blocks = binary.AppendUvarint(append(blocks, b.codec), b.raw)
		blocks = append(blocks, b.stored...)
		sum := binary.LittleEndian.AppendUint64(nil, blockSum(f.footer.id, b.column, b.number, c.first, blocks[start:]))
		sums = append(sums, sum)
		blocks = append(blocks, sum...)
		lens[k] = uint64(len(blocks) - start)
	}
	if head == nil {
		head = binary.AppendUvarint(binary.AppendUvarint([]byte("CHNK"), c.first), c.rows)
		for _, n := range lens {
			head = binary.AppendUvarint(head, n)
		}
	}
	c.sum = xxh(append([][]byte{f.footer.id[:], head}, sums...)...)
	f.dir.rows[i], f.dir.lens[i], f.dir.sums[i] = c.rows, lens, c.sum
	return append(binary.LittleEndian.AppendUint64(append(out, head...), c.sum), blocks...)
}

// stampFrames sets the checksums of frames and blocks wherever a frame can be read,
// as a search would find them.
func (f *refFile) stampFrames(b []byte) []byte {
	b = slices.Clone(b)
	id := f.footer.id
	type place struct{ column, number int }
	var places []place
	for i, l := range f.layout {
		for j := range l.blocks {
			places = append(places, place{i, j})
		}
	}
	next := func(off *int) (uint64, bool) {
		v, n := binary.Uvarint(b[*off:])
		*off += max(n, 0)
		return v, n > 0
	}
	for off := 0; off+4 < len(b); off++ {
		if string(b[off:off+4]) != "CHNK" {
			continue
		}
		at := off + 4
		first, ok := next(&at)
		_, ok2 := next(&at)
		var lens []uint64
		for len(lens) < len(places) && ok && ok2 {
			var n uint64
			if n, ok = next(&at); ok {
				lens = append(lens, n)
			}
		}
		end := uint64(at + 8)
		sums := [][]byte{id[:], b[off:at]}
		for k, n := range lens {
			if n < 10 || n > uint64(len(b)) || end+n > uint64(len(b)) {
				continue
			}
			sum := b[end+n-8 : end+n]
			binary.LittleEndian.PutUint64(sum, blockSum(id, places[k].column, places[k].number, first, b[end:end+n-8]))
			sums = append(sums, sum)
			end += n
		}
		if at+8 <= len(b) {
			binary.LittleEndian.PutUint64(b[at:], xxh(sums...))
		}
	}
	return b
}

// packDirectory packs raw, or what the directory says.
func (f *refFile) packDirectory(raw []byte) []byte {
	d := &f.dir
	if raw == nil {
		raw = d.append(nil)
	}
	if bytes.Equal(raw, d.raw) {
		return d.packed
	}
	head := binary.AppendUvarint([]byte{d.codec}, uint64(len(raw)))
	if d.codec == 0 {
		return append(head, raw...)
	}
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithEncoderCRC(false), zstd.WithSingleSegment(true))
	if err != nil {
		panic(err)
	}
	return z.EncodeAll(raw, head)
}

func (d *refDirectory) append(b []byte) []byte {
	b = appendBytes(b, []byte(d.table))
	b = appendBytes(b, d.schema)
	b = appendBytes(b, d.layout)
	b = binary.AppendUvarint(b, uint64(len(d.ids)))
	for _, id := range d.ids {
		b = append(b, id...)
	}
	b = append(b, d.copied)
	for i, x := range d.dictionaries {
		b = appendBytes(append(b, d.kinds[i]), x)
	}
	for _, s := range []string{d.policy, d.trials, d.encoder} {
		b = appendBytes(b, []byte(s))
	}
	b = binary.AppendUvarint(b, uint64(len(d.rows)))
	for i, rows := range d.rows {
		b = binary.AppendUvarint(b, rows)
		for _, n := range d.lens[i] {
			b = binary.AppendUvarint(b, n)
		}
	}
	for _, s := range d.sums {
		b = binary.LittleEndian.AppendUint64(b, s)
	}
	for _, r := range d.runs {
		b = append(b, r...)
	}
	for _, s := range d.stats {
		for _, v := range s {
			b = binary.AppendUvarint(b, v)
		}
	}
	b = binary.AppendUvarint(b, uint64(len(d.keys)))
	for i, k := range d.keys {
		b = appendBytes(appendBytes(b, []byte(k)), d.values[i])
	}
	return b
}

// setDictionary replaces a dictionary wherever the file has or names it, and the
// ID with it.
func (f *refFile) setDictionary(i int, kind byte, b []byte) {
	sum := sha256.Sum256(b)
	f.records[3+i].body = append([]byte{kind}, b...)
	f.dir.ids[i] = sum[:]
	if f.dir.copied == 1 {
		f.dir.kinds[i], f.dir.dictionaries[i] = kind, b
	}
	f.footer.id = f.identify()
}
