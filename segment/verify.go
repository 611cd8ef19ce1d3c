package segment

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/segstore/segstore/codec"
	"github.com/segstore/segstore/segment/merkle"
)

// Depth is how deep Verify looks.
type Depth int

const (
	Checksums Depth = iota // every byte: all sections, and every checksum of every chunk
	Structure              // header, front records, directory, footer, and that they agree: no chunk is read
	Content                // Checksums, and every block is decoded, every row hashed, the content root computed again
)

// VerifyOptions says how a segment is verified. The zero value means defaults.
type VerifyOptions struct {
	Name      string           // put into flaws, as the file's name
	Depth     Depth            // default Checksums
	Encodings []codec.Encoding // beside those of package codec

	// MaxBlockBytes is as in ReaderOptions, for Content.
	MaxBlockBytes int

	// Progress, if not nil, is called now and then with the bytes done.
	Progress func(bytes int64)
}

// Verify yields every flaw of the segment that r holds in its first size bytes:
// of the front, the directory and the footer, then of the chunks, each in the order
// of the file. None means that it is whole, as deep as was looked.
// It does not stop at a flaw: what can still be read is verified on. An error
// (I/O, ErrVersion, ctx) is yielded last, with the zero Flaw.
//
// It reads front to back through a buffer of 256 KiB or one chunk. A file of a
// newer format is ErrVersion, not a flaw.
func Verify(ctx context.Context, r io.ReaderAt, size int64, o VerifyOptions) iter.Seq2[Flaw, error] {
	return func(yield func(Flaw, error) bool) {
		v := &verifier{o: o, yield: yield}
		if err := v.run(ctx, r, size); err != nil && !v.stopped {
			if o.Name != "" {
				err = fmt.Errorf("%s: %w", o.Name, err)
			}
			yield(Flaw{}, err)
		}
	}
}

type verifier struct {
	o       VerifyOptions
	yield   func(Flaw, error) bool
	stopped bool
	flaws   int
}

func (v *verifier) flaw(f *Flaw) bool {
	if v.stopped {
		return false
	}
	v.flaws++
	f.File = v.o.Name
	v.stopped = !v.yield(*f, nil)
	return !v.stopped
}

func (v *verifier) run(ctx context.Context, r io.ReaderAt, size int64) error {
	a, err := dissect(r, size, v.o.Encodings, func(f *Flaw) { v.flaw(f) })
	if err != nil || v.stopped || v.o.Depth == Structure {
		return err
	}
	if a.header == nil && a.footer == nil {
		return nil // not a segment, or nothing left to go by: said already
	}
	f, err := a.understood()
	if err != nil {
		if a.directory == nil {
			v.flaw(damage(SectionFile, 0, size, fmt.Errorf("chunks cannot be verified: %w", err)))
			return nil
		}
		f = nil // checksums need no dictionary
	}
	blocks := 0
	if f != nil {
		blocks = f.layout.blocks()
	} else {
		blocks = a.directory.layout.blocks()
	}
	var c *content
	if v.o.Depth == Content {
		if f == nil {
			v.flaw(damage(SectionFile, 0, size, fmt.Errorf("content cannot be verified: %w", err)))
		} else if c, err = newContent(a, f, v.o.Encodings, v.o.MaxBlockBytes); err != nil {
			var ce *CorruptionError
			if !errors.As(err, &ce) {
				return err
			}
			v.flaw(ce)
			c = nil
		}
	}
	check := &chunkCheck{a: a, v: v, content: c}
	check.name(f, a.directory)
	err = a.walk(blocks, v.flaw, func(p piece) (bool, error) {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		whole := check.piece(&p)
		if c != nil && whole {
			if check.decode(&p) && a.directory != nil { // else nothing bounds the rows, nor is there a hash to compare
				c.hash(&p)
			}
		}
		if v.o.Progress != nil {
			v.o.Progress(p.off + int64(len(p.bytes)))
		}
		return !v.stopped, nil
	})
	if err == nil && c != nil && !v.stopped {
		c.finish(v)
	}
	return err
}

// chunkCheck verifies one chunk after another.
type chunkCheck struct {
	a       *anatomy
	v       *verifier
	content *content
	columns []struct {
		name   string
		blocks int
	}
	expect []byte
}

func (k *chunkCheck) name(f *front, d *directory) {
	if f == nil {
		f = &d.front
	}
	for i, c := range f.layout.Columns {
		k.columns = append(k.columns, struct {
			name   string
			blocks int
		}{f.schema.Columns[i].Name, len(c.Blocks)})
	}
}

// piece verifies the checksums of a chunk.
func (k *chunkCheck) piece(p *piece) (whole bool) {
	whole = true
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
				whole = false
				pl := p.place(SectionBlock)
				pl.Column, pl.Block, pl.Offset, pl.Length = col.name, b, p.off+int64(off), int64(n)
				if !k.v.flaw(&Flaw{Place: pl, Err: err}) {
					return false
				}
			}
			off += n
		}
	}
	k.expect = appendFrame(k.expect[:0], p.frame.first, p.frame.rows, p.frame.lens, p.frame.sum)
	switch got := p.bytes[:p.frame.size]; {
	case string(got[:4]) != frameMagic:
		whole = k.v.flaw(&Flaw{Place: p.place(SectionFrame), Err: errFrame}) && false
	case !bytes.Equal(got, k.expect):
		whole = k.v.flaw(&Flaw{Place: p.place(SectionFrame), Err: errors.New("frame differs from the directory")}) && false
	case whole:
		if sum := p.sum(id); sum != p.frame.sum {
			whole = k.v.flaw(&Flaw{Place: p.place(SectionFrame), Err: &sumError{sum, p.frame.sum}}) && false
		}
	}
	return whole
}

// decode decodes the values of a chunk; what is wrong is a flaw.
func (k *chunkCheck) decode(p *piece) bool {
	block, column, err := k.content.decode(p)
	if err == nil {
		return true
	}
	pl := p.place(SectionBlock)
	off := p.frame.size
	cc := &k.content.coder.columns[column]
	for _, n := range p.frame.lens[:cc.base+block] {
		off += int(n)
	}
	pl.Column, pl.Block, pl.Offset, pl.Length = cc.name, block, p.off+int64(off), int64(p.frame.lens[cc.base+block])
	k.v.flaw(&Flaw{Place: pl, Err: err})
	return false
}

// content decodes chunks and hashes their rows.
type content struct {
	a       *anatomy
	coder   *coder
	schema  Schema
	columns []columnBuf
	hasher  merkle.Hasher
	row     Row

	next  uint64         // row that should come next
	run   merkle.Tree    // of the current run
	holed bool           // rows of the current run are missing
	nodes []*merkle.Hash // of each run, nil where rows are missing
	raw   []uint64       // bytes of the values of each column
}

func newContent(a *anatomy, f *front, encodings []codec.Encoding, maxBlockBytes int) (*content, error) {
	ro := ReaderOptions{Encodings: encodings, MaxBlockBytes: maxBlockBytes, Concurrency: 1}.withDefaults()
	if err := ro.validate(); err != nil {
		return nil, err
	}
	o := newCoderOptions(ro.Encodings, ro.Concurrency, 0)
	o.limit = ro.MaxBlockBytes
	c, err := newCoder(a.id(), f.schema, f.layout, f.dictionaries, o)
	if err != nil {
		return nil, sectionError(SectionLayout, headerSize, a.start()-headerSize, err)
	}
	n := len(f.schema.Columns)
	return &content{a: a, coder: c, schema: f.schema, columns: make([]columnBuf, n), row: make(Row, n), raw: make([]uint64, n), next: a.firstRow()}, nil
}

// decode decodes the columns of a chunk, of which nothing but the frame has been
// checked.
func (c *content) decode(p *piece) (block, column int, err error) {
	off, room := p.frame.size, c.coder.room()
	for i := range c.columns {
		c.columns[i].trim()
		cc := &c.coder.columns[i]
		lens := p.frame.lens[cc.base : cc.base+len(cc.blocks)]
		if block, err = c.coder.decodeColumn(&c.columns[i], i, p.frame.first, p.frame.rows, p.bytes[off:], lens, &room); err == nil {
			err = checkValues(&c.schema.Columns[i], &c.columns[i].values, p.frame.rows)
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

// hash adds the rows of the chunk that was decoded.
func (c *content) hash(p *piece) {
	c.skipTo(p.frame.first)
	for n := range p.frame.rows {
		for i := range c.row {
			c.row[i] = c.columns[i].values.At(n)
		}
		c.add(c.hasher.Leaf(c.row))
	}
	for i := range c.columns {
		c.raw[i] += uint64(len(c.columns[i].values.Data))
	}
}

// skipTo notes that rows are missing.
func (c *content) skipTo(row uint64) {
	if row == c.next {
		return
	}
	runs := (row - c.a.firstRow()) / merkle.RunRows
	for uint64(len(c.nodes)) < runs {
		c.nodes = append(c.nodes, nil)
	}
	c.run.Reset()
	c.holed = (row-c.a.firstRow())%merkle.RunRows != 0
	c.next = row
}

func (c *content) add(leaf merkle.Hash) {
	c.run.Append(leaf)
	c.next++
	if (c.next-c.a.firstRow())%merkle.RunRows == 0 {
		c.endRun()
	}
}

func (c *content) endRun() {
	if c.holed {
		c.nodes = append(c.nodes, nil)
	} else {
		root := c.run.Root()
		c.nodes = append(c.nodes, &root)
	}
	c.run.Reset()
	c.holed = false
}

// finish holds nodes, root and statistics against what the file says.
func (c *content) finish(v *verifier) {
	d := c.a.directory
	if d == nil {
		return // no nodes to compare with; the flaw of the directory has been said
	}
	c.holed = c.holed || c.next != c.a.footer.firstRow+c.a.footer.rows // the last chunk is damaged
	if c.run.Rows() > 0 || c.holed {
		c.endRun()
	}
	whole := uint64(len(c.nodes)) == merkle.RunsOf(c.a.footer.rows)
	for i, n := range c.nodes {
		if n == nil {
			whole = false
			continue
		}
		if i < len(d.runs) && *n != d.runs[i] {
			first := uint64(i) * merkle.RunRows
			f := damage(SectionDirectory, int64(c.a.footer.dirOffset), int64(c.a.footer.dirLength),
				fmt.Errorf("hash of the rows is %s, the directory has %s: the rows are not those that were written", n, d.runs[i]))
			f.FirstRow, f.Rows = c.a.footer.firstRow+first, min(merkle.RunRows, c.a.footer.rows-first)
			if !v.flaw(f) {
				return
			}
		}
	}
	for i, cs := range d.columns {
		if whole && cs.RawBytes != c.raw[i] {
			f := damage(SectionDirectory, int64(c.a.footer.dirOffset), int64(c.a.footer.dirLength), fmt.Errorf("values have %d bytes, the directory counts %d", c.raw[i], cs.RawBytes))
			f.Column = cs.Column
			if !v.flaw(f) {
				return
			}
		}
	}
}
