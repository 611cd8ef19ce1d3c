package chain

import "github.com/segstore/segstore/segment"

// Tally is a Sink that counts what it passes on to another one.
type Tally struct {
	sink   Sink
	tables []TableReport
}

var _ Sink = (*Tally)(nil)

// NewTally returns a Tally in front of sink.
func NewTally(sink Sink) *Tally { return &Tally{sink: sink} }

// Create makes a table in the sink.
func (t *Tally) Create(table Table) error {
	if err := t.sink.Create(table); err != nil {
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
	for i := range t.tables {
		if r := &t.tables[i]; r.Table == table {
			r.Rows++
			for _, v := range row {
				r.RawBytes += uint64(len(v))
			}
			break
		}
	}
	return nil
}

// Tables returns the counts, in the order of creation.
func (t *Tally) Tables() []TableReport { return t.tables }
