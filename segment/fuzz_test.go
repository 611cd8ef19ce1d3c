package segment_test

import (
	"bytes"
	"encoding/binary"
	"testing"
)

// Each target replaces one part of a whole segment, then stamps every checksum
// over it, and over what follows from it, so that reading goes as deep as the part
// lets it. The seeds are the parts as they are.

// fuzzBases returns the segments and a function that takes one apart.
func fuzzBases(f *testing.F) ([]base, func(t *testing.T, i uint8) *refFile) {
	all := bases(f)
	return all, func(t *testing.T, i uint8) *refFile {
		r, err := parseReference(all[int(i)%len(all)].file, nil)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
}

func parts(f *testing.F, all []base, add func(i uint8, r *refFile)) {
	for i, b := range all {
		r, err := parseReference(b.file, nil)
		if err != nil {
			f.Fatal(err)
		}
		add(uint8(i), r)
	}
}

// fit returns b with n bytes.
func fit(b []byte, n int) []byte { return append(bytes.Clone(b), make([]byte, n)...)[:n] }

func FuzzHeader(f *testing.F) {
	all, take := fuzzBases(f)
	for i, b := range all {
		f.Add(uint8(i), b.file[:56], false)
		f.Add(uint8(i), b.file[:56], true)
	}
	f.Fuzz(func(t *testing.T, i uint8, header []byte, follow bool) {
		r, header := take(t, i), fit(header, 56)
		if follow { // the footer says the same, and all sums are of the new ID
			r.footer.refHeader.version = binary.LittleEndian.Uint32(header[8:])
			r.footer.required, r.footer.ignorable = binary.LittleEndian.Uint32(header[12:]), binary.LittleEndian.Uint32(header[16:])
			r.footer.id = [16]byte(header[24:40])
			r.footer.firstRow = binary.LittleEndian.Uint64(header[40:])
		}
		exercise(t, r.edit(refEdit{header: header}))
	})
}

func FuzzFooter(f *testing.F) {
	all, take := fuzzBases(f)
	for i, b := range all {
		f.Add(uint8(i), b.file[len(b.file)-128:][:120])
	}
	f.Fuzz(func(t *testing.T, i uint8, footer []byte) {
		exercise(t, take(t, i).edit(refEdit{footer: fit(footer, 120)}))
	})
}

// In FuzzFrontRecords the directory can take over what the records say, and the ID
// follows; or the end of the file is lost, and nothing but the front says how to
// read it.
func FuzzFrontRecords(f *testing.F) {
	all, take := fuzzBases(f)
	parts(f, all, func(i uint8, r *refFile) {
		front := all[i].file[64 : 64+r.header.front]
		for mode := range uint8(3) {
			f.Add(i, front, mode)
		}
	})
	f.Fuzz(func(t *testing.T, i uint8, front []byte, mode uint8) {
		r := take(t, i)
		if mode%3 == 1 {
			r.takeFront(front)
		}
		b := r.edit(refEdit{front: front})
		if mode%3 == 2 {
			b = b[:len(b)-20]
		}
		exercise(t, b)
	})
}

// takeFront sets in the directory what front records say, and the ID that follows.
func (f *refFile) takeFront(front []byte) {
	for off := 0; len(front)-off >= 16; {
		n := int(binary.LittleEndian.Uint32(front[off+4:]))
		if n > len(front)-off-16 {
			break
		}
		body := front[off+8:][:n]
		switch front[off] {
		case 1:
			f.dir.table = string(body)
		case 2:
			f.dir.schema = body
		case 3:
			f.dir.layout = body
		case 4:
			if i := int(binary.LittleEndian.Uint16(front[off+2:])); i < len(f.dir.ids) && n > 0 {
				f.setDictionary(i, body[0], bytes.Clone(body[1:]))
			}
		}
		off += 16 + n
	}
	f.footer.id = f.identify()
}

func FuzzFrame(f *testing.F) {
	all, take := fuzzBases(f)
	parts(f, all, func(i uint8, r *refFile) {
		for c := range min(len(r.chunks), 3) {
			head := binary.AppendUvarint(binary.AppendUvarint([]byte("CHNK"), r.chunks[c].first), r.chunks[c].rows)
			for _, n := range r.dir.lens[c] {
				head = binary.AppendUvarint(head, n)
			}
			f.Add(i, uint8(c), head, false)
			f.Add(i, uint8(c), head, true)
		}
	})
	f.Fuzz(func(t *testing.T, i, chunk uint8, head []byte, lost bool) {
		r := take(t, i)
		b := r.edit(refEdit{heads: map[int][]byte{int(chunk) % len(r.chunks): head}})
		if lost { // the directory: frames must be found
			b[r.footer.dirOffset]++
		}
		exercise(t, b)
	})
}

// In FuzzBlock the bytes are a block's stored ones, under another codec and length
// if so said; or, raw, what it holds before compression, so that streams and
// encodings are reached.
func FuzzBlock(f *testing.F) {
	all, take := fuzzBases(f)
	parts(f, all, func(i uint8, r *refFile) {
		k := uint16(0)
		for c := range r.chunks[:min(len(r.chunks), 2)] {
			for n, b := range r.chunks[c].blocks {
				if b != nil {
					at := uint16(c*len(r.chunks[c].blocks) + n)
					f.Add(i, at, b.codec, b.raw, b.stored)
					var dictionary []byte
					if d := r.blockLayout(n).dictionary; d > 0 {
						dictionary = r.records[2+d].body
					}
					raw := decompress(b.codec, b.stored, dictionary)
					f.Add(i, at, uint8(0), uint64(len(raw)), raw)
				}
				k++
			}
		}
	})
	f.Fuzz(func(t *testing.T, i uint8, block uint16, codec uint8, raw uint64, stored []byte) {
		r := take(t, i)
		per := len(r.chunks[0].blocks)
		at := int(block) % (len(r.chunks) * per)
		b := r.chunks[at/per].blocks[at%per]
		if b == nil {
			b = &refBlock{}
			b.column, b.number = r.blockPlace(at % per)
			r.chunks[at/per].blocks[at%per] = b
		}
		if codec == 0 && len(stored) > 0 {
			raw = uint64(len(stored))
		}
		b.codec, b.raw, b.stored = codec, raw, stored
		exercise(t, r.edit(refEdit{}))
	})
}

// blockPlace returns the column of a chunk's block, and its number there.
func (f *refFile) blockPlace(k int) (column, number int) {
	for i, l := range f.layout {
		if k < len(l.blocks) {
			return i, k
		}
		k -= len(l.blocks)
	}
	return 0, 0
}

func (f *refFile) blockLayout(k int) refBlockLayout {
	c, n := f.blockPlace(k)
	return f.layout[c].blocks[n]
}

// In FuzzDirectory the bytes are the directory before compression; content root, ID
// and all sums under it follow from what it says, if it says it.
func FuzzDirectory(f *testing.F) {
	all, take := fuzzBases(f)
	parts(f, all, func(i uint8, r *refFile) {
		for mode := range uint8(4) {
			f.Add(i, r.dir.raw, mode)
		}
	})
	f.Fuzz(func(t *testing.T, i uint8, raw []byte, mode uint8) {
		r := take(t, i)
		r.dir.codec = mode & 2 // raw or zstd
		if mode&1 != 0 {
			d := &refDirectory{}
			if d.parseOr(raw, r) {
				r.footer.id = (&refFile{dir: *d, footer: r.footer}).identify()
				r.footer.root = rootOfNodes(d.runs)
			}
		}
		exercise(t, r.edit(refEdit{directory: raw}))
	})
}

// parseOr reads a directory and reports whether it is one.
func (d *refDirectory) parseOr(raw []byte, f *refFile) (ok bool) {
	defer func() { ok = recover() == nil }()
	d.parse(&refReader{b: raw}, f)
	return true
}

// FuzzPackedDirectory has the directory as it lies.
func FuzzPackedDirectory(f *testing.F) {
	all, take := fuzzBases(f)
	parts(f, all, func(i uint8, r *refFile) { f.Add(i, r.dir.packed) })
	f.Fuzz(func(t *testing.T, i uint8, packed []byte) {
		exercise(t, take(t, i).edit(refEdit{packed: packed}))
	})
}

// In FuzzDictionary the blocks stay what they were under another dictionary.
func FuzzDictionary(f *testing.F) {
	all, take := fuzzBases(f)
	parts(f, all, func(i uint8, r *refFile) {
		for _, rec := range r.records[3:] {
			f.Add(i, uint8(rec.index), rec.body[0], rec.body[1:])
			f.Add(i, uint8(rec.index), 3-rec.body[0], rec.body[1:])
		}
	})
	f.Fuzz(func(t *testing.T, i, number, kind uint8, b []byte) {
		r := take(t, i)
		if len(r.dir.ids) == 0 {
			t.Skip("no dictionary")
		}
		r.setDictionary(int(number)%len(r.dir.ids), kind, b)
		exercise(t, r.edit(refEdit{}))
	})
}

func FuzzReader(f *testing.F) {
	for _, b := range bases(f) {
		f.Add(b.file)
		f.Add(b.file[:len(b.file)/2])
	}
	f.Fuzz(func(t *testing.T, b []byte) { exercise(t, b) })
}

// FuzzRecover has all chunks of a file that has lost its end; or of one that has
// only lost its directory.
func FuzzRecover(f *testing.F) {
	all, take := fuzzBases(f)
	parts(f, all, func(i uint8, r *refFile) {
		chunks := all[i].file[64+r.header.front : r.footer.dirOffset]
		f.Add(i, chunks, false)
		f.Add(i, chunks, true)
	})
	f.Fuzz(func(t *testing.T, i uint8, chunks []byte, footer bool) {
		r := take(t, i)
		b := r.edit(refEdit{chunks: chunks})
		if footer {
			b[r.footer.dirOffset]++
		} else {
			b = b[:len(b)-20]
		}
		exercise(t, b)
	})
}
