// Package chaintest holds a sink and view in memory, so that importers and exporters can be tested without an archive.
package chaintest

import (
	"bytes"
	"fmt"
	"iter"

	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/tools/chain"
)

// Memory is a chain.Sink and a chain.View of what was put into it. It is not safe for concurrent use. It is strict: a
// table created twice, a row of an unknown table or one that does not fit its schema is an error.
type Memory struct {
	tables []*table
}

type table struct {
	chain.Table
	rows []segment.Row
}

var (
	_ chain.Sink = (*Memory)(nil)
	_ chain.View = (*Memory)(nil)
)

func (m *Memory) table(name string) *table {
	for _, t := range m.tables {
		if t.Name == name {
			return t
		}
	}
	return nil
}

// Create makes a table.
func (m *Memory) Create(t chain.Table) error {
	if err := segment.ValidateName(t.Name); err != nil {
		return err
	}
	if err := t.Schema.Validate(); err != nil {
		return err
	}
	if m.table(t.Name) != nil {
		return fmt.Errorf("chaintest: table %q created twice", t.Name)
	}
	m.tables = append(m.tables, &table{Table: t})
	return nil
}

// Append adds a copy of row.
func (m *Memory) Append(name string, row segment.Row) error {
	t := m.table(name)
	if t == nil {
		return fmt.Errorf("chaintest: no table %q", name)
	}
	if len(row) != len(t.Schema.Columns) {
		return fmt.Errorf("chaintest: %s: %d values for %d columns", name, len(row), len(t.Schema.Columns))
	}
	size := 0
	for i, c := range t.Schema.Columns {
		n := len(row[i])
		if c.Kind == segment.Uint && n != 8 || c.Kind == segment.Fixed && n != c.Width {
			return fmt.Errorf("chaintest: %s: column %q is %s, value has %d bytes", name, c.Name, c.KindString(), n)
		}
		size += n
	}
	if size > segment.MaxRowBytes {
		return fmt.Errorf("chaintest: %s: row of %d bytes", name, size)
	}
	data, kept := make([]byte, 0, size), make(segment.Row, len(row))
	for i, v := range row {
		data = append(data, v...)
		kept[i] = data[len(data)-len(v) : len(data) : len(data)]
	}
	t.rows = append(t.rows, kept)
	return nil
}

// Mark does nothing: rows are there at once.
func (m *Memory) Mark() error { return nil }

// Tables returns the tables in the order of creation.
func (m *Memory) Tables() []chain.Table {
	all := make([]chain.Table, len(m.tables))
	for i, t := range m.tables {
		all[i] = t.Table
	}
	return all
}

// FirstRow returns the number of the table's first row.
func (m *Memory) FirstRow(name string) uint64 {
	if t := m.table(name); t != nil {
		return t.Table.FirstRow
	}
	return 0
}

// Rows returns how many rows the table has.
func (m *Memory) Rows(name string) uint64 {
	if t := m.table(name); t != nil {
		return uint64(len(t.rows))
	}
	return 0
}

// Row returns row number n of a table, all columns; nil where there is none. The caller may change its values to damage
// the table.
func (m *Memory) Row(name string, n uint64) segment.Row {
	t := m.table(name)
	if t == nil || n < t.Table.FirstRow || n-t.Table.FirstRow >= uint64(len(t.rows)) {
		return nil
	}
	return t.rows[n-t.Table.FirstRow]
}

// Column returns all values of a column; nil where there is none.
func (m *Memory) Column(name, column string) [][]byte {
	t := m.table(name)
	if t == nil {
		return nil
	}
	i := t.Schema.Index(column)
	if i < 0 {
		return nil
	}
	values := make([][]byte, len(t.rows))
	for n, row := range t.rows {
		values[n] = row[i]
	}
	return values
}

// Drop removes a table.
func (m *Memory) Drop(name string) {
	for i, t := range m.tables {
		if t.Name == name {
			m.tables = append(m.tables[:i], m.tables[i+1:]...)
			return
		}
	}
}

// Cut removes the last n rows of a table.
func (m *Memory) Cut(name string, n uint64) {
	if t := m.table(name); t != nil {
		t.rows = t.rows[:uint64(len(t.rows))-n]
	}
}

// Scan yields rows from number from on. As an archive would, it overwrites a row when the next one is asked for, so
// that a caller that keeps one is found out.
func (m *Memory) Scan(name string, from uint64, columns ...string) iter.Seq2[segment.Row, error] {
	return func(yield func(segment.Row, error) bool) {
		t := m.table(name)
		if t == nil {
			yield(nil, fmt.Errorf("chaintest: no table %q", name))
			return
		}
		if len(columns) == 0 {
			for _, c := range t.Schema.Columns {
				columns = append(columns, c.Name)
			}
		}
		index := make([]int, len(columns))
		for i, c := range columns {
			if index[i] = t.Schema.Index(c); index[i] < 0 {
				yield(nil, fmt.Errorf("chaintest: %s: no column %q", name, c))
				return
			}
		}
		if from < t.Table.FirstRow || from-t.Table.FirstRow > uint64(len(t.rows)) {
			yield(nil, fmt.Errorf("chaintest: %s: row %d is not there", name, from))
			return
		}
		row, buf := make(segment.Row, len(columns)), []byte(nil)
		for _, kept := range t.rows[from-t.Table.FirstRow:] {
			for i := range buf {
				buf[i] = 0xDB
			}
			buf = buf[:0]
			for _, x := range index {
				buf = append(buf, kept[x]...)
			}
			rest := buf
			for i, x := range index {
				row[i], rest = rest[:len(kept[x]):len(kept[x])], rest[len(kept[x]):]
			}
			if !yield(row, nil) {
				return
			}
		}
	}
}

// Equal reports whether both hold the same tables and rows.
func (m *Memory) Equal(o *Memory) bool {
	if len(m.tables) != len(o.tables) {
		return false
	}
	for _, t := range m.tables {
		u := o.table(t.Name)
		if u == nil || t.Table.FirstRow != u.Table.FirstRow || !t.Schema.Equal(u.Schema) || len(t.rows) != len(u.rows) {
			return false
		}
		for n, row := range t.rows {
			for i := range row {
				if !bytes.Equal(row[i], u.rows[n][i]) {
					return false
				}
			}
		}
	}
	return true
}
