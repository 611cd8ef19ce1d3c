package archive_test

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/segment/archive"
)

func TestOpenWhatIsNoArchive(t *testing.T) {
	fs := vfs.NewMem()
	if err := fs.MkdirAll("/empty", 0o777); err != nil {
		t.Fatal(err)
	}
	writeFile(t, fs, "/file", []byte("x"))
	before := tree(t, fs, "/")
	for _, dir := range []string{"/empty", "/nothing", "/no/thing"} {
		for _, ro := range []bool{true, false} {
			if _, err := archive.Open(fs, dir, archive.Options{ReadOnly: ro}); !errors.Is(err, archive.ErrNotArchive) {
				t.Errorf("Open(%s): %v", dir, err)
			}
		}
	}
	if _, err := archive.Open(fs, "/file", archive.Options{}); err == nil {
		t.Error("a file was opened")
	}
	if now := tree(t, fs, "/"); !slices.Equal(now, before) {
		t.Errorf("something was made: %q", now)
	}
	for _, o := range []archive.Options{{OpenFiles: -1}, {Workers: -1}, {OpenFiles: 1 << 30}} {
		if _, err := archive.Open(fs, "/empty", o); err == nil || errors.Is(err, archive.ErrNotArchive) {
			t.Errorf("options %+v: %v", o, err)
		}
	}
}

func TestDamagedManifest(t *testing.T) {
	fs := vfs.NewMem()
	small(t, fs, s2Policy)
	writeFile(t, fs, "/chain/blocks/0000000100.1.tmp", []byte("half"))
	b := readFile(t, fs, "/chain/MANIFEST.json")
	b[len(b)/2] ^= 1
	writeFile(t, fs, "/chain/MANIFEST.json", b)
	before := tree(t, fs, "/")
	for _, ro := range []bool{true, false} {
		_, err := archive.Open(fs, "/chain", archive.Options{ReadOnly: ro})
		var me *archive.ManifestError
		if !errors.Is(err, archive.ErrManifest) || !errors.Is(err, segment.ErrCorrupt) || !errors.As(err, &me) || me.File != "/chain/MANIFEST.json" {
			t.Fatalf("damaged: %v", err)
		}
	}
	if now := tree(t, fs, "/"); !slices.Equal(now, before) { // nothing is removed on its word
		t.Errorf("%q, before %q", now, before)
	}
}

// One writer at a time, and readers beside it; the lock goes with Close, and with
// an Open that failed.
func TestLock(t *testing.T) {
	for name, fs := range map[string]vfs.FS{"memory": vfs.NewMem(), "disk": vfs.Default} {
		t.Run(name, func(t *testing.T) {
			root := "/"
			if name == "disk" {
				root = t.TempDir()
			}
			dir := fs.PathJoin(root, "chain")
			tables := testTables(t, 30, zstdPolicy)
			mustBuild(t, fs, dir, archive.CreateOptions{}, tables)
			a := mustOpen(t, fs, dir, archive.Options{})
			if _, err := archive.Open(fs, dir, archive.Options{}); !errors.Is(err, archive.ErrLocked) {
				t.Fatalf("second writer: %v", err)
			}
			r := mustOpen(t, fs, dir, archive.Options{ReadOnly: true})
			wantRows(t, r, tables)
			mustClose(t, r)
			if _, err := archive.Open(fs, dir, archive.Options{}); !errors.Is(err, archive.ErrLocked) {
				t.Fatalf("second writer after a reader: %v", err)
			}
			mustClose(t, a)
			manifest := readFile(t, fs, fs.PathJoin(dir, archive.ManifestName))
			writeFile(t, fs, fs.PathJoin(dir, archive.ManifestName), manifest[1:])
			if _, err := archive.Open(fs, dir, archive.Options{}); !errors.Is(err, archive.ErrManifest) {
				t.Fatal(err)
			}
			writeFile(t, fs, fs.PathJoin(dir, archive.ManifestName), manifest)
			mustClose(t, mustOpen(t, fs, dir, archive.Options{}))
		})
	}
}

// On the disk the same directory by another path has the same lock, in this
// process and in another one.
func TestLockByAnyPath(t *testing.T) {
	if dir := os.Getenv("ARCHIVE_TEST_LOCK"); dir != "" { // the other process
		if _, err := archive.Open(vfs.Default, dir, archive.Options{}); !errors.Is(err, archive.ErrLocked) {
			t.Fatalf("second writer: %v", err)
		}
		return
	}
	root := t.TempDir()
	dir := filepath.Join(root, "chain")
	tables := testTables(t, 30, dictPolicy)
	mustBuild(t, vfs.Default, dir, archive.CreateOptions{}, tables)
	a := mustOpen(t, vfs.Default, dir, archive.Options{})
	defer mustClose(t, a)
	paths := []string{dir + "/", filepath.Join(root, "x", "..", "chain"), "chain"}
	if runtime.GOOS != "windows" {
		link := filepath.Join(root, "link")
		if err := os.Symlink(dir, link); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, link)
	}
	t.Chdir(root)
	for _, p := range paths {
		if _, err := archive.Open(vfs.Default, p, archive.Options{}); !errors.Is(err, archive.ErrLocked) {
			t.Errorf("second writer by %s: %v", p, err)
		}
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestLockByAnyPath$")
	cmd.Env = append(os.Environ(), "ARCHIVE_TEST_LOCK="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("another process: %v\n%s", err, out)
	}
	t.Chdir(t.TempDir()) // what is open does not move
	wantRows(t, a, tables)
	mustRecompress(t, a, under(t, zstdPolicy))
	wantTidy(t, vfs.Default, a)
}

// The next writer removes what the last one left, and nothing else; it says what.
func TestLeftovers(t *testing.T) {
	fs := vfs.NewMem()
	tables := small(t, fs, s2Policy)
	a := mustOpen(t, fs, "/chain", archive.Options{ReadOnly: true})
	s := segments(t, a)
	mustClose(t, a)
	gone := []string{
		"MANIFEST.json.tmp", "blocks/0000000100.7.tmp", "notes/1.tmp",
		"blocks/0000000100-0000000200-0123456789abcdef.seg",      // other rows than any segment has, but the table has them
		"blocks/0000000000-0000000099-0123456789abcdef.seg.tree", // pruned
		"blocks/0000000100-0000000200-0123456789abcdef.seg.par",
	}
	kept := []string{
		"README", "other", "other/x.tmp", "blocks/README.txt", "blocks/notes.seg", "index", "index/000001.tmp",
		s[0].File + ".tree", s[0].File + ".par",
		"blocks/0000000100-0000009999-0123456789abcdef.seg",           // rows that the table does not have
		"blocks/0000000100-99999999999999999999-0123456789abcdef.seg", // a number of no row
	}
	for _, dir := range []string{"other", "index"} {
		if err := fs.MkdirAll("/chain/"+dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range append(slices.Clone(gone), kept...) {
		if name != "other" && name != "index" {
			writeFile(t, fs, "/chain/"+name, []byte("x"))
		}
	}
	var log bytes.Buffer
	w := mustOpen(t, fs, "/chain", archive.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	defer mustClose(t, w)
	names := tree(t, fs, "/chain")
	for _, name := range gone {
		if slices.Contains(names, "/chain/"+name) || !strings.Contains(log.String(), name) {
			t.Errorf("%s is there, or was removed without a word", name)
		}
	}
	for _, name := range kept {
		if !slices.Contains(names, "/chain/"+name) {
			t.Errorf("%s is gone", name)
		}
	}
	if n := strings.Count(log.String(), "left alone"); n != 2 {
		t.Errorf("log:\n%s", &log)
	}
	wantRows(t, w, tables)
}

// Tables without rows need no directory: copying tools forget empty ones.
func TestEmptyTableWithoutDirectory(t *testing.T) {
	fs := vfs.NewMem()
	tables := small(t, fs, s2Policy)
	if err := fs.Remove("/chain/empty"); err != nil {
		t.Fatal(err)
	}
	a := mustOpen(t, fs, "/chain", archive.Options{})
	defer mustClose(t, a)
	wantRows(t, a, tables)
	empty, _ := a.Table("empty")
	if _, err := empty.Row(nil, 5); !errors.Is(err, segment.ErrRange) {
		t.Errorf("row of an empty table: %v", err)
	}
}

func TestRangesAndColumns(t *testing.T) {
	fs := vfs.NewMem()
	tables := small(t, fs, s2Policy)
	a := mustOpen(t, fs, "/chain", archive.Options{ReadOnly: true})
	defer mustClose(t, a)
	if _, err := a.Table("nothing"); !errors.Is(err, archive.ErrNoTable) {
		t.Errorf("a table that is not there: %v", err)
	}
	blocks, _ := a.Table("blocks")
	for _, n := range []uint64{0, 99, 400, ^uint64(0)} {
		if _, err := blocks.Row(nil, n); !errors.Is(err, segment.ErrRange) {
			t.Errorf("row %d: %v", n, err)
		}
		for _, err := range blocks.Rows(n) {
			if n != 400 && !errors.Is(err, segment.ErrRange) {
				t.Errorf("rows from %d: %v", n, err)
			}
			if n == 400 {
				t.Errorf("a row behind the last, or %v", err)
			}
		}
	}
	if _, err := blocks.Column("nothing"); !errors.Is(err, segment.ErrColumn) {
		t.Errorf("a column that is not there: %v", err)
	}
	for _, err := range blocks.Rows(100, "hash", "nothing") {
		if !errors.Is(err, segment.ErrColumn) {
			t.Errorf("rows of a column that is not there: %v", err)
		}
	}
	for _, i := range []int{-1, 99} {
		if _, _, err := a.OpenSegment("blocks", i); !errors.Is(err, segment.ErrRange) {
			t.Errorf("segment %d: %v", i, err)
		}
	}
	hash, err := blocks.Column("hash")
	if err != nil {
		t.Fatal(err)
	}
	i := 50
	for v, err := range hash.Values(150) {
		if err != nil || !bytes.Equal(v, tables[0].rows[i][1]) {
			t.Fatalf("hash %d: %x, %v", i, v, err)
		}
		i++
	}
	n := 0
	for row, err := range blocks.Rows(100, "body", "number") {
		if err != nil || !bytes.Equal(row[0], tables[0].rows[n][2]) || !bytes.Equal(row[1], tables[0].rows[n][0]) {
			t.Fatalf("row %d: %q, %v", n, row, err)
		}
		if n++; n == 250 {
			break // and what was open is released
		}
	}
	if i != 300 || n != 250 {
		t.Fatalf("%d values, %d rows", i, n)
	}
}
