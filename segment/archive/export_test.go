package archive

import (
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/segstore/segstore/segment"
)

// WriteManySegments puts a manifest in dir whose first table has n segments, of
// one row each, that are not there.
func WriteManySegments(t testing.TB, fs vfs.FS, dir string, n int) {
	t.Helper()
	m, _, err := readManifest(fs, dir)
	if err != nil {
		t.Fatal(err)
	}
	m.tables = slices.Clone(m.tables)
	tab := &m.tables[0]
	tab.segments = nil
	for i := range uint64(n) {
		s := SegmentInfo{Table: tab.name, FirstRow: i, Rows: 1, RawBytes: 9, StoredBytes: 500, Checksum: segment.Checksum(i)}
		s.File = fileName(tab.name, i, 1, s.Checksum)
		tab.segments = append(tab.segments, s)
	}
	if _, _, err := writeManifest(fs, dir, m); err != nil {
		t.Fatal(err)
	}
}

// LockFiles takes the lock under which files are opened and closed.
func LockFiles(a *Archive) (unlock func()) {
	a.files.mu.Lock()
	return a.files.mu.Unlock
}

// NameEach lets the manifest name every segment by itself when it is recompressed.
func NameEach(a *Archive) { a.share = 0 }

// CountCommit returns what counts, and tells listeners of, a commit of 3 rows of 9 bytes.
func CountCommit(a *Archive) func() {
	tables := []tableFrames{{table: "blocks", frames: []frame{{rows: 1, raw: 4}, {rows: 1, raw: 3}}}, {table: "notes", frames: []frame{{rows: 1, raw: 2}}}}
	began := time.Now()
	return func() { a.committed(tables, 1, true, began, nil) }
}
