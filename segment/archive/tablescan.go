package archive

import (
	"context"
	"fmt"

	"github.com/segstore/segstore/segment"
)

// tableScan is a scan of a table on its way.
type tableScan struct {
	t     *Table
	ctx   context.Context
	o     segment.ScanOptions
	yield func(segment.Row, error) bool

	numbers []int // columns, in the order asked for
	all     int   // how many columns the table has
}

// run yields rows. The error is yet to be yielded.
func (s *tableScan) run(from, to uint64) error {
	e := s.t.entry()
	switch {
	case from < e.firstRow || from > e.end():
		return e.outside(from)
	case to > e.end():
		return e.outside(to - 1)
	case from > to:
		return fmt.Errorf("%w: from row %d to %d", segment.ErrRange, from, to)
	}
	s.all = len(e.schema.Columns)
	s.numbers = columnNumbers(s.all)
	if len(s.o.Columns) > 0 {
		s.numbers = s.numbers[:0]
	}
	for _, c := range s.o.Columns {
		k := e.schema.Index(c)
		if k < 0 {
			return noColumn(e.tableEntry, c)
		}
		s.numbers = append(s.numbers, k)
	}
	for from < to {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		row := from
		if s.o.Reverse {
			row = to - 1
		}
		at, err := s.t.a.locate(s.t.st, s.t.name, row)
		if err != nil {
			return err
		}
		first, end := at.rows()
		lo, hi := max(first, from), min(end, to)
		more, err := s.piece(at, lo, hi)
		if err != nil || !more {
			return err
		}
		if s.o.Reverse {
			to = lo
		} else {
			from = hi
		}
	}
	return nil
}

// piece yields rows of one segment or frame, and leaves it.
func (s *tableScan) piece(at spot, lo, hi uint64) (more bool, err error) {
	defer s.t.a.leave(at)
	if at.h == nil {
		return s.frame(&at.f, lo, hi)
	}
	for row, err := range at.h.r.Scan(s.ctx, lo, hi, s.o) {
		if err != nil {
			return false, err
		}
		if !s.yield(row, nil) {
			return false, nil
		}
	}
	return true, nil
}

func (s *tableScan) frame(f *frame, lo, hi uint64) (more bool, err error) {
	pool := s.t.a.scratches(s.t.name)
	fs := pool.take(s.all)
	defer pool.give(fs)
	if err := f.read(s.t.name, fs, s.numbers); err != nil {
		return false, err
	}
	row := make(segment.Row, len(s.numbers))
	for n := lo; n < hi; n++ {
		at := n - f.first
		if s.o.Reverse {
			at = hi - 1 - (n - lo) - f.first
		}
		for i, c := range s.numbers {
			row[i] = fs.rows.Value(c, int(at))
		}
		if !s.yield(row, nil) {
			return false, nil
		}
	}
	return true, nil
}

// rows returns which rows are there.
func (s *spot) rows() (first, end uint64) {
	if s.h != nil {
		return s.h.info.FirstRow, s.h.info.EndRow()
	}
	return s.f.first, s.f.end()
}
