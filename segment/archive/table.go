package archive

import (
	"fmt"
	"iter"

	"github.com/segstore/segstore/segment"
)

// Table reads a table. Any number of goroutines may use it at the same time, also
// while segments are recompressed. It is valid until the archive is closed.
type Table struct {
	a    *Archive
	name string
}

// Table returns a table. ErrNoTable where there is none of this name.
func (a *Archive) Table(name string) (*Table, error) {
	st := a.state.Load()
	if _, ok := st.number[name]; !ok {
		return nil, st.noTable(name)
	}
	return &Table{a: a, name: name}, nil
}

// entry returns the table as it is now.
func (t *Table) entry() *tableState {
	st := t.a.state.Load()
	return &st.tables[st.number[t.name]] // tables never go
}

// Info returns what the table is.
func (t *Table) Info() TableInfo { return t.entry().info() }

// Name returns the table's name.
func (t *Table) Name() string { return t.name }

// Schema returns the columns; they must not be changed.
func (t *Table) Schema() segment.Schema { return t.entry().schema }

// FirstRow returns the number of the first row.
func (t *Table) FirstRow() uint64 { return t.entry().firstRow }

// EndRow returns one past the number of the last row; FirstRow where there is none.
func (t *Table) EndRow() uint64 { return t.entry().endRow() }

// Segments returns the table's segments, in the order of their rows.
func (t *Table) Segments() []SegmentInfo { return append([]SegmentInfo(nil), t.entry().segments...) }

// Row reads row number n as segment.Reader.Row does: storage in dst is used
// again, nothing is shared. segment.ErrRange where the table does not have it; a
// *segment.CorruptionError where it is damaged, which says nothing of rows in
// other chunks.
func (t *Table) Row(dst segment.Row, n uint64) (segment.Row, error) {
	h, err := t.a.acquire(t.name, n)
	if err != nil {
		return dst, err
	}
	defer t.a.files.release(h)
	return h.r.Row(dst, n)
}

// Rows yields the rows from number from to the last one of now, the named columns
// only and in the order named; all where none is named. A row is valid until the
// next step and must not be changed. On failure it yields (nil, err) once; after
// damage the caller may go on behind the rows that the error names.
func (t *Table) Rows(from uint64, columns ...string) iter.Seq2[segment.Row, error] {
	return func(yield func(segment.Row, error) bool) {
		e := t.entry()
		end := e.endRow()
		if from < e.firstRow || from > end {
			yield(nil, e.outside(from))
			return
		}
		for _, c := range columns {
			if e.schema.Index(c) < 0 {
				yield(nil, noColumn(e.tableEntry, c))
				return
			}
		}
		for next := from; next < end; {
			h, err := t.a.acquire(t.name, next)
			if err != nil {
				yield(nil, err)
				return
			}
			if !t.yieldSegment(h, next, columns, yield) {
				return
			}
			next = h.info.EndRow()
		}
	}
}

// yieldSegment yields rows of one segment and releases it. false: no more.
func (t *Table) yieldSegment(h *handle, from uint64, columns []string, yield func(segment.Row, error) bool) bool {
	defer t.a.files.release(h)
	for row, err := range h.r.Rows(from, columns...) {
		if !yield(row, err) || err != nil {
			return false
		}
	}
	return true
}

func noColumn(t *tableEntry, name string) error {
	names := make([]string, len(t.schema.Columns))
	for i, c := range t.schema.Columns {
		names[i] = c.Name
	}
	return fmt.Errorf("%w: %q, table %q has %q", segment.ErrColumn, name, t.name, names)
}

// Column reads one column of a table, and decodes no other. Any number of
// goroutines may use it.
type Column struct {
	t      *Table
	name   string
	number int
}

// Column returns a reader of one column. segment.ErrColumn where there is none of
// this name.
func (t *Table) Column(name string) (*Column, error) {
	e := t.entry()
	i := e.schema.Index(name)
	if i < 0 {
		return nil, noColumn(e.tableEntry, name)
	}
	return &Column{t: t, name: name, number: i}, nil
}

// Value appends the value in row number n to dst.
func (c *Column) Value(dst []byte, n uint64) ([]byte, error) {
	h, err := c.t.a.acquire(c.t.name, n)
	if err != nil {
		return dst, err
	}
	defer c.t.a.files.release(h)
	return h.columns[c.number].Value(dst, n)
}

// Values yields the column's values from row number from to the last, as
// Table.Rows does.
func (c *Column) Values(from uint64) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for row, err := range c.t.Rows(from, c.name) {
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
