package archive

import (
	"context"
	"fmt"
	"iter"

	"github.com/segstore/segstore/segment"
)

// Table reads a table, of an archive as it is at each moment, or of a View as that has
// it. Any number of goroutines may use it at the same time. It is valid until the
// archive, or the view, is closed.
type Table struct {
	a    *Archive
	name string
	st   *state // of a view
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
	st := t.st
	if st == nil {
		st = t.a.state.Load()
	}
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
func (t *Table) EndRow() uint64 { return t.entry().end() }

// Segments returns the table's segments, in the order of their rows.
func (t *Table) Segments() []SegmentInfo {
	return append([]SegmentInfo(nil), t.entry().tableEntry.segments...)
}

// Row reads row number n as segment.Reader.Row does: storage in dst is used
// again, nothing is shared. segment.ErrRange where the table does not have it; a
// *segment.CorruptionError where it is damaged, which says nothing of rows in
// other chunks.
func (t *Table) Row(dst segment.Row, n uint64) (segment.Row, error) {
	row, err := t.row(dst, n)
	return row, t.a.saw(t.name, err)
}

func (t *Table) row(dst segment.Row, n uint64) (segment.Row, error) {
	s, err := t.a.locate(t.st, t.name, n)
	if err != nil {
		return dst, err
	}
	defer t.a.leave(s)
	if s.h != nil {
		return s.h.r.Row(dst, n)
	}
	pool := t.a.scratches(t.name)
	fs := pool.take(len(t.entry().schema.Columns))
	defer pool.give(fs)
	if err := s.f.read(t.name, fs, fs.all); err != nil {
		return dst, err
	}
	for len(dst) < len(fs.all) {
		dst = append(dst, nil)
	}
	dst = dst[:len(fs.all)]
	for i := range dst {
		dst[i] = append(dst[i][:0], fs.rows.Value(i, int(n-s.f.first))...)
	}
	return dst, nil
}

// Scan yields the rows from number from to to-1, or backwards from to-1 to from, as
// segment.Reader.Scan does, across segments and logs. A row is valid until the next
// step and must not be changed. On failure it yields (nil, err) once; after damage the
// caller may go on behind the rows that the error names. Rows that are rewound
// meanwhile are missing or other ones: a View has what it had. Workers decode segments;
// rows in logs are few, and the caller's goroutine decodes them.
func (t *Table) Scan(ctx context.Context, from, to uint64, o segment.ScanOptions) iter.Seq2[segment.Row, error] {
	return func(yield func(segment.Row, error) bool) {
		s := tableScan{t: t, ctx: ctx, o: o, yield: yield}
		if err := s.run(from, to); err != nil {
			yield(nil, t.a.saw(t.name, err))
		}
	}
}

// Rows is Scan from row number from to the last one of now, of the named columns, or of
// all where none is named.
func (t *Table) Rows(from uint64, columns ...string) iter.Seq2[segment.Row, error] {
	return func(yield func(segment.Row, error) bool) {
		t.Scan(context.Background(), from, t.EndRow(), segment.ScanOptions{Columns: columns})(yield)
	}
}

// RawBytes returns the bytes of all values.
func (t *Table) RawBytes() uint64 { return t.entry().info().RawBytes }

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
	value, err := c.value(dst, n)
	return value, c.t.a.saw(c.t.name, err)
}

func (c *Column) value(dst []byte, n uint64) ([]byte, error) {
	s, err := c.t.a.locate(c.t.st, c.t.name, n)
	if err != nil {
		return dst, err
	}
	defer c.t.a.leave(s)
	if s.h != nil {
		return s.h.columns[c.number].Value(dst, n)
	}
	pool := c.t.a.scratches(c.t.name)
	fs := pool.take(len(c.t.entry().schema.Columns))
	defer pool.give(fs)
	if err := s.f.read(c.t.name, fs, fs.all[c.number:c.number+1]); err != nil {
		return dst, err
	}
	return append(dst, fs.rows.Value(c.number, int(n-s.f.first))...), nil
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
