package archive_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/segment/archive"
)

func TestBuildAndRead(t *testing.T) {
	for name, text := range map[string]string{"direct": zstdPolicy, "spooled": dictPolicy} {
		t.Run(name, func(t *testing.T) {
			fs := vfs.NewMem()
			tables := testTables(t, 700, text)
			info := mustBuild(t, fs, "/chain", archive.CreateOptions{SegmentBytes: 40 << 10, ChainID: "test", Workers: 2}, tables)
			a := mustOpen(t, fs, "/chain", archive.Options{})
			defer mustClose(t, a)
			wantRows(t, a, tables)
			wantWhole(t, a)
			wantTidy(t, fs, a)
			if got := a.Info(); got.ChainID != "test" || got.Rows != info.Rows || got.StoredBytes != info.StoredBytes || got.ManifestBytes != info.ManifestBytes {
				t.Fatalf("info %+v, built was %+v", got, info)
			}
			blocks := a.Tables()[0]
			if blocks.Segments < 3 || blocks.Rows != 700 || blocks.FirstRow != 100 || !blocks.Schema.Equal(blocksSchema()) {
				t.Fatalf("table %+v", blocks)
			}
			for _, s := range segments(t, a) { // what the manifest says is what is there
				sum, size, err := archive.Checksum(context.Background(), fs, a.Path(s))
				if err != nil || sum != s.Checksum || size != s.StoredBytes {
					t.Fatalf("%s: checksum %s of %d bytes: %v", s.File, sum, size, err)
				}
			}
		})
	}
}

// Segments end where the rows reach the size asked for, whatever the workers.
func TestBuildIsDeterministic(t *testing.T) {
	var before []archive.SegmentInfo
	for _, workers := range []int{1, 2, 5} {
		fs := vfs.NewMem()
		mustBuild(t, fs, "/chain", archive.CreateOptions{SegmentBytes: 40 << 10, Workers: workers}, testTables(t, 500, dictPolicy))
		a := mustOpen(t, fs, "/chain", archive.Options{ReadOnly: true})
		now := segments(t, a)
		mustClose(t, a)
		for i := range before {
			if before[i].File != now[i].File {
				t.Fatalf("%d workers: %s, with one it was %s", workers, now[i].File, before[i].File)
			}
		}
		before = now
	}
}

func TestCreateRefuses(t *testing.T) {
	fs := vfs.NewMem()
	tables := testTables(t, 10, zstdPolicy)
	mustBuild(t, fs, "/chain", archive.CreateOptions{}, tables)
	writeFile(t, fs, "/file", []byte("x"))
	if err := fs.MkdirAll("/directory", 0o777); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"/chain", "/file", "/directory"} {
		if _, err := archive.Create(fs, dir, archive.CreateOptions{}); !errors.Is(err, archive.ErrExists) {
			t.Errorf("Create(%s): %v", dir, err)
		}
	}
	before := tree(t, fs, "/")
	if _, err := archive.Create(fs, "/no/such/chain", archive.CreateOptions{}); err == nil || errors.Is(err, archive.ErrExists) {
		t.Errorf("Create without a parent: %v", err)
	}
	if now := tree(t, fs, "/"); !slices.Equal(now, before) {
		t.Errorf("something was made: %q", now)
	}
}

func TestBuilderRefusesAndLives(t *testing.T) {
	fs := vfs.NewMem()
	b, err := archive.Create(fs, "/chain", archive.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Abort()
	tables := testTables(t, 3, dictPolicy)
	if err := b.Create(tables[0].spec); err != nil {
		t.Fatal(err)
	}
	if err := b.Create(tables[0].spec); !errors.Is(err, archive.ErrExists) {
		t.Errorf("the same table twice: %v", err)
	}
	for _, name := range []string{"", "../x", "a/b", "index", "A", ".", "x.y"} {
		if err := b.Create(archive.TableSpec{Name: name, Schema: notesSchema()}); err == nil {
			t.Errorf("table %q was made", name)
		}
	}
	if err := b.Append("nothing", segment.Row{nil}); !errors.Is(err, archive.ErrNoTable) {
		t.Errorf("row for a table that is not there: %v", err)
	}
	if err := b.Append("blocks", segment.Row{nil}); err == nil {
		t.Error("a row that does not fit was taken")
	}
	for _, row := range tables[0].rows {
		if err := b.Append("blocks", row); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.Finish(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := b.Append("blocks", tables[0].rows[0]); !errors.Is(err, archive.ErrClosed) {
		t.Errorf("append after Finish: %v", err)
	}
	if _, err := b.Finish(context.Background()); !errors.Is(err, archive.ErrClosed) {
		t.Errorf("Finish twice: %v", err)
	}
	if err := b.Abort(); err != nil {
		t.Error(err)
	}
	a := mustOpen(t, fs, "/chain", archive.Options{})
	defer mustClose(t, a)
	wantRows(t, a, tables[:1])
}

// What a killed builder has left goes with the next one; what a living one is
// writing stays.
func TestStaleBuilders(t *testing.T) {
	fs := vfs.NewMem()
	living, err := archive.Create(fs, "/chain", archive.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := fs.MkdirAll("/chain.tmp-0123456789abcdef/blocks", 0o777); err != nil {
		t.Fatal(err)
	}
	writeFile(t, fs, "/chain.tmp-0123456789abcdef/blocks/1.tmp", []byte("half"))
	writeFile(t, fs, "/chain.tmp-notes", []byte("mine"))
	b, err := archive.Create(fs, "/chain", archive.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	names := tree(t, fs, "/")
	if slices.Contains(names, "/chain.tmp-0123456789abcdef") || !slices.Contains(names, "/chain.tmp-notes") {
		t.Fatalf("left: %q", names)
	}
	tables := testTables(t, 10, zstdPolicy)
	for _, x := range []*archive.Builder{living, b} {
		if err := x.Create(tables[1].spec); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := living.Finish(context.Background()); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Finish(context.Background()); !errors.Is(err, archive.ErrExists) {
		t.Fatalf("the second of two builders: %v", err)
	}
	if err := b.Abort(); err != nil {
		t.Fatal(err)
	}
	mustClose(t, mustOpen(t, fs, "/chain", archive.Options{}))
	if names := tree(t, fs, "/"); !slices.Equal(names, []string{"/chain", "/chain.tmp-notes", "/chain/LOCK", "/chain/MANIFEST.json", "/chain/notes"}) {
		t.Fatalf("left: %q", names)
	}
}

func TestAbortLeavesNothing(t *testing.T) {
	for _, text := range []string{zstdPolicy, dictPolicy} {
		fs := vfs.NewMem()
		tables := testTables(t, 300, text)
		b, err := archive.Create(fs, "/chain", archive.CreateOptions{SegmentBytes: 20 << 10})
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Create(tables[0].spec); err != nil {
			t.Fatal(err)
		}
		for _, row := range tables[0].rows {
			if err := b.Append("blocks", row); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.Abort(); err != nil {
			t.Fatal(err)
		}
		if err := b.Abort(); err != nil {
			t.Fatal(err)
		}
		if names := tree(t, fs, "/"); len(names) != 0 {
			t.Fatalf("left: %q", names)
		}
		if _, err := b.Finish(context.Background()); !errors.Is(err, archive.ErrClosed) {
			t.Fatalf("Finish after Abort: %v", err)
		}
	}
}

func TestCancelledBuildLeavesNothing(t *testing.T) {
	for _, text := range []string{zstdPolicy, dictPolicy} {
		fs := vfs.NewMem()
		ctx, cancel := context.WithCancel(context.Background())
		tables := testTables(t, 500, text)
		o := archive.CreateOptions{SegmentBytes: 20 << 10, Context: ctx}
		calls := 0
		o.Progress = func(archive.Progress) {
			if calls++; calls == 3 {
				cancel()
			}
		}
		_, err := build(fs, "/chain", o, tables)
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("cancelled: %v", err)
		}
		if names := tree(t, fs, "/"); len(names) != 0 {
			t.Fatalf("left: %q", names)
		}
		cancel()
	}
}
