package segment

import (
	"context"
	"fmt"
	"iter"
	"slices"
)

// ScanOptions says how rows are scanned. The zero value means defaults.
type ScanOptions struct {
	// Columns are what is read, in this order, and a row has as many values. Default
	// all, in the order of the schema.
	Columns []string

	// Reverse yields the last row first.
	Reverse bool

	// Workers is how many goroutines decode ahead of the caller's, and end before its
	// loop does; what is yielded does not depend on it. They read up to 64 KiB or one
	// chunk at once, of which 3/2 Workers + 2 are in memory, decoded. Default, and with
	// 1: none, the caller's goroutine decodes.
	Workers int
}

func (o ScanOptions) validate() error {
	if o.Workers < 0 || o.Workers > 1024 {
		return fmt.Errorf("segment: Workers %d not in 0..1024", o.Workers)
	}
	return nil
}

// Scan yields the rows from number from to to-1, or backwards from to-1 to from. A
// row is valid until the next step and must not be changed. On failure it yields
// (nil, err) once: ErrRange, ErrColumn, a *CorruptionError, an error of I/O, or that
// of ctx, which is asked before each chunk.
//
// It decodes each chunk once, and reads ahead: little at first, later up to 256
// KiB or one chunk. It does not fill the cache.
func (r *Reader) Scan(ctx context.Context, from, to uint64, o ScanOptions) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		p, err := r.scanPlan(from, to, o)
		if err != nil {
			yield(nil, err)
			return
		}
		if o.Workers > 1 && p.n > 1 {
			err = p.ahead(ctx, o.Workers, yield)
		} else {
			err = p.here(ctx, yield)
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

// Rows is Scan from row number from to the last, of the named columns, or of all
// where none is named.
func (r *Reader) Rows(from uint64, columns ...string) iter.Seq2[Row, error] {
	return r.Scan(context.Background(), from, r.EndRow(), ScanOptions{Columns: columns})
}

// Values yields the column's values from row number from to the last, as
// Reader.Rows does.
func (c *ColumnReader) Values(from uint64) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for row, err := range c.r.Rows(from, c.r.dir.schema.Columns[c.column[0]].Name) {
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(row[0], nil) {
				return
			}
		}
	}
}

// scanPlan says which rows a scan takes of which chunks.
type scanPlan struct {
	r       *Reader
	columns []int // in the order asked for
	decoded []int // the same, each once
	from    int   // first and one past the last block that they take
	to      int

	lo, hi  uint64 // rows; hi is one past the last
	first   int    // chunk
	n       int    // chunks
	reverse bool
}

func (r *Reader) scanPlan(from, to uint64, o ScanOptions) (*scanPlan, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	p := &scanPlan{r: r, columns: r.column, decoded: r.column, lo: from, hi: to, reverse: o.Reverse}
	if len(o.Columns) > 0 {
		p.columns = make([]int, len(o.Columns))
		for i, name := range o.Columns {
			if p.columns[i] = r.dir.schema.Index(name); p.columns[i] < 0 {
				return nil, r.noColumn(name)
			}
		}
		p.decoded = slices.Compact(slices.Sorted(slices.Values(p.columns)))
	}
	switch {
	case from < r.footer.firstRow || from > r.EndRow():
		return nil, r.outside(from)
	case to > r.EndRow():
		return nil, r.outside(to - 1)
	case from > to:
		return nil, fmt.Errorf("%w: from row %d to %d", ErrRange, from, to)
	case from < to:
		p.first = r.dir.chunks.find(from)
		p.n = r.dir.chunks.find(to-1) - p.first + 1
	}
	p.from, p.to = r.span(p.columns)
	return p, nil
}

// chunk returns the number of the chunk that comes k-th.
func (p *scanPlan) chunk(k int) int {
	if p.reverse {
		return p.first + p.n - 1 - k
	}
	return p.first + k
}

// reach returns one past the last of the chunks, from the k-th on, that are read
// together, and where their blocks lie: as many as fit into limit bytes and have
// little else between what is wanted of them.
func (p *scanPlan) reach(k, limit int) (end int, off int64, n int) {
	t := p.r.dir.chunks
	off, n = t.place(p.chunk(k), p.from, p.to)
	for end = k + 1; end < p.n; end++ {
		next, m := t.place(p.chunk(end), p.from, p.to)
		gap := int(next-off) - n
		if p.reverse {
			gap = int(off-next) - m
		}
		if n+gap+m > limit || gap > m {
			break
		}
		off = min(off, next)
		n += gap + m
	}
	return end, off, n
}

// decode decodes a chunk, whose blocks are in b, which was read from off on.
func (p *scanPlan) decode(s *scratch, columns []int, chunk int, b []byte, off int64) error {
	at, n := p.r.dir.chunks.place(chunk, p.from, p.to)
	at -= off
	return p.r.decodeColumns(s, chunk, columns, b[at:at+int64(n)], p.from)
}

// yield yields the rows of a decoded chunk; row has as many values as columns.
func (p *scanPlan) yield(s *scratch, chunk int, row Row, yield func(Row, error) bool) bool {
	t := p.r.dir.chunks
	from := int(max(p.lo, t.first[chunk]) - t.first[chunk])
	to := int(min(p.hi, t.first[chunk+1]) - t.first[chunk])
	if p.reverse {
		for i := to - 1; i >= from; i-- {
			for k, c := range p.columns {
				row[k] = s.columns[c].values.At(i)
			}
			if !yield(row, nil) {
				return false
			}
		}
		return true
	}
	if len(p.columns) == 1 { // no inner loop
		v := &s.columns[p.columns[0]].values
		data, start := v.Data, uint32(0)
		if from > 0 {
			start = v.Ends[from-1]
		}
		for _, end := range v.Ends[from:to] {
			row[0] = data[start:end:end]
			start = end
			if !yield(row, nil) {
				return false
			}
		}
		return true
	}
	for i := from; i < to; i++ {
		for k, c := range p.columns {
			row[k] = s.columns[c].values.At(i)
		}
		if !yield(row, nil) {
			return false
		}
	}
	return true
}

// here scans on the caller's goroutine. The error is yet to be yielded.
func (p *scanPlan) here(ctx context.Context, yield func(Row, error) bool) error {
	s := p.scanner()
	defer s.close()
	row := s.s.row[:0]
	for range p.columns {
		row = append(row, nil)
	}
	s.s.row = row
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !s.next() {
			return s.err
		}
		if !p.yield(s.s, s.chunk, row, yield) {
			return nil
		}
	}
}
