package segment

import (
	"errors"
	"fmt"
	"slices"

	"github.com/segstore/segstore/codec"
)

// Row reads row number n, one value a column. Storage in dst is used again: with
// a dst that was large enough nothing is allocated, unless a cache takes the
// chunk in. The row shares nothing with the Reader.
//
// It decodes the chunk that holds the row: one positional read, or none where the
// cache has it. ErrRange where the segment does not hold the row.
func (r *Reader) Row(dst Row, n uint64) (Row, error) {
	for len(dst) < len(r.column) {
		dst = append(dst, nil)
	}
	dst = dst[:len(r.column)]
	err := r.read(n, r.column, dst)
	return dst, err
}

// Column returns a reader of one column.
func (r *Reader) Column(name string) (*ColumnReader, error) {
	i := r.dir.schema.Index(name)
	if i < 0 {
		return nil, r.noColumn(name)
	}
	return &ColumnReader{r: r, column: []int{i}}, nil
}

func (r *Reader) noColumn(name string) error {
	names := make([]string, len(r.dir.schema.Columns))
	for i, c := range r.dir.schema.Columns {
		names[i] = c.Name
	}
	return fmt.Errorf("%w: %q, table %q has %q", ErrColumn, name, r.dir.table, names)
}

// ColumnReader reads one column of a segment, and decodes no other. Any number of
// goroutines may use it.
type ColumnReader struct {
	r      *Reader
	column []int // one
}

// Value appends the value in row number n to dst.
func (c *ColumnReader) Value(dst []byte, n uint64) ([]byte, error) {
	one := [1][]byte{dst[len(dst):]}
	if err := c.r.read(n, c.column, one[:]); err != nil {
		return dst, err
	}
	return append(dst, one[0]...), nil
}

// read copies the values of the columns in row n into dst[i][:0].
func (r *Reader) read(n uint64, columns []int, dst [][]byte) error {
	if n < r.footer.firstRow || n-r.footer.firstRow >= r.footer.rows {
		return r.outside(n)
	}
	chunk := r.dir.chunks.find(n)
	at := int(n - r.dir.chunks.first[chunk])
	var cached *cacheEntry
	if r.o.Cache != nil {
		cached = r.o.Cache.get(cacheKey{r.key, chunk})
	}
	if cached != nil {
		for i, c := range columns {
			v := cached.columns[c].Load()
			if v == nil {
				cached = nil
				break
			}
			dst[i] = append(dst[i][:0], v.At(at)...)
		}
		if cached != nil {
			return nil
		}
	}
	s := r.take()
	defer r.give(s)
	if err := r.decodeChunk(s, chunk, columns); err != nil {
		return err
	}
	for i, c := range columns {
		dst[i] = append(dst[i][:0], s.columns[c].values.At(at)...)
	}
	if r.o.Cache != nil {
		r.keep(s, chunk, columns)
	}
	return nil
}

func (r *Reader) outside(n uint64) error {
	return fmt.Errorf("%w: row %d, table %q has %d to %d here", ErrRange, n, r.dir.table, r.footer.firstRow, r.EndRow()-1)
}

// keep puts copies of decoded columns into the cache.
func (r *Reader) keep(s *scratch, chunk int, columns []int) {
	add := make(map[int]*codec.Values, len(columns))
	for _, c := range columns {
		v := &s.columns[c].values
		add[c] = &codec.Values{Data: slices.Clone(v.Data), Ends: slices.Clone(v.Ends)}
	}
	r.o.Cache.put(cacheKey{r.key, chunk}, len(r.column), add)
}

// span returns the blocks that hold the columns: from the first to one past the last.
func (r *Reader) span(columns []int) (from, to int) {
	from, to = r.coder.blocks, 0
	for _, c := range columns {
		cc := &r.coder.columns[c]
		from, to = min(from, cc.base), max(to, cc.base+len(cc.blocks))
	}
	return from, max(from, to)
}

// decodeChunk reads and decodes columns of a chunk into s. All their blocks come
// with one positional read.
func (r *Reader) decodeChunk(s *scratch, chunk int, columns []int) error {
	from, to := r.span(columns)
	off, n := r.dir.chunks.place(chunk, from, to)
	s.buf = grow(s.buf, n)
	if n > 0 {
		if err := readFull(r.r, s.buf, off); err != nil {
			return r.inFile(err)
		}
	}
	s.room = r.coder.room()
	return r.decodeColumns(s, chunk, columns, s.buf, from)
}

// decodeColumns decodes columns of a chunk whose blocks, from number from on, are
// b, into no more than s.room bytes.
func (r *Reader) decodeColumns(s *scratch, chunk int, columns []int, b []byte, from int) error {
	t := r.dir.chunks
	lens := t.lengths(chunk)
	for _, c := range columns {
		cc := &r.coder.columns[c]
		skip := 0
		for _, n := range lens[from:cc.base] {
			skip += int(n)
		}
		own := lens[cc.base : cc.base+len(cc.blocks)]
		block, err := r.coder.decodeColumn(&s.columns[c], c, t.first[chunk], t.rows(chunk), b[skip:], own, &s.room)
		if err == nil {
			err = checkValues(&r.dir.schema.Columns[c], &s.columns[c].values, t.rows(chunk))
		}
		if err != nil {
			return r.blockError(chunk, c, block, err)
		}
	}
	return nil
}

// blockError places an error in a block of a column.
func (r *Reader) blockError(chunk, column, block int, err error) error {
	t := r.dir.chunks
	cc := &r.coder.columns[column]
	off, n := t.place(chunk, cc.base+block, cc.base+block+1)
	at := Place{
		File: r.o.Name, Section: SectionBlock, Column: cc.name, Chunk: chunk, Block: block,
		FirstRow: t.first[chunk], Rows: uint64(t.rows(chunk)), Offset: off, Length: int64(n),
	}
	if errors.Is(err, ErrLimit) {
		return fmt.Errorf("%s: %w", at, err)
	}
	return &CorruptionError{Place: at, Err: err}
}

// inFile adds the file's name to an I/O error.
func (r *Reader) inFile(err error) error {
	if r.o.Name == "" {
		return err
	}
	return fmt.Errorf("%s: %w", r.o.Name, err)
}
