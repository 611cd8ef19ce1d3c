package archive_test

import (
	"bytes"
	"context"
	"errors"
	iofs "io/fs"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/segment/archive"
)

// Every byte of one segment's file flipped, and every truncation of it, and bytes
// behind its end: verify finds it in that file, no row is ever a wrong one, and
// rows of the others are read.
func TestDamagedSegment(t *testing.T) {
	fs := vfs.NewMem()
	tables := testTables(t, 12, zstdPolicy)
	mustBuild(t, fs, "/chain", archive.CreateOptions{SegmentBytes: 800, Workers: 1}, tables)
	a := mustOpen(t, fs, "/chain", archive.Options{ReadOnly: true})
	all := segments(t, a)
	mustClose(t, a)
	s := all[1]
	if s.Table != "blocks" || s.FirstRow == 100 {
		t.Fatalf("%+v", s)
	}
	path := "/chain/" + s.File
	whole := readFile(t, fs, path)
	try := func(what string, at int, b []byte) {
		writeFile(t, fs, path, b)
		a := mustOpen(t, fs, "/chain", archive.Options{ReadOnly: true})
		defer mustClose(t, a)
		for _, d := range []segment.Depth{segment.Checksums, segment.Content} {
			found := flaws(t, a, d)
			if len(found) == 0 {
				t.Errorf("%s %d, depth %d: not found", what, at, d)
			}
			for _, f := range found {
				if f.File != s.File {
					t.Errorf("%s %d: flaw in %q", what, at, f.File)
				}
			}
		}
		blocks, _ := a.Table("blocks")
		for i, want := range tables[0].rows {
			n := 100 + uint64(i)
			row, err := blocks.Row(nil, n)
			switch {
			case err == nil && !equal(row, want):
				t.Errorf("%s %d: row %d is %q", what, at, n, row)
			case err != nil && (n < s.FirstRow || n >= s.EndRow()):
				t.Errorf("%s %d: row %d of another segment: %v", what, at, n, err)
			case err != nil && !errors.Is(err, segment.ErrCorrupt):
				t.Errorf("%s %d: row %d: %v", what, at, n, err)
			}
		}
	}
	for i := range whole {
		b := bytes.Clone(whole)
		b[i] ^= 1 << (i % 8)
		try("flip", i, b)
	}
	for i := 0; i < len(whole); i += 7 {
		try("cut", i, whole[:i])
	}
	try("longer by", 3, append(bytes.Clone(whole), 0, 0, 0))
	try("zeros", len(whole), make([]byte, len(whole)))

	// The rows on both sides of the damage, as a caller goes around it.
	b := bytes.Clone(whole)
	b[len(b)-1] ^= 1
	writeFile(t, fs, path, b)
	a = mustOpen(t, fs, "/chain", archive.Options{})
	defer mustClose(t, a)
	blocks, _ := a.Table("blocks")
	var ce *segment.CorruptionError
	n := uint64(100)
	for _, err := range blocks.Rows(100) {
		if err != nil {
			if !errors.As(err, &ce) {
				t.Fatal(err)
			}
			break
		}
		n++
	}
	if n != s.FirstRow || ce == nil {
		t.Fatalf("rows up to %d, then %v", n, ce)
	}
	n = s.EndRow()
	for row, err := range blocks.Rows(n) {
		if err != nil || !equal(row, tables[0].rows[n-100]) {
			t.Fatalf("row %d behind the damage: %q, %v", n, row, err)
		}
		n++
	}
	if n != blocks.EndRow() {
		t.Fatalf("rows up to %d", n)
	}
	// Recompressing stops there, and replaces nothing of it.
	if _, err := a.Recompress(context.Background(), under(t, s2Policy), nil); !errors.Is(err, segment.ErrCorrupt) {
		t.Fatalf("recompressing damage: %v", err)
	}
	if !bytes.Equal(readFile(t, fs, path), b) {
		t.Fatal("the damaged file changed")
	}
	wantTidy(t, fs, a)
}

// A whole segment under the name of another one is no good.
func TestSwappedSegments(t *testing.T) {
	fs := vfs.NewMem()
	tables := testTables(t, 60, zstdPolicy)
	mustBuild(t, fs, "/chain", archive.CreateOptions{SegmentBytes: 4 << 10, Workers: 1}, tables)
	mustBuild(t, fs, "/other", archive.CreateOptions{SegmentBytes: 4 << 10, Workers: 1}, testTables(t, 60, s2Policy))
	a := mustOpen(t, fs, "/chain", archive.Options{ReadOnly: true})
	defer mustClose(t, a)
	o := mustOpen(t, fs, "/other", archive.Options{ReadOnly: true})
	defer mustClose(t, o)
	writeFile(t, fs, a.Path(segments(t, a)[0]), readFile(t, fs, a.Path(segments(t, a)[1])))
	writeFile(t, fs, a.Path(segments(t, a)[1]), readFile(t, fs, o.Path(segments(t, o)[1]))) // same rows, another file
	found := flaws(t, a, segment.Checksums)
	if len(found) < 2 || found[0].File != segments(t, a)[0].File || found[len(found)-1].File != segments(t, a)[1].File {
		t.Fatalf("flaws %v", found)
	}
	for _, d := range []segment.Depth{segment.Structure, segment.Content} {
		if found := flaws(t, a, d); len(found) < 2 {
			t.Fatalf("depth %d: flaws %v", d, found)
		}
	}
	blocks, _ := a.Table("blocks")
	for _, n := range []uint64{100, segments(t, a)[1].FirstRow} {
		if _, err := blocks.Row(nil, n); !errors.Is(err, segment.ErrCorrupt) {
			t.Errorf("row %d: %v", n, err)
		}
	}
}

// The flaws of a place are those that segment.Verify gives it.
func TestVerifyPlacesFlaws(t *testing.T) {
	fs := vfs.NewMem()
	tables := small(t, fs, zstdPolicy)
	a := mustOpen(t, fs, "/chain", archive.Options{})
	defer mustClose(t, a)
	s := segments(t, a)[0]
	r, release, err := a.OpenSegment("blocks", 0)
	if err != nil {
		t.Fatal(err)
	}
	var want segment.Place
	for p := range r.Places() {
		if p.Section == segment.SectionBlock && p.Column == "body" && p.Chunk == 2 {
			want = p
		}
	}
	release()
	b := readFile(t, fs, a.Path(s))
	b[want.Offset+want.Length/2] ^= 0x10
	writeFile(t, fs, a.Path(s), b)
	var calls int
	var found []segment.Flaw
	for f, err := range a.Verify(context.Background(), archive.VerifyOptions{Tables: []string{"blocks"}, Progress: func(archive.Progress) { calls++ }}) {
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, f)
	}
	if len(found) != 1 || found[0].Place != want || calls == 0 {
		t.Fatalf("flaws %v, want one at %v; %d calls of progress", found, want, calls)
	}
	for f := range a.Verify(context.Background(), archive.VerifyOptions{Tables: []string{"notes"}}) {
		t.Errorf("flaw %v in another table", &f)
	}
	if err := compareRows(a, tables[1:], true); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, err := range a.Verify(ctx, archive.VerifyOptions{}) {
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	for _, err := range a.Verify(context.Background(), archive.VerifyOptions{Tables: []string{"nothing"}}) {
		if !errors.Is(err, archive.ErrNoTable) {
			t.Fatal(err)
		}
	}
}

// Where a segment's file should be is something else, or one that cannot be opened
// or read: each is said of its segment, and every other one is verified all the
// same.
func TestVerifyGoesOn(t *testing.T) {
	mem := vfs.NewMem()
	tables := testTables(t, 300, zstdPolicy)
	mustBuild(t, mem, "/chain", archive.CreateOptions{SegmentBytes: 8 << 10}, tables)
	a := mustOpen(t, mem, "/chain", archive.Options{ReadOnly: true})
	all := segments(t, a)
	mustClose(t, a)
	b := readFile(t, mem, "/chain/"+all[3].File)
	b[len(b)/2] ^= 1
	writeFile(t, mem, "/chain/"+all[3].File, b)
	if err := errors.Join(mem.Remove("/chain/"+all[0].File), mem.MkdirAll("/chain/"+all[0].File, 0o777)); err != nil {
		t.Fatal(err)
	}
	fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		switch {
		case op.Kind == errorfs.OpOpen && op.Path == "/chain/"+all[1].File:
			return &iofs.PathError{Op: "open", Path: op.Path, Err: iofs.ErrPermission}
		case op.Kind == errorfs.OpFileReadAt && op.Path == "/chain/"+all[2].File:
			return errorfs.ErrInjected
		}
		return nil
	}))
	for _, d := range []segment.Depth{segment.Structure, segment.Checksums, segment.Content} {
		a = mustOpen(t, fs, "/chain", archive.Options{ReadOnly: true})
		var flawed []segment.Flaw
		var unread []*archive.SegmentError
		for f, err := range a.Verify(context.Background(), archive.VerifyOptions{Depth: d}) {
			var se *archive.SegmentError
			switch {
			case err == nil:
				flawed = append(flawed, f)
			case errors.As(err, &se) && !errors.Is(err, segment.ErrCorrupt):
				unread = append(unread, se)
			default:
				t.Fatal(err)
			}
		}
		want := 3
		if d == segment.Structure {
			want = 2 // it reads no rows
		}
		if len(flawed) != want {
			t.Fatalf("depth %d: flaws %v", d, flawed)
		}
		for i, k := range []int{0, 1, 3}[:want] {
			if flawed[i].File != all[k].File || flawed[i].Rows != all[k].Rows && k != 3 {
				t.Errorf("depth %d: flaw %d is %v", d, i, &flawed[i])
			}
		}
		if !errors.Is(&flawed[0], archive.ErrNotFile) || flawed[0].Section != segment.SectionFile || !errors.Is(&flawed[1], iofs.ErrPermission) {
			t.Errorf("depth %d: flaws %v", d, flawed)
		}
		if len(unread) != 1 || unread[0].Segment.File != all[2].File || !errors.Is(unread[0], errorfs.ErrInjected) || !strings.Contains(unread[0].Error(), all[2].File) {
			t.Errorf("depth %d: errors %v", d, unread)
		}
		blocks, _ := a.Table("blocks")
		if _, err := blocks.Row(nil, 100); !errors.Is(err, segment.ErrCorrupt) {
			t.Errorf("a row of what is a directory: %v", err)
		}
		notes := all[len(all)-1]
		tab, _ := a.Table("notes")
		if row, err := tab.Row(nil, notes.FirstRow); err != nil || !equal(row, tables[1].rows[notes.FirstRow]) {
			t.Errorf("a row of another segment: %q, %v", row, err)
		}
		mustClose(t, a)
	}
}
