package segment_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"

	"github.com/segstore/segstore/segment"
)

// identify computes the ID of what the directory says.
func (f *refFile) identify() [16]byte {
	d := &f.dir
	b := binary.LittleEndian.AppendUint32(nil, 1)
	b = appendBytes(b, []byte(d.table))
	b = appendBytes(b, d.schema)
	b = binary.LittleEndian.AppendUint64(b, f.footer.firstRow)
	b = appendBytes(b, []byte(d.policy))
	b = binary.AppendUvarint(b, uint64(len(d.ids)))
	for _, id := range d.ids {
		b = append(b, id...)
	}
	sum := sha256.Sum256(b)
	return [16]byte(sum[:16])
}

func appendBytes(dst, b []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(b))), b...)
}

// checkAgreement checks that the parts of the file say the same.
func (f *refFile) checkAgreement(r *refReader) {
	d := &f.dir
	r.check(f.header == f.footer.refHeader, "header %+v, footer %+v", f.header, f.footer.refHeader)
	r.check(f.header.version == 1 && f.header.required == 0 && f.header.ignorable == 0 && f.header.zero == 0, "header %+v", f.header)
	r.check(f.identify() == f.header.id, "ID")
	r.check(string(f.records[0].body) == d.table && bytes.Equal(f.records[1].body, d.schema) && bytes.Equal(f.records[2].body, d.layout), "front and directory")
	r.check(len(f.records) == 3+len(d.ids), "dictionaries")
	for i, rec := range f.records {
		r.check(rec.zero == 0 && int(rec.kind) == min(i+1, 4) && int(rec.index) == max(i-3, 0), "record %d", i)
		if i < 3 {
			continue
		}
		sum := sha256.Sum256(rec.body[1:])
		r.check(bytes.Equal(sum[:], d.ids[i-3]), "dictionary %d", i-3)
		if d.copied == 1 {
			r.check(rec.body[0] == d.kinds[i-3] && bytes.Equal(rec.body[1:], d.dictionaries[i-3]), "copy of dictionary %d", i-3)
		}
	}
	r.check(len(d.rows) == len(f.chunks), "chunks")
	next := f.header.firstRow
	for i, c := range f.chunks {
		r.check(c.first == next && c.rows == d.rows[i] && c.sum == d.sums[i], "chunk %d", i)
		for k, b := range c.blocks {
			r.check((b == nil) == (d.lens[i][k] == 0), "block %d of chunk %d", k, i)
		}
		next += c.rows
	}
	r.check(next == f.header.firstRow+f.footer.rows, "rows")
}

// values decodes all rows.
func (f *refFile) values() (rows []segment.Row, err error) {
	defer func() {
		if p := recover(); p != nil {
			rows, err = nil, fmt.Errorf("reference: %v", p)
		}
	}()
	for _, c := range f.chunks {
		columns := make([][][]byte, len(f.layout))
		k := 0
		for i, l := range f.layout {
			var streams [][]byte
			for j, bl := range l.blocks {
				b := c.blocks[k+j]
				if b == nil {
					streams = append(streams, make([][]byte, bl.streams)...)
					continue
				}
				var dictionary []byte
				if bl.dictionary > 0 {
					dictionary = f.records[2+bl.dictionary].body
				}
				raw := decompress(b.codec, b.stored, dictionary)
				if uint64(len(raw)) != b.raw {
					panic(fmt.Sprintf("block of %d bytes, recorded %d", len(raw), b.raw))
				}
				streams = append(streams, splitReference(raw, int(bl.streams))...)
			}
			columns[i] = joinReference(l.encoding, streams, int(c.rows))
			k += len(l.blocks)
		}
		for n := range c.rows {
			row := make(segment.Row, len(columns))
			for i := range columns {
				row[i] = columns[i][n]
			}
			rows = append(rows, row)
		}
	}
	return rows, nil
}

func splitReference(raw []byte, n int) [][]byte {
	r := &refReader{b: raw}
	lens := make([]uint64, n-1)
	for i := range lens {
		lens[i] = r.uvarint("length of a stream")
	}
	var streams [][]byte
	for _, l := range lens {
		streams = append(streams, r.raw(l, "stream"))
	}
	return append(streams, r.b[r.off:])
}

// joinReference is the encodings of FORMAT.md.
func joinReference(encoding string, streams [][]byte, rows int) [][]byte {
	values := make([][]byte, rows)
	switch encoding {
	case "plain/1":
		lengths, r := streams[0], &refReader{b: streams[1]}
		for i := range values {
			n := uint64(0)
			for w := range len(lengths) / rows {
				n |= uint64(lengths[w*rows+i]) << (8 * w)
			}
			if len(lengths) == 0 {
				n = uint64(len(streams[1]) / rows)
			}
			values[i] = r.raw(n, "value")
		}
		r.check(r.off == len(r.b), "plain")
	case "fixed/1":
		r := &refReader{b: streams[0]}
		for i := range values {
			values[i] = r.raw(uint64(len(r.b)/rows), "value")
		}
		r.check(r.off == len(r.b), "fixed")
	case "uint/1":
		for i, n := range numbersReference(streams[0], rows) {
			values[i] = binary.LittleEndian.AppendUint64(nil, n)
		}
	default:
		panic("encoding " + encoding)
	}
	return values
}

func (r *refReader) varint(what string) uint64 { // zigzag
	u := r.uvarint("%s", what)
	if u%2 == 1 {
		return -(u/2 + 1)
	}
	return u / 2
}

func numbersReference(stream []byte, rows int) []uint64 {
	numbers := make([]uint64, rows)
	if len(stream) == 0 {
		return numbers
	}
	r := &refReader{b: stream}
	packed := func(numbers []uint64) {
		for len(numbers) > 0 {
			group := numbers[:min(64, len(numbers))]
			numbers = numbers[len(group):]
			smallest, width := r.varint("smallest"), int(r.byte("width"))
			bits := r.raw(uint64(len(group)*width+7)/8, "group")
			for i := range group {
				group[i] = smallest
				for w := range width {
					at := i*width + w
					group[i] += uint64(bits[at/8]>>(at%8)&1) << w
				}
			}
		}
	}
	switch mode := r.byte("mode"); mode {
	case 0:
		for i := range numbers {
			numbers[i] = r.u64("number")
		}
	case 1:
		first, step := r.uvarint("first"), r.varint("step")
		for i := range numbers {
			numbers[i] = first + uint64(i)*step
		}
	case 2:
		packed(numbers)
	case 3:
		numbers[0] = r.uvarint("first")
		packed(numbers[1:])
		for i := 1; i < len(numbers); i++ {
			numbers[i] += numbers[i-1]
		}
	default:
		panic("mode")
	}
	r.check(r.off == len(r.b), "uint")
	return numbers
}

// naiveRoot is MTH of RFC 6962, section 2.1, as it stands there.
func naiveRoot(rows []segment.Row) [32]byte {
	if len(rows) == 1 {
		leaf := []byte{0}
		for _, v := range rows[0] {
			leaf = appendBytes(leaf, v)
		}
		return sha256.Sum256(leaf)
	}
	k := 1
	for 2*k < len(rows) {
		k *= 2
	}
	left, right := naiveRoot(rows[:k]), naiveRoot(rows[k:])
	return sha256.Sum256(append(append([]byte{1}, left[:]...), right[:]...))
}

// decompress decodes a block by its codec; dictionary is a dictionary record's body.
func decompress(codec byte, b, dictionary []byte) []byte {
	var out []byte
	var err error
	switch codec {
	case 0:
		return b
	case 1:
		out, err = s2.Decode(nil, b)
	case 2:
		o := []zstd.DOption{zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(1 << 30)}
		if len(dictionary) > 0 && dictionary[0] == 1 {
			o = append(o, zstd.WithDecoderDicts(dictionary[1:]))
		} else if len(dictionary) > 0 {
			o = append(o, zstd.WithDecoderDictRaw(0, dictionary[1:]))
		}
		var d *zstd.Decoder
		if d, err = zstd.NewReader(nil, o...); err == nil {
			out, err = d.DecodeAll(b, nil)
			d.Close()
		}
	default:
		err = errors.New("unknown codec")
	}
	if err != nil {
		panic(fmt.Sprintf("codec %d: %v: %s", codec, err, hex.EncodeToString(b[:min(len(b), 64)])))
	}
	return out
}

// rootOfNodes is naiveRoot over nodes, of runs or rows.
func rootOfNodes(nodes [][]byte) (root [32]byte) {
	if len(nodes) < 2 {
		copy(root[:], bytes.Join(nodes, nil))
		return root
	}
	k := 1
	for 2*k < len(nodes) {
		k *= 2
	}
	left, right := rootOfNodes(nodes[:k]), rootOfNodes(nodes[k:])
	return sha256.Sum256(append(append([]byte{1}, left[:]...), right[:]...))
}
