package chain

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/segstore/segstore/segment"
)

// ErrTables is wrapped by the error of an import behind tables that its rows do not fit: others than its format has, or
// such that do not end together.
var ErrTables = errors.New("chain: the tables are not those of this import")

// GapError says that a table has rows behind those of its last source: an import that was cut short may have left them, or
// somebody else appended them.
type GapError struct {
	Table      string
	First, End uint64            // the rows: from First to before End
	Ends       map[string]uint64 // where tables end without them: the row that comes next
}

// Error names the rows.
func (e *GapError) Error() string {
	return fmt.Sprintf("chain: rows %d to %d of table %q are of no source: an import that was cut short may have left them", e.First, e.End-1, e.Table)
}

func endRow(v View, table string) uint64 { return v.FirstRow(table) + v.Rows(table) }

// fits returns an error that says what differs where v has no such table.
func fits(v View, want Table) error {
	for _, have := range v.Tables() {
		if have.Name != want.Name {
			continue
		}
		if d := differ(have.Schema, want.Schema); d != "" {
			return fmt.Errorf("%w: table %q: %s", ErrTables, want.Name, d)
		}
		return nil
	}
	return NoTable(v, want.Name)
}

// NoTable returns the error of an import behind v, which has no table of that name.
func NoTable(v View, name string) error {
	var names []string
	for _, t := range v.Tables() {
		names = append(names, t.Name)
	}
	return fmt.Errorf("%w: there is no table %q, there are %q", ErrTables, name, names)
}

// differ says how one schema differs from another; nothing where it does not.
func differ(have, want segment.Schema) string {
	for i, w := range want.Columns {
		switch {
		case i == len(have.Columns):
			return fmt.Sprintf("it has no column %s", describe(w))
		case have.Columns[i] != w:
			return fmt.Sprintf("column %d is %s, not %s", i+1, describe(have.Columns[i]), describe(w))
		}
	}
	if len(have.Columns) > len(want.Columns) {
		return fmt.Sprintf("its column %s gets no values", describe(have.Columns[len(want.Columns)]))
	}
	return ""
}

func describe(c segment.Column) string {
	s := fmt.Sprintf("%q of %s", c.Name, c.KindString())
	if c.Format != "" {
		s += " as " + c.Format
	}
	return s
}

// LastSource returns the last source of which of holds, of all where of is nil; the zero Source where there is none.
func LastSource(v View, of func(Source) bool) (last Source, err error) {
	rows := v.Rows(SourcesTable)
	if rows == 0 {
		return last, nil
	}
	from := v.FirstRow(SourcesTable)
	if of == nil {
		from += rows - 1
	}
	for row, err := range v.Scan(SourcesTable, from) {
		if err != nil {
			return last, err
		}
		s, err := ParseSource(row)
		if err != nil {
			return last, err
		}
		if of == nil || of(s) {
			last = s
		}
	}
	return last, nil
}

// CheckSources checks that a table of o.After ends where its last source does: a source of which rows are gone is
// ErrTables, rows that are of no source a *GapError unless o allows it. ends says where tables end with a row of the
// table; nil where this is the only one.
func CheckSources(o ImportOptions, table string, last Source, ends func(row uint64) (map[string]uint64, error)) error {
	if o.After == nil {
		return nil
	}
	end, sourced := endRow(o.After, table), max(o.After.FirstRow(table), last.FirstBlock+last.Blocks)
	switch {
	case sourced > end:
		return fmt.Errorf("%w: source %q has rows up to %d of table %q, which ends before row %d", ErrTables, last.Name, sourced-1, table, end)
	case sourced == end || o.AllowGap:
		return nil
	}
	e := &GapError{Table: table, First: sourced, End: end, Ends: map[string]uint64{table: sourced}}
	if ends != nil {
		var err error
		if e.Ends, err = ends(sourced); err != nil {
			return err
		}
	}
	return e
}

// CheckBlocks checks that a table of blocks of o.After, whose columns first_transaction and transaction_count say which
// transactions are a block's, ends where the tables with a row a transaction do (ErrTables), and where the last source
// does, as CheckSources.
func CheckBlocks(o ImportOptions, blocks string, perTransaction ...string) error {
	v := o.After
	if v == nil {
		return nil
	}
	want := endRow(v, perTransaction[0])
	if v.Rows(blocks) > 0 {
		first, count, err := transactionsOf(v, blocks, endRow(v, blocks)-1)
		if err != nil {
			return err
		}
		want = first + count
	}
	for _, table := range perTransaction {
		if end := endRow(v, table); end != want {
			return fmt.Errorf("%w: the transactions of the blocks end before row %d, table %q before row %d", ErrTables, want, table, end)
		}
	}
	last, err := LastSource(v, nil)
	if err != nil {
		return err
	}
	return CheckSources(o, blocks, last, func(row uint64) (map[string]uint64, error) {
		first, _, err := transactionsOf(v, blocks, row)
		ends := map[string]uint64{blocks: row}
		for _, table := range perTransaction {
			ends[table] = first
		}
		return ends, err
	})
}

// transactionsOf returns the first transaction of the block in a row, and how many it has.
func transactionsOf(v View, blocks string, n uint64) (first, count uint64, err error) {
	for row, err := range v.Scan(blocks, n, "first_transaction", "transaction_count") {
		if err != nil {
			return 0, 0, err
		}
		if slices.ContainsFunc(row, func(b []byte) bool { return len(b) != 8 }) {
			break
		}
		return binary.LittleEndian.Uint64(row[0]), binary.LittleEndian.Uint64(row[1]), nil
	}
	return 0, 0, fmt.Errorf("%w: table %q: row %d is not one of a block", ErrTables, blocks, n)
}
