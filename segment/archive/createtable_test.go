package archive_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/segment/archive"
)

// A table is added to an archive that is written and read: batches begun before append
// to it, views do not have it, readers have it when they look again.
func TestCreateTable(t *testing.T) {
	fs, ctx := vfs.NewMem(), context.Background()
	a := openPairs(t, fs, archive.Options{SealBytes: -1, Workers: 1})
	_, err := pair(a, 0)
	must(t, err)
	early := a.Batch()
	must(t, early.Append("blocks", killedBlock(1)))
	view, err := a.View()
	must(t, err)
	defer view.Close()
	reader := mustOpen(t, fs, "/chain", archive.Options{ReadOnly: true})
	defer mustClose(t, reader)

	extra := archive.TableSpec{Name: "extra", Schema: notesSchema(), FirstRow: 100}
	must(t, a.CreateTable(ctx, extra))
	must(t, early.Append("extra", killedNote(100), killedNote(101)))
	_, err = early.Commit(ctx)
	must(t, err)

	if _, err := view.Table("extra"); !errors.Is(err, archive.ErrNoTable) {
		t.Errorf("a view from before: %v", err)
	}
	if _, err := reader.Table("extra"); !errors.Is(err, archive.ErrNoTable) {
		t.Errorf("a reader that has not looked again: %v", err)
	}
	must(t, reader.Refresh())
	check := func(a *archive.Archive) {
		t.Helper()
		got, err := read(a)
		must(t, err)
		if got.first["extra"] != 100 || len(got.rows["extra"]) != 102 || !equal(got.rows["extra"][101], killedNote(101)) || len(got.rows["blocks"]) != 2 {
			t.Errorf("rows of extra from %d: %q; %d blocks", got.first["extra"], got.rows["extra"], len(got.rows["blocks"]))
		}
	}
	check(reader)
	must(t, a.Seal(ctx))
	must(t, a.CreateIndex(ctx, archive.IndexSpec{Name: "extra_note", Table: "extra", Key: key(t, "note")}, nil))
	check(a)
	wantKeys(t, a, "extra_note", "extra", 0)
	mustClose(t, a)
	a = mustOpen(t, fs, "/chain", archive.Options{})
	check(a)
	wantWhole(t, a)
	defer mustClose(t, a)

	before := readFile(t, fs, "/chain/MANIFEST.json")
	if err := a.CreateTable(ctx, extra); !errors.Is(err, archive.ErrExists) {
		t.Errorf("twice: %v", err)
	}
	for _, bad := range []archive.TableSpec{
		{Name: "index", Schema: notesSchema()},
		{Name: "../x", Schema: notesSchema()},
		{Name: "none", Schema: segment.Schema{}},
	} {
		if err := a.CreateTable(ctx, bad); err == nil {
			t.Errorf("created %+v", bad)
		}
	}
	if err := reader.CreateTable(ctx, archive.TableSpec{Name: "more", Schema: notesSchema()}); !errors.Is(err, archive.ErrReadOnly) {
		t.Errorf("read-only: %v", err)
	}
	if after := readFile(t, fs, "/chain/MANIFEST.json"); string(after) != string(before) {
		t.Errorf("the manifest was %s, is %s", before, after)
	}
}

// A manifest names 1024 tables at most.
func TestCreateTableMost(t *testing.T) {
	fs := vfs.NewMem()
	tables := make([]testTable, 1023)
	for i := range tables {
		tables[i].spec = archive.TableSpec{Name: fmt.Sprintf("t%d", i), Schema: notesSchema(), Policy: policy(t, s2Policy)}
	}
	mustBuild(t, fs, "/chain", archive.CreateOptions{}, tables)
	a := mustOpen(t, fs, "/chain", archive.Options{})
	must(t, a.CreateTable(context.Background(), archive.TableSpec{Name: "last", Schema: notesSchema()}))
	if err := a.CreateTable(context.Background(), archive.TableSpec{Name: "one_more", Schema: notesSchema()}); err == nil {
		t.Error("a table above the limit")
	}
	mustClose(t, a)
	a = mustOpen(t, fs, "/chain", archive.Options{})
	if n := len(a.Tables()); n != 1024 {
		t.Errorf("%d tables", n)
	}
	mustClose(t, a)
}
