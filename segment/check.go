package segment

import (
	"bytes"
	"errors"

	"github.com/segstore/segstore/codec"
	"github.com/segstore/segstore/segment/merkle"
)

// checker verifies one chunk after another.
type checker struct {
	a       *anatomy
	columns []checkedColumn
	blocks  int           // of a chunk
	decoder *chunkDecoder // nil where content is not looked at
	flaws   []*Flaw       // found so far
	expect  []byte        // memory, used again
	hashed  []byte
}

type checkedColumn struct {
	name   string
	blocks int
}

func (k *checker) name(f *front) {
	for i, c := range f.layout.Columns {
		k.columns = append(k.columns, checkedColumn{f.schema.Columns[i].Name, len(c.Blocks)})
		k.blocks += len(c.Blocks)
	}
}

func (k *checker) flaw(p Place, err error) { k.flaws = append(k.flaws, &Flaw{Place: p, Err: err}) }

// piece verifies the checksums of a chunk.
func (k *checker) piece(p *piece) (whole bool) {
	before := len(k.flaws)
	id := k.a.id()
	off, number := p.frame.size, 0
	for i, col := range k.columns {
		for b := range col.blocks {
			n := int(p.frame.lens[number])
			number++
			if n == 0 {
				continue
			}
			if err := checkBlock(id, i, b, p.frame.first, p.bytes[off:off+n]); err != nil {
				pl := p.place(SectionBlock)
				pl.Column, pl.Block, pl.Offset, pl.Length = col.name, b, p.off+int64(off), int64(n)
				k.flaw(pl, err)
			}
			off += n
		}
	}
	k.expect = appendFrame(k.expect[:0], p.frame.first, p.frame.rows, p.frame.lens, p.frame.sum)
	switch got := p.bytes[:p.frame.size]; {
	case string(got[:4]) != frameMagic:
		k.flaw(p.place(SectionFrame), errFrame)
	case !bytes.Equal(got, k.expect):
		k.flaw(p.place(SectionFrame), errors.New("frame differs from the directory"))
	case len(k.flaws) == before:
		var sum uint64
		if sum, k.hashed = p.sum(id, k.hashed); sum != p.frame.sum {
			k.flaw(p.place(SectionFrame), &sumError{sum, p.frame.sum})
		}
	}
	return len(k.flaws) == before
}

// decode decodes the values of a chunk; what is wrong is a flaw.
func (k *checker) decode(p *piece) bool {
	block, column, err := k.decoder.decode(p)
	if err == nil {
		return true
	}
	pl := p.place(SectionBlock)
	off := p.frame.size
	cc := &k.decoder.coder.columns[column]
	for _, n := range p.frame.lens[:cc.base+block] {
		off += int(n)
	}
	pl.Column, pl.Block, pl.Offset, pl.Length = cc.name, block, p.off+int64(off), int64(p.frame.lens[cc.base+block])
	k.flaw(pl, err)
	return false
}

// chunkDecoder decodes chunks and hashes their rows.
type chunkDecoder struct {
	coder   *coder // shared
	schema  Schema
	columns []columnBuf
	hasher  merkle.Hasher
	row     Row
}

func newChunkDecoder(a *anatomy, f *front, encodings []codec.Encoding, maxBlockBytes, workers int) (*chunkDecoder, error) {
	ro := ReaderOptions{Encodings: encodings, MaxBlockBytes: maxBlockBytes, Concurrency: workers}.withDefaults()
	if err := ro.validate(); err != nil {
		return nil, err
	}
	o := newCoderOptions(ro.Encodings, ro.Concurrency, 0)
	o.limit = ro.MaxBlockBytes
	c, err := newCoder(a.id(), f.schema, f.layout, f.dictionaries, o)
	if err != nil {
		return nil, sectionError(SectionLayout, headerSize, a.start()-headerSize, err)
	}
	return (&chunkDecoder{coder: c, schema: f.schema}).another(), nil
}

// another returns a decoder with memory of its own.
func (d *chunkDecoder) another() *chunkDecoder {
	n := len(d.schema.Columns)
	return &chunkDecoder{coder: d.coder, schema: d.schema, columns: make([]columnBuf, n), row: make(Row, n)}
}

// decode decodes the columns of a chunk, of which nothing but the frame has been
// checked.
func (d *chunkDecoder) decode(p *piece) (block, column int, err error) {
	off, room := p.frame.size, d.coder.room()
	for i := range d.columns {
		d.columns[i].trim()
		cc := &d.coder.columns[i]
		lens := p.frame.lens[cc.base : cc.base+len(cc.blocks)]
		if block, err = d.coder.decodeColumn(&d.columns[i], i, p.frame.first, p.frame.rows, p.bytes[off:], lens, &room); err == nil {
			err = checkValues(&d.schema.Columns[i], &d.columns[i].values, p.frame.rows)
		}
		if err != nil {
			return block, i, err
		}
		for _, n := range lens {
			off += int(n)
		}
	}
	return 0, 0, nil
}

// hash adds the leaves of the chunk that was decoded.
func (d *chunkDecoder) hash(h *hashed, p *piece) {
	h.spans = append(h.spans, span{p.frame.first, p.frame.rows})
	for n := range p.frame.rows {
		for i := range d.row {
			d.row[i] = d.columns[i].values.At(n)
		}
		h.leaves = append(h.leaves, d.hasher.Leaf(d.row))
	}
	for len(h.raw) < len(d.columns) {
		h.raw = append(h.raw, 0)
	}
	for i := range d.columns {
		h.raw[i] += uint64(len(d.columns[i].values.Data))
	}
}
