package chain

import "github.com/segstore/segstore/segment"

// Tally is a Sink that counts what it passes on to another one, which may hold tables already.
type Tally struct {
	sink   Sink
	after  View // what sink holds, or nil
	tables []TableReport
}

var _ Sink = (*Tally)(nil)

// NewTally returns a Tally in front of sink, which holds what after has; nil is nothing.
func NewTally(sink Sink, after View) *Tally { return &Tally{sink: sink, after: after} }

// Create makes a table in the sink. Where that holds tables already it makes none: one of this name and schema must be
// there (ErrTables), and rows go behind its last.
func (t *Tally) Create(table Table) error {
	if t.after != nil {
		if err := fits(t.after, table); err != nil {
			return err
		}
		table.FirstRow = endRow(t.after, table.Name)
	} else if err := t.sink.Create(table); err != nil {
		return err
	}
	t.tables = append(t.tables, TableReport{Table: table.Name, FirstRow: table.FirstRow})
	return nil
}

// Append adds a row to the sink.
func (t *Tally) Append(table string, row segment.Row) error {
	if err := t.sink.Append(table, row); err != nil {
		return err
	}
	if r := t.table(table); r != nil {
		r.Rows++
		for _, v := range row {
			r.RawBytes += uint64(len(v))
		}
	}
	return nil
}

// AppendSource adds a row to the table sources, and marks that the source is whole.
func (t *Tally) AppendSource(s *Source) error {
	if err := t.Append(SourcesTable, s.AppendRow(nil)); err != nil {
		return err
	}
	return t.sink.Mark()
}

// Mark passes the mark on.
func (t *Tally) Mark() error { return t.sink.Mark() }

// Next returns the number that the next row of a table gets; 0 for one that was not created.
func (t *Tally) Next(table string) uint64 {
	if r := t.table(table); r != nil {
		return r.FirstRow + r.Rows
	}
	return 0
}

func (t *Tally) table(name string) *TableReport {
	for i := range t.tables { // a handful
		if t.tables[i].Table == name {
			return &t.tables[i]
		}
	}
	return nil
}

// Tables returns the counts, in the order of creation.
func (t *Tally) Tables() []TableReport { return t.tables }
