package cmd

import (
	"context"
	"encoding/json"

	"github.com/segstore/segstore/segment"
	"github.com/spf13/cobra"
)

func (a *app) catVerb() *cobra.Command {
	var o struct {
		table    string
		from, to uint64
		columns  []string
		reverse  bool
	}
	var c *cobra.Command
	c = verb{
		use: "cat PATH [--table T] [--from ROW] [--to ROW] [--columns C,…] [--reverse]", short: "Print rows as JSON lines",
		long: `Cat prints rows as JSON, one a line: numbers as numbers, text as strings, bytes as
strings of hex. Only the columns asked for are read.`,
		example: "  segtool cat chain --table blocks --columns number,transaction_count | jq .values.number",
		codes:   []int{codeFine, codeFailed, codeUsage, codeCorrupt, codeMissing},
		args:    cobra.ExactArgs(1),
		run: func(ctx context.Context, args []string) error {
			from, to := c.Flags().Changed("from"), c.Flags().Changed("to")
			if from && to && o.from > o.to {
				return usagef("--from %d is after --to %d", o.from, o.to)
			}
			r, table, done, err := a.openRows(args[0], o.table)
			if err != nil {
				return err
			}
			defer done()
			switch {
			case from && o.from >= r.EndRow():
				return noRow(r, table, o.from)
			case to && o.to < r.FirstRow():
				return noRow(r, table, o.to)
			}
			if !from {
				o.from = r.FirstRow()
			}
			if !to {
				o.to = r.EndRow() - 1 // none where the table has no rows: a.cat knows
			}
			return a.cat(ctx, r, table, o.from, min(o.to, r.EndRow()-1), segment.ScanOptions{Columns: o.columns, Reverse: o.reverse})
		},
	}.command()
	textFlag(c, &o.table, "table", "table of an archive that has several", nil)
	c.Flags().Uint64Var(&o.from, "from", 0, "first row (default the table's first)")
	c.Flags().Uint64Var(&o.to, "to", 0, "last row (default the table's last)")
	listFlag(c, &o.columns, "columns", true, "columns, in this order (default all)")
	c.Flags().BoolVar(&o.reverse, "reverse", false, "the last row first")
	return c
}

// cat prints rows, of which to is the last.
func (a *app) cat(ctx context.Context, r rows, table string, from, to uint64, o segment.ScanOptions) error {
	if r.FirstRow() == r.EndRow() {
		return nil // a table without rows
	}
	shown := pickColumns(r.Schema(), o.Columns)
	e := json.NewEncoder(a.stdout)
	e.SetEscapeHTML(false)
	n, step := from, uint64(1)
	if o.Reverse {
		n, step = to, ^uint64(0)
	}
	for row, err := range r.Scan(ctx, from, to+1, o) {
		if err == nil {
			err = e.Encode(rowJSON{table, n, rowValues{shown, row}})
		}
		if err != nil {
			return err
		}
		n += step
	}
	return nil
}

// noRow says which rows there are.
func noRow(r rows, table string, n uint64) error {
	if r.FirstRow() == r.EndRow() {
		return missingf("no row %d: %q has none", n, table)
	}
	return missingf("no row %d: %q has %d to %d", n, table, r.FirstRow(), r.EndRow()-1)
}
