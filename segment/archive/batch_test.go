package archive_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/segstore/segstore/segment/archive"
)

// The manifest of an archive of many small segments is not written for each of
// them; that of a few large ones is. Whenever it is written, it is while all old
// files that it does not name any more, and all new ones, are there.
func TestManifestOfManySegments(t *testing.T) {
	mem := vfs.NewMem()
	tables := testTables(t, 2000, s2Policy)
	mustBuild(t, mem, "/chain", archive.CreateOptions{SegmentBytes: 16 << 10, Workers: 1, Policy: policy(t, s2Policy)}, tables)
	manifests, removed := 0, 0
	fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		switch {
		case op.Kind == errorfs.OpRename && strings.Contains(op.Path, archive.ManifestName):
			manifests++
		case op.Kind == errorfs.OpRemove && strings.HasSuffix(op.Path, ".seg"):
			if removed++; manifests == 0 {
				t.Errorf("%s is removed before the manifest is written", op.Path)
			}
		}
		return nil
	}))
	a := mustOpen(t, fs, "/chain", archive.Options{})
	defer func() { mustClose(t, a) }()
	n := len(segments(t, a))
	rep := mustRecompress(t, a, under(t, rawPolicy))
	// Sixteen times the manifest's bytes for each; at the end what is left.
	size := a.Info().ManifestBytes
	if most := int(rep.Total.StoredAfter/(12*size)) + 2; manifests > most || manifests < 2 || removed != n {
		t.Errorf("%d manifests of %d bytes for %d segments of %d bytes, want up to %d; %d files removed", manifests, size, n, rep.Total.StoredAfter, most, removed)
	}
	wantRows(t, a, tables[:1])
	wantTidy(t, mem, a)
	manifests = 0
	archive.NameEach(a)
	mustRecompress(t, a, under(t, zstdPolicy))
	if manifests != n {
		t.Errorf("%d manifests for %d segments, of which each is due", manifests, n)
	}
}

// A manifest that cannot be written: what waited for it is not reported, is gone,
// and the old files serve.
func TestBatchThatFails(t *testing.T) {
	mem := vfs.NewMem()
	tables := small(t, mem, s2Policy)
	fail := true
	fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if fail && op.Kind == errorfs.OpCreate && strings.Contains(op.Path, archive.ManifestName) {
			return errorfs.ErrInjected
		}
		return nil
	}))
	a := mustOpen(t, fs, "/chain", archive.Options{})
	defer mustClose(t, a)
	before := segments(t, a)
	rep, err := a.Recompress(context.Background(), under(t, zstdPolicy), nil)
	if rep != nil || !errors.Is(err, errorfs.ErrInjected) {
		t.Fatalf("%+v, %v", rep, err)
	}
	if now := segments(t, a); now[0].File != before[0].File {
		t.Errorf("%s is named", now[0].File)
	}
	wantTidy(t, mem, a)
	wantRows(t, a, tables)
	fail = false
	if rep := mustRecompress(t, a, under(t, zstdPolicy)); rep.Total.Skipped != 0 || len(rep.Tables) != 3 {
		t.Errorf("%+v", rep.Total)
	}
	wantTidy(t, mem, a)
	wantRows(t, a, tables)
}

// Where there is no room for one more new file, those that wait are named and
// their old files go first.
func TestBatchMakesRoom(t *testing.T) {
	mem := vfs.NewMem()
	tables := small(t, mem, s2Policy)
	mem.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: 1 << 30, TotalBytes: 1 << 30})
	fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		switch {
		case op.Kind == errorfs.OpRename && strings.HasSuffix(op.Path, ".tmp") && !strings.Contains(op.Path, archive.ManifestName):
			mem.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: 1 << 10, TotalBytes: 1 << 30})
		case op.Kind == errorfs.OpRemove:
			mem.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: 1 << 30, TotalBytes: 1 << 30})
		}
		return nil
	}))
	a := mustOpen(t, fs, "/chain", archive.Options{})
	defer mustClose(t, a)
	mustRecompress(t, a, under(t, zstdPolicy))
	wantRows(t, a, tables)
	wantTidy(t, mem, a)
}
