package main

import (
	"context"
	"errors"
	"iter"
	"os"
	"path/filepath"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/segstore/segstore/index"
	"github.com/segstore/segstore/segment/archive"
)

// spoil DIR INDEX HOW makes entries of an index wrong behind the archive's back:
// "delete" the one of the first row, "add" one of a key that no row has to the first row,
// or "move" the one of the first row to the last.
func cmdSpoil(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: spoil DIR INDEX HOW")
	}
	dir := ts.MkAbs(args[0])
	a, err := archive.Open(vfs.Default, dir, archive.Options{ReadOnly: true})
	ts.Check(err)
	var entries []index.Entry
	for _, i := range a.Indexes() {
		if i.Name != args[1] {
			continue
		}
		if i.Key.Function != "" {
			ts.Fatalf("%s is of a function", i.Name)
		}
		t, err := a.Table(i.Table)
		ts.Check(err)
		n := t.FirstRow()
		for row, err := range t.Rows(n, i.Key.Column) {
			ts.Check(err)
			entries = append(entries, index.Entry{Key: append([]byte{}, row[0]...), Row: n})
			n++
		}
	}
	ts.Check(a.Close())
	if len(entries) < 2 {
		ts.Fatalf("index %s of %d rows", args[1], len(entries))
	}
	switch args[2] {
	case "delete":
		entries = entries[1:]
	case "add":
		entries = append(entries, index.Entry{Key: []byte("no row's"), Row: entries[0].Row})
	case "move":
		entries[0].Row = entries[len(entries)-1].Row
	default:
		ts.Fatalf("spoil %q", args[2])
	}
	ts.Check(reload(filepath.Join(dir, "index"), args[1], entries))
}

// reload gives an index other entries: for the writer, and for readers.
func reload(dir, name string, entries []index.Entry) (err error) {
	s, err := index.Open(vfs.Default, filepath.Join(dir, "live"), index.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	st, _ := s.State(name)
	var seq iter.Seq2[index.Entry, error] = func(yield func(index.Entry, error) bool) {
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
	}
	if err := s.Load(context.Background(), name, st, seq, index.LoadOptions{}); err != nil {
		return err
	}
	copies, err := filepath.Glob(filepath.Join(dir, "checkpoint-*"))
	if err != nil {
		return err
	}
	for _, c := range copies {
		if err := os.RemoveAll(c); err != nil {
			return err
		}
	}
	return s.Checkpoint(filepath.Join(dir, "checkpoint-000900"))
}
