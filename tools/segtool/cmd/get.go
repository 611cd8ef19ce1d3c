package cmd

import (
	"context"
	"strconv"

	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/segment/archive"
	"github.com/spf13/cobra"
)

func (a *app) getVerb() *cobra.Command {
	var o struct {
		table, column string
		key, index    string
		raw           bool
	}
	c := verb{
		use: "get PATH (ROW | --key K) [--table T] [--column C [--raw]]", short: "Print one row, or one column of it",
		long: `Get prints the row of that number: numbers as such, text as it is, and bytes in hex.
With --column it prints that value alone, and decodes nothing else; with --raw
its bytes as they are.

--key finds rows by an index of the archive instead of by number: a hash as explorers
print it, 0x optional, or a number; every index that can read it is asked, or the one
that --index names. Of several rows with the same key the newest comes first.`,
		example: "  segtool get chain 46147 --table blocks\n  segtool get chain 0 --table transactions --column transaction --raw >tx\n  segtool get chain --key 0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060",
		codes:   []int{codeFine, codeFailed, codeUsage, codeCorrupt, codeMissing},
		args:    cobra.RangeArgs(1, 2),
		run: func(_ context.Context, args []string) error {
			if o.raw && (o.column == "" || a.json) {
				return usagef("--raw is for one --column, and not for --json")
			}
			if (o.key == "") == (len(args) == 1) {
				return usagef("which row? its number, or --key")
			}
			if o.key != "" {
				if o.table != "" {
					return usagef("--key finds the table: --table is for rows by number")
				}
				return a.getKey(args[0], o.key, o.index, func(r rows, table string, n uint64) error {
					return a.get(r, table, n, o.column, o.raw)
				})
			}
			n, err := strconv.ParseUint(args[1], 10, 64)
			if err != nil {
				return usagef("row %q is not a number", args[1])
			}
			r, table, done, err := a.openRows(args[0], o.table)
			if err != nil {
				return err
			}
			defer done()
			return a.get(r, table, n, o.column, o.raw)
		},
	}.command()
	textFlag(c, &o.table, "table", "table of an archive that has several", nil)
	textFlag(c, &o.key, "key", "key of the rows, as explorers print it", nil)
	textFlag(c, &o.index, "index", "with --key: the index to ask (default all)", nil)
	textFlag(c, &o.column, "column", "print this column only", nil)
	c.Flags().BoolVar(&o.raw, "raw", false, "print the bytes of the value, no newline after them")
	return c
}

func (a *app) get(r rows, table string, n uint64, column string, raw bool) error {
	columns := r.Schema().Columns
	var row segment.Row
	var err error
	if column == "" {
		row, err = r.Row(nil, n)
	} else {
		columns = pickColumns(r.Schema(), []string{column})
		row, err = oneValue(r, n, column)
	}
	if err != nil {
		return err
	}
	switch {
	case raw:
		return a.bytesTo("-", row[0])
	case a.json:
		return a.printJSON(rowJSON{table, n, rowValues{columns, row}})
	case column != "":
		a.printf("%s\n", value(columns[0], row[0]))
		return nil
	}
	width := 0
	for _, c := range columns {
		width = max(width, len(c.Name))
	}
	for i, c := range columns {
		a.printf("%-*s  %s\n", width, c.Name, value(c, row[i]))
	}
	return nil
}

// oneValue reads one column of a row.
func oneValue(r rows, n uint64, column string) (segment.Row, error) {
	var c interface {
		Value(dst []byte, n uint64) ([]byte, error)
	}
	var err error
	switch r := r.(type) {
	case *archive.Table:
		c, err = r.Column(column)
	case *segment.Reader:
		c, err = r.Column(column)
	}
	if err != nil {
		return nil, err
	}
	v, err := c.Value(nil, n)
	return segment.Row{v}, err
}
