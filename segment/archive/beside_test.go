package archive_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/segstore/segstore/segment/archive"
)

// readsOnly returns a file system that refuses and counts whatever would change
// something, in files too.
func readsOnly(t testing.TB, fs vfs.FS) *readOnlyFS {
	return readOnly(t, errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite && op.Kind != errorfs.OpFileClose {
			t.Errorf("operation %d on %s", op.Kind, op.Path)
			return errors.ErrUnsupported
		}
		return nil
	})))
}

// readsBeside commits, seals, rewinds, prunes and recompresses an archive in dir, while a
// read-only one reads it at another path: rows and keys are those of the writer at every
// step, and the reader tries to write nothing.
func readsBeside(t *testing.T, dir, at string) {
	t.Helper()
	fs := readsOnly(t, vfs.Default)
	tables := liveTables(t, s2Policy)
	tables[1].spec.FirstRow = 0
	mustBuild(t, vfs.Default, dir, archive.CreateOptions{}, tables)
	w := mustOpen(t, vfs.Default, dir, archive.Options{SealBytes: -1, Workers: 1})
	ctx := t.Context()
	for _, s := range []archive.IndexSpec{{Name: "hash", Table: "blocks", Key: key(t, "hash")}, {Name: "note", Table: "notes", Key: key(t, "note")}} {
		if err := w.CreateIndex(ctx, s, nil); err != nil {
			t.Fatal(err)
		}
	}
	old := mustOpen(t, fs, at, archive.Options{ReadOnly: true})
	steps := []func() error{
		func() error { return nil },
		func() error { return w.Seal(ctx) },
		func() error { return w.Rewind(ctx, archive.Position{"blocks": 25, "notes": 27}) },
		func() error { _, err := w.Recompress(ctx, under(t, zstdPolicy), nil); return err },
		func() error { return w.BuildIndex(ctx, "hash", nil) },
		func() error { return w.Seal(ctx) },
		func() error { _, err := w.Prune(ctx, "notes", 20, false); return err },
	}
	for i, do := range steps {
		for range 10 {
			n := w.Tables()[0].Rows
			if _, err := pair(w, n); err != nil {
				t.Fatal(err)
			}
		}
		if err := do(); err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
		want, err := read(w)
		if err != nil {
			t.Fatal(err)
		}
		r := mustOpen(t, fs, at, archive.Options{ReadOnly: true})
		if err := old.Refresh(); err != nil {
			t.Fatal(err)
		}
		for what, r := range map[string]*archive.Archive{"opened": r, "refreshed": old} {
			if got, err := read(r); err != nil || !got.equal(want) || len(got.rows["blocks"]) == 0 {
				t.Fatalf("step %d, %s: %v, %v, the writer has %v", i, what, got, err, want)
			}
			wantKeys(t, r, "hash", "blocks", 1)
			wantKeys(t, r, "note", "notes", 0)
			wantWhole(t, r)
		}
		mustClose(t, r)
	}
	mustClose(t, w) // a reader stays, and another comes
	r := mustOpen(t, fs, at, archive.Options{ReadOnly: true})
	for _, r := range []*archive.Archive{r, old} {
		wantKeys(t, r, "hash", "blocks", 1)
		if _, err := r.Stats(context.Background()); err != nil {
			t.Fatal(err)
		}
		if _, err := pair(r, 0); !errors.Is(err, archive.ErrReadOnly) {
			t.Errorf("a commit: %v", err)
		}
		mustClose(t, r)
	}
	fs.insist()
}

func TestReadOnlyBesideALiveWriter(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "chain")
	readsBeside(t, dir, dir)
}
