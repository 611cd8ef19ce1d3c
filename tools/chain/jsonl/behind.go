package jsonl

import (
	"cmp"
	"fmt"

	"github.com/segstore/segstore/codec/wire"
	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/tools/chain"
)

// behind chooses table and columns, where they are not given, as the tables are that are there, and returns the last
// source of the table; the zero Source where there is none.
func (im *Importer) behind(v chain.View) (last chain.Source, err error) {
	tables := v.Tables()
	if im.Table == "" {
		im.Table = onlyTable(tables)
	}
	last, err = chain.LastSource(v, func(s chain.Source) bool {
		return s.Format == Format && wire.NewCursor(s.Extra).String(segment.MaxNameBytes) == im.Table
	})
	if err != nil || len(im.Columns) > 0 {
		return last, err
	}
	if last.Format != "" {
		x, err := parseExtra(last.Extra, tables)
		for _, c := range x.codecs {
			im.Columns = append(im.Columns, c.Column)
		}
		return last, err
	}
	for _, t := range tables { // no source to ask: fields are called as columns are
		if t.Name != im.Table {
			continue
		}
		fields := make([]string, len(t.Schema.Columns))
		for i, c := range t.Schema.Columns {
			fields[i] = c.Name
		}
		if im.Columns, err = columnsOf(t.Schema, fields); err != nil {
			return last, fmt.Errorf("%w: table %q is not of JSON lines: %w", chain.ErrTables, im.Table, err)
		}
	}
	if len(im.Columns) == 0 {
		return last, chain.NoTable(v, im.Table)
	}
	return last, nil
}

// onlyTable returns the name of the one table beside the sources; the default's where there are more, or none.
func onlyTable(tables []chain.Table) (name string) {
	for _, t := range tables {
		switch {
		case t.Name == chain.SourcesTable:
		case name != "":
			return DefaultTable
		default:
			name = t.Name
		}
	}
	return cmp.Or(name, DefaultTable)
}
