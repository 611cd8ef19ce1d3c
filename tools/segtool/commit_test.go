package main

import (
	"context"
	"strconv"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/segment/archive"
)

// commit DIR TABLE ROWS commits so many rows in one batch: in each column a number, or
// as many bytes as the column wants.
func cmdCommit(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: commit DIR TABLE ROWS")
	}
	n, err := strconv.ParseUint(args[2], 10, 64)
	ts.Check(err)
	a, err := archive.Open(vfs.Default, ts.MkAbs(args[0]), archive.Options{SealBytes: -1})
	ts.Check(err)
	t, err := a.Table(args[1])
	ts.Check(err)
	b := a.Batch()
	for i := range n {
		row := segment.Row{}
		for _, c := range t.Schema().Columns {
			switch c.Kind {
			case segment.Uint:
				row = append(row, segment.AppendUint(nil, t.EndRow()+i))
			case segment.Fixed:
				row = append(row, make([]byte, c.Width))
			default:
				row = append(row, strconv.AppendUint([]byte("row "), t.EndRow()+i, 10))
			}
		}
		ts.Check(b.Append(args[1], row))
	}
	_, err = b.Commit(context.Background())
	ts.Check(err)
	ts.Check(a.Close())
}
