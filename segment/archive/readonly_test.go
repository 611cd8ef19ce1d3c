package archive_test

import (
	"context"
	"errors"
	"io"
	"os"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/segment/archive"
)

// readOnlyFS refuses everything that would change something, and counts it.
type readOnlyFS struct {
	vfs.FS
	t      testing.TB
	writes atomic.Int64
}

func readOnly(t testing.TB, fs vfs.FS) *readOnlyFS { return &readOnlyFS{FS: fs, t: t} }

func (f *readOnlyFS) insist() {
	f.t.Helper()
	if n := f.writes.Load(); n != 0 {
		f.t.Errorf("%d attempts to write", n)
	}
}

func (f *readOnlyFS) no() error {
	f.writes.Add(1)
	return os.ErrPermission
}

func (f *readOnlyFS) Create(string, vfs.DiskWriteCategory) (vfs.File, error) { return nil, f.no() }
func (f *readOnlyFS) Link(string, string) error                              { return f.no() }
func (f *readOnlyFS) Remove(string) error                                    { return f.no() }
func (f *readOnlyFS) RemoveAll(string) error                                 { return f.no() }
func (f *readOnlyFS) Rename(string, string) error                            { return f.no() }
func (f *readOnlyFS) MkdirAll(string, os.FileMode) error                     { return f.no() }
func (f *readOnlyFS) Lock(string) (io.Closer, error)                         { return nil, f.no() }
func (f *readOnlyFS) OpenReadWrite(string, vfs.DiskWriteCategory, ...vfs.OpenOption) (vfs.File, error) {
	return nil, f.no()
}
func (f *readOnlyFS) ReuseForWrite(string, string, vfs.DiskWriteCategory) (vfs.File, error) {
	return nil, f.no()
}

// Everything that reads works where nothing can be written, leftovers and all.
func TestReadOnlyWritesNothing(t *testing.T) {
	mem := vfs.NewMem()
	tables := small(t, mem, dictPolicy)
	writeFile(t, mem, "/chain/blocks/0000000100.1.tmp", []byte("half"))
	writeFile(t, mem, "/chain/MANIFEST.json.tmp", []byte("half"))
	before := tree(t, mem, "/")
	fs := readsOnly(t, mem)
	a := mustOpen(t, fs, "/chain", archive.Options{ReadOnly: true, OpenFiles: 1})
	wantRows(t, a, tables)
	wantWhole(t, a)
	if _, err := a.Stats(context.Background()); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Expect(context.Background(), segments(t, a)[0].Checksum.String()); err != nil {
		t.Fatal(err)
	}
	if err := a.Refresh(); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Recompress(context.Background(), archive.RecompressOptions{DryRun: true}, nil); err != nil {
		t.Fatal(err)
	}
	mustClose(t, a)
	fs.insist()
	if now := tree(t, mem, "/"); len(now) != len(before) {
		t.Errorf("%q, before %q", now, before)
	}
	if _, err := archive.Open(fs, "/chain", archive.Options{}); err == nil || errors.Is(err, archive.ErrLocked) {
		t.Errorf("a writer where nothing can be written: %v", err)
	}
}

// A read-only archive goes on when a writer replaces files under it.
func TestReadBesideAWriter(t *testing.T) {
	fs := vfs.NewMem()
	tables := small(t, fs, s2Policy)
	w := mustOpen(t, fs, "/chain", archive.Options{})
	defer mustClose(t, w)
	r := mustOpen(t, fs, "/chain", archive.Options{ReadOnly: true})
	defer mustClose(t, r)
	for _, text := range []string{zstdPolicy, dictPolicy, rawPolicy} {
		mustRecompress(t, w, under(t, text))
		wantRows(t, r, tables) // those that it had opened, and those that are gone
		wantWhole(t, r)
	}
	if err := r.Refresh(); err != nil {
		t.Fatal(err)
	}
	if segments(t, r)[0].File != segments(t, w)[0].File || r.Metrics().Gauges.OpenFiles > 6 {
		t.Fatalf("after Refresh: %+v", r.Metrics().Gauges)
	}
	wantRows(t, r, tables)
}

// A reader that opens while a writer seals finds every row: those of the logs that
// are gone when it looks are in segments by then.
func TestOpenBesideASeal(t *testing.T) {
	fs := vfs.NewMem()
	w := openPairs(t, fs, archive.Options{SealBytes: -1})
	defer mustClose(t, w)
	commit := func(from, to uint64) {
		for n := from; n < to; n++ {
			if _, err := pair(w, n); err != nil {
				t.Fatal(err)
			}
		}
	}
	var between func()
	hooked := errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if do := between; do != nil && op.Kind == errorfs.OpList {
			between = nil
			do()
		}
		return nil
	}))
	seal := func() {
		if err := w.Seal(context.Background()); err != nil {
			t.Error(err)
		}
	}
	rows := uint64(0)
	for _, c := range []struct {
		name string
		do   func()
	}{
		{"sealed", seal},
		{"sealed, and one more", func() { seal(); commit(rows, rows+1) }},
		{"rewound and sealed", func() {
			if err := w.Rewind(context.Background(), map[string]uint64{"blocks": rows - 1, "notes": rows - 1}); err != nil {
				t.Error(err)
			}
			seal()
		}},
	} {
		commit(rows, rows+3)
		rows += 3
		between = c.do
		r := mustOpen(t, hooked, "/chain", archive.Options{ReadOnly: true})
		want := w.Tables()
		for i, got := range r.Tables() {
			if got.FirstRow+got.Rows != want[i].FirstRow+want[i].Rows {
				t.Errorf("%s: %s has %d rows, the writer's %d", c.name, got.Table, got.Rows, want[i].Rows)
			}
		}
		mustClose(t, r)
		rows = want[0].Rows
	}
}

// What replaced the archive altogether is not what the reader knew.
func TestStale(t *testing.T) {
	fs := vfs.NewMem()
	small(t, fs, s2Policy)
	r := mustOpen(t, fs, "/chain", archive.Options{ReadOnly: true})
	defer mustClose(t, r)
	if err := fs.RemoveAll("/chain"); err != nil {
		t.Fatal(err)
	}
	blocks, err := r.Table("blocks")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := blocks.Row(nil, 100); !errors.Is(err, archive.ErrNotArchive) {
		t.Errorf("the archive is gone: %v", err)
	}
	tables := testTables(t, 123, s2Policy)
	mustBuild(t, fs, "/chain", archive.CreateOptions{}, tables)
	if _, err := blocks.Row(nil, 100); !errors.Is(err, archive.ErrStale) {
		t.Errorf("other rows: %v", err)
	}
	if err := r.Refresh(); err != nil {
		t.Fatal(err)
	}
	wantRows(t, r, tables)
	if err := fs.RemoveAll("/chain"); err != nil {
		t.Fatal(err)
	}
	mustBuild(t, fs, "/chain", archive.CreateOptions{}, tables[1:])
	if err := r.Refresh(); !errors.Is(err, archive.ErrStale) {
		t.Errorf("a table less: %v", err)
	}
}

// A file that the manifest names still is lost, not stale.
func TestMissingFile(t *testing.T) {
	for _, ro := range []bool{true, false} {
		fs := vfs.NewMem()
		tables := small(t, fs, s2Policy)
		a := mustOpen(t, fs, "/chain", archive.Options{ReadOnly: ro})
		s := segments(t, a)[1]
		if err := fs.Remove(a.Path(s)); err != nil {
			t.Fatal(err)
		}
		blocks, _ := a.Table("blocks")
		_, err := blocks.Row(nil, s.FirstRow)
		var ce *segment.CorruptionError
		if !errors.As(err, &ce) || ce.Section != segment.SectionFile || ce.File != s.File || !errors.Is(err, os.ErrNotExist) {
			t.Fatalf("read-only %t: %v", ro, err)
		}
		if row, err := blocks.Row(nil, 100); err != nil || !equal(row, tables[0].rows[0]) {
			t.Fatalf("row of another segment: %v", err)
		}
		if found := flaws(t, a, segment.Checksums); len(found) != 1 || found[0].File != s.File {
			t.Fatalf("flaws %v", found)
		}
		mustClose(t, a)
	}
}
