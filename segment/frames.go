package segment

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/segstore/segstore/codec"
	"github.com/segstore/segstore/dict"
)

// FramesOptions says what rows frames hold, and how. Table and Schema are needed to
// write; zero elsewhere means the default.
type FramesOptions struct {
	Table  string
	Schema Schema

	// Policy says how each column is encoded. Default: the profile "balanced".
	Policy codec.Policy

	// Dictionaries are as in WriterOptions.
	Dictionaries map[string]*dict.Dict

	// Encodings are encodings beside those of package codec.
	Encodings []codec.Encoding

	// Workers is how many goroutines encode or decode at once; more wait. Default
	// GOMAXPROCS.
	Workers int

	// Name is put into errors, as the file's name.
	Name string
}

// Frames writes and reads chunks that lie outside of a segment, in a log: each is a
// frame and its blocks as they lie in a segment, with checksums over an ID that says
// where they belong. Front records, which lie before them, say how to read them.
// It is safe for concurrent use.
type Frames struct {
	id    ID
	name  string
	front front
	coder *coder
	jobs  sync.Pool
}

// NewFrames returns Frames that write under a policy.
func NewFrames(id ID, o FramesOptions) (*Frames, error) {
	w := WriterOptions{Table: o.Table, Schema: o.Schema, Policy: o.Policy, Dictionaries: o.Dictionaries, Encodings: o.Encodings, Workers: o.Workers}.withDefaults()
	if err := w.validate(); err != nil {
		return nil, err
	}
	chosen, err := w.byBlock()
	if err != nil {
		return nil, err
	}
	f := front{table: o.Table, schema: o.Schema}
	if f.layout, f.dictionaries, err = planLayout(o.Schema, w.Policy, o.Encodings, chosen); err != nil {
		return nil, err
	}
	if err := f.layout.check(f.schema, len(f.dictionaries)); err != nil {
		return nil, fmt.Errorf("segment: %w", err)
	}
	return newFrames(id, f, o.Name, newCoderOptions(o.Encodings, w.Workers, w.Policy.ChunkBytes))
}

// OpenFrames returns Frames that read, and go on writing, what is laid out by front
// records. Of the options Table, Schema, Policy and Dictionaries are not looked at.
// A *CorruptionError says what is wrong with the records, at offsets in b.
func OpenFrames(id ID, b []byte, o FramesOptions) (*Frames, error) {
	w := WriterOptions{Workers: o.Workers}.withDefaults()
	var first error
	f := decodeFront(b, id, nil, func(e *CorruptionError) {
		if first == nil {
			e.Offset -= headerSize // there is no header before them
			e.File = o.Name
			first = e
			if errors.Is(e.Err, ErrVersion) {
				first = e.Err
			}
		}
	})
	if first != nil {
		return nil, first
	}
	return newFrames(id, *f, o.Name, newCoderOptions(o.Encodings, w.Workers, 0))
}

func newFrames(id ID, f front, name string, o coderOptions) (*Frames, error) {
	c, err := newCoder(id, f.schema, f.layout, f.dictionaries, o)
	if err != nil {
		return nil, err
	}
	fr := &Frames{id: id, name: name, front: f, coder: c}
	fr.jobs.New = func() any { return c.newJob() }
	return fr, nil
}

// Table returns the table's name.
func (f *Frames) Table() string { return f.front.table }

// Schema returns the columns; they must not be changed.
func (f *Frames) Schema() Schema { return f.front.schema }

// AppendFront appends the front records.
func (f *Frames) AppendFront(dst []byte) []byte {
	for _, r := range f.front.records() {
		dst = r.appendTo(dst, f.id)
	}
	return dst
}

// FrameBytes is a chunk as it lies in a log: its frame, and its blocks right behind. It
// can be used again and again; its memory is that of the largest chunk.
type FrameBytes struct {
	Frame, Blocks []byte
}

// Len returns how many bytes the chunk has.
func (b *FrameBytes) Len() int { return len(b.Frame) + len(b.Blocks) }

// Encode makes b a chunk of the rows from number first on, that values hold a column
// each. They fit the schema (Schema.Check), and a chunk has at most 65,536 of them. All
// is decoded again and compared.
func (f *Frames) Encode(b *FrameBytes, first uint64, values []codec.Values) error {
	if len(values) != len(f.coder.columns) || values[0].Len() == 0 || values[0].Len() > maxChunkRows {
		return fmt.Errorf("segment: frame of %d columns, %d rows", len(values), values[0].Len())
	}
	j := f.jobs.Get().(*chunkJob)
	defer f.jobs.Put(j)
	j.reset(first)
	own := j.values
	j.values, j.rows, j.out = values, values[0].Len(), b.Blocks[:0]
	defer func() {
		j.values, j.out = own, nil
		j.trim()
	}()
	if err := f.coder.encode(j); err != nil {
		return err
	}
	b.Blocks = j.out
	b.Frame, _ = j.appendFrame(b.Frame[:0], f.id)
	return nil
}

// FrameHead is what the head of a chunk says.
type FrameHead struct {
	FirstRow uint64
	Rows     int
	Size     int // bytes of frame and blocks
}

// Head reads the head of the chunk at the start of b, which must hold all of the
// chunk and may go on behind it. It does not check checksums.
func (f *Frames) Head(b []byte) (FrameHead, error) {
	h, err := decodeFrame(b, make([]uint32, f.coder.blocks))
	if err == nil && h.total() > int64(len(b)) {
		err = fmt.Errorf("chunk of %d bytes, %d are there", h.total(), len(b))
	}
	if err != nil {
		return FrameHead{}, f.damage(&h, SectionFrame, "", 0, err)
	}
	return FrameHead{h.first, h.rows, int(h.total())}, nil
}

// damage returns err as damage of a chunk; offsets are from its start.
func (f *Frames) damage(h *frame, s Section, column string, block int, err error) error {
	return &CorruptionError{Place: Place{
		File: f.name, Section: s, Column: column, Block: block, Chunk: -1, FirstRow: h.first, Rows: uint64(h.rows), Length: h.total(),
	}, Err: err}
}

// FrameRows is the rows of a chunk that was decoded. It is used again and again, by
// one goroutine at a time.
type FrameRows struct {
	FirstRow uint64
	Rows     int

	lens    []uint32
	columns []columnBuf
}

// Value returns the value of a column, by number, in row i of the chunk. It is valid
// until the next Decode, as long as the bytes that were decoded stay.
func (r *FrameRows) Value(column, i int) []byte { return r.columns[column].values.At(i) }

// Decode decodes columns, by number, of the chunk that b holds; of all its checksums
// those of the columns' blocks are checked. ErrLimit or a *CorruptionError, with
// offsets from the start of b.
func (f *Frames) Decode(r *FrameRows, b []byte, columns []int) error {
	if len(r.lens) != f.coder.blocks || len(r.columns) != len(f.coder.columns) {
		r.lens = make([]uint32, f.coder.blocks)
		r.columns = make([]columnBuf, len(f.coder.columns))
	}
	h, err := decodeFrame(b, r.lens)
	if err == nil && h.total() != int64(len(b)) {
		err = fmt.Errorf("chunk of %d bytes, %d are there", h.total(), len(b))
	}
	if err != nil {
		return f.damage(&h, SectionFrame, "", 0, err)
	}
	r.FirstRow, r.Rows = h.first, h.rows
	room, off := f.coder.room(), h.size
	for i := range f.coder.columns {
		cc := &f.coder.columns[i]
		lens := h.lens[cc.base : cc.base+len(cc.blocks)]
		if slices.Contains(columns, i) {
			r.columns[i].trim()
			block, err := f.coder.decodeColumn(&r.columns[i], i, h.first, h.rows, b[off:], lens, &room)
			if err == nil {
				err = checkValues(&f.front.schema.Columns[i], &r.columns[i].values, h.rows)
			}
			if errors.Is(err, ErrLimit) {
				return err
			}
			if err != nil {
				return f.damage(&h, SectionBlock, cc.name, block, err)
			}
		}
		for _, n := range lens {
			off += int(n)
		}
	}
	return nil
}

// Verify checks every checksum of the chunk that b holds.
func (f *Frames) Verify(b []byte) error {
	h, err := decodeFrame(b, make([]uint32, f.coder.blocks))
	if err == nil && h.total() != int64(len(b)) {
		err = fmt.Errorf("chunk of %d bytes, %d are there", h.total(), len(b))
	}
	if err != nil {
		return f.damage(&h, SectionFrame, "", 0, err)
	}
	p := piece{frame: h, bytes: b}
	off := h.size
	for i := range f.coder.columns {
		cc := &f.coder.columns[i]
		for k, n := range h.lens[cc.base : cc.base+len(cc.blocks)] {
			if n == 0 {
				continue
			}
			if err := checkBlock(f.id, i, k, h.first, b[off:off+int(n)]); err != nil {
				return f.damage(&h, SectionBlock, cc.name, k, err)
			}
			off += int(n)
		}
	}
	if sum, _ := p.sum(f.id, nil); sum != h.sum {
		return f.damage(&h, SectionFrame, "", 0, &sumError{sum, h.sum})
	}
	return nil
}
