package archive_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/segment/archive"
)

func mode(t *testing.T, path string) os.FileMode {
	t.Helper()
	st, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return st.Mode()
}

// What takes a file's place has its permissions, from before the first byte of it
// is there to read; what is new has those of any new file.
func TestPermissionsStay(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("has other permissions")
	}
	dir := t.TempDir()
	writeFile(t, vfs.Default, filepath.Join(dir, "any"), nil)
	usual := mode(t, filepath.Join(dir, "any"))
	tab := testTables(t, 200, s2Policy)[0]
	for _, perm := range []os.FileMode{0o600, 0o640, 0o444, 0o666} {
		path, out := filepath.Join(t.TempDir(), "a.seg"), filepath.Join(t.TempDir(), "out.seg")
		writeSegment(t, vfs.Default, path, tab)
		if err := os.Chmod(path, perm); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.RecompressFile(context.Background(), vfs.Default, path, out, under(t, zstdPolicy), nil); err != nil {
			t.Fatal(err)
		}
		drafts := 0
		rep, err := archive.RecompressFile(context.Background(), vfs.Default, path, "", under(t, zstdPolicy), func(archive.Progress) {
			names, _ := filepath.Glob(path + ".tmp*")
			for _, n := range names {
				if drafts++; mode(t, n) != perm {
					t.Errorf("the draft has %v, the file %v", mode(t, n), perm)
				}
			}
		})
		if err != nil || rep.Segments[0].Skipped || drafts == 0 {
			t.Fatal(rep, err, drafts)
		}
		if got := mode(t, path); got != perm {
			t.Errorf("in place: %v became %v", perm, got)
		}
		if got := mode(t, out); got != usual {
			t.Errorf("a new file has %v, others have %v", got, usual)
		}
	}
	chain := filepath.Join(dir, "chain")
	mustBuild(t, vfs.Default, chain, archive.CreateOptions{SegmentBytes: 20 << 10}, testTables(t, 300, s2Policy))
	a := mustOpen(t, vfs.Default, chain, archive.Options{})
	defer mustClose(t, a)
	for i, s := range segments(t, a) {
		if err := os.Chmod(a.Path(s), []os.FileMode{0o600, 0o640}[i%2]); err != nil {
			t.Fatal(err)
		}
	}
	manifest := filepath.Join(chain, archive.ManifestName)
	if err := os.Chmod(manifest, 0o600); err != nil {
		t.Fatal(err)
	}
	if rep := mustRecompress(t, a, under(t, zstdPolicy)); rep.Total.Skipped != 0 {
		t.Fatalf("%+v", rep.Total)
	}
	for i, s := range segments(t, a) {
		if got := mode(t, a.Path(s)); got != []os.FileMode{0o600, 0o640}[i%2] {
			t.Errorf("%s has %v", s.File, got)
		}
	}
	if got := mode(t, manifest); got != 0o600 {
		t.Errorf("the manifest has %v", got)
	}
}

func symlink(t *testing.T, to, path string) {
	t.Helper()
	if err := os.Symlink(to, path); err != nil {
		t.Skip(err)
	}
}

// A link stays a link: what it leads to is replaced.
func TestRecompressThroughALink(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	file, link, link2 := filepath.Join(other, "a.seg"), filepath.Join(dir, "l.seg"), filepath.Join(dir, "l2.seg")
	info := writeSegment(t, vfs.Default, file, testTables(t, 200, s2Policy)[0])
	symlink(t, file, link)
	symlink(t, "l.seg", link2)
	rep, err := archive.RecompressFile(context.Background(), vfs.Default, link2, "", under(t, zstdPolicy), nil)
	if err != nil || rep.Segments[0].Skipped || rep.Segments[0].File != link2 {
		t.Fatal(rep, err)
	}
	for _, l := range []string{link, link2} {
		if mode(t, l)&os.ModeSymlink == 0 {
			t.Errorf("%s is no link any more", l)
		}
	}
	if sum, _, err := archive.Checksum(context.Background(), vfs.Default, file); err != nil || sum != rep.Segments[0].After.Checksum || sum == info.Checksum {
		t.Errorf("what it leads to has checksum %s, %v", sum, err)
	}
	if a, b := tree(t, vfs.Default, dir), tree(t, vfs.Default, other); len(a) != 2 || len(b) != 1 {
		t.Errorf("left: %q %q", a, b)
	}

	chain, manifest := filepath.Join(dir, "chain"), filepath.Join(other, "m.json")
	tables := testTables(t, 30, s2Policy)
	mustBuild(t, vfs.Default, chain, archive.CreateOptions{}, tables)
	if err := os.Rename(filepath.Join(chain, archive.ManifestName), manifest); err != nil {
		t.Fatal(err)
	}
	symlink(t, manifest, filepath.Join(chain, archive.ManifestName))
	writeFile(t, vfs.Default, manifest+".tmp", []byte("half"))
	a := mustOpen(t, vfs.Default, chain, archive.Options{})
	mustRecompress(t, a, under(t, zstdPolicy))
	wantTidy(t, vfs.Default, a)
	mustClose(t, a)
	if mode(t, filepath.Join(chain, archive.ManifestName))&os.ModeSymlink == 0 || len(tree(t, vfs.Default, other)) != 2 {
		t.Errorf("the manifest's link is gone, or %q", tree(t, vfs.Default, other))
	}
	a = mustOpen(t, vfs.Default, chain, archive.Options{})
	wantRows(t, a, tables)
	mustClose(t, a)
}

// A name is taken by a link that leads nowhere, too.
func TestDanglingLinkExists(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	symlink(t, filepath.Join(dir, "nowhere"), out)
	seg, chain := filepath.Join(dir, "a.seg"), filepath.Join(dir, "chain")
	writeSegment(t, vfs.Default, seg, testTables(t, 30, s2Policy)[0])
	tables := testTables(t, 30, s2Policy)
	mustBuild(t, vfs.Default, chain, archive.CreateOptions{}, tables)
	before := tree0(t, dir)
	a := mustOpen(t, vfs.Default, chain, archive.Options{ReadOnly: true})
	defer mustClose(t, a)
	_, create := archive.CreateFile(vfs.Default, out, segment.WriterOptions{Table: "t", Schema: notesSchema()})
	_, file := archive.RecompressFile(context.Background(), vfs.Default, seg, out, under(t, zstdPolicy), nil)
	_, build := archive.Create(vfs.Default, out, archive.CreateOptions{})
	_, to := a.RecompressTo(context.Background(), out, under(t, zstdPolicy), nil)
	for name, err := range map[string]error{"CreateFile": create, "RecompressFile": file, "Create": build, "RecompressTo": to} {
		if !errors.Is(err, archive.ErrExists) || !strings.Contains(err.Error(), "nowhere") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if now := tree0(t, dir); !slices.Equal(now, before) {
		t.Errorf("%q, before %q", now, before)
	}
}

// tree0 returns the names in a directory, whatever they are of.
func tree0(t *testing.T, dir string) []string {
	t.Helper()
	names, err := vfs.Default.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return names
}

// A file that another process makes while ours is being written is not replaced,
// and ours is gone.
func TestNeverOverwrites(t *testing.T) {
	linkless := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpLink {
			return errors.ErrUnsupported
		}
		return nil
	}))
	for name, fs := range map[string]vfs.FS{"memory": vfs.NewMem(), "disk": vfs.Default, "without links": linkless} {
		t.Run(name, func(t *testing.T) {
			dir := "/"
			if name == "disk" {
				dir = t.TempDir()
			}
			src, out, free := fs.PathJoin(dir, "a.seg"), fs.PathJoin(dir, "out.seg"), fs.PathJoin(dir, "free.seg")
			tab := testTables(t, 200, s2Policy)[0]
			writeSegment(t, fs, src, tab) // does without links
			made := false
			_, err := archive.RecompressFile(context.Background(), fs, src, out, under(t, zstdPolicy), func(p archive.Progress) {
				if p.Stage == archive.StageVerify && !made {
					made = true
					writeFile(t, fs, out, []byte("mine"))
				}
			})
			if !made || !errors.Is(err, archive.ErrExists) {
				t.Fatalf("RecompressFile: %v", err)
			}
			w, err := archive.CreateFile(fs, free, segment.WriterOptions{Table: "notes", Schema: notesSchema()})
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Append(segment.Row{[]byte("x")}); err != nil {
				t.Fatal(err)
			}
			writeFile(t, fs, free, []byte("mine"))
			if _, err := w.Finish(); !errors.Is(err, archive.ErrExists) {
				t.Fatalf("Finish: %v", err)
			}
			if err := w.Abort(); err != nil {
				t.Fatal(err)
			}
			for _, path := range []string{out, free} {
				if b := readFile(t, fs, path); !bytes.Equal(b, []byte("mine")) {
					t.Errorf("%s was replaced", path)
				}
			}
			if names := tree(t, fs, dir); len(names) != 3 {
				t.Errorf("left: %q", names)
			}
		})
	}
}

// The longest names that a disk takes are no shorter for what is written under a
// temporary one first; and what was left under such a one is known again.
func TestLongNames(t *testing.T) {
	dir := t.TempDir()
	for _, base := range []string{strings.Repeat("a", 251), "x" + strings.Repeat("ü", 125)} {
		seg, out, chain := filepath.Join(dir, base+".seg"), filepath.Join(dir, base+".out"), filepath.Join(dir, base)
		writeSegment(t, vfs.Default, seg, testTables(t, 30, s2Policy)[0])
		if _, err := archive.RecompressFile(context.Background(), vfs.Default, seg, "", under(t, zstdPolicy), nil); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.RecompressFile(context.Background(), vfs.Default, seg, out, under(t, s2Policy), nil); err != nil {
			t.Fatal(err)
		}
		b, err := archive.Create(vfs.Default, chain, archive.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		stale := filepath.Join(dir, "stale")
		var name string
		for _, n := range tree0(t, dir) {
			if strings.Contains(n, ".tmp-") {
				name = n
				if err := os.CopyFS(stale, os.DirFS(filepath.Join(dir, n))); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := b.Abort(); err != nil {
			t.Fatal(err)
		}
		if len(name) == 0 || len(name) > 140 {
			t.Errorf("a temporary name of %d bytes: %q", len(name), name)
		}
		if err := os.Rename(stale, filepath.Join(dir, name)); err != nil { // as if it had been killed
			t.Fatal(err)
		}
		mustBuild(t, vfs.Default, chain, archive.CreateOptions{}, testTables(t, 30, s2Policy))
	}
	if names := tree0(t, dir); len(names) != 6 {
		t.Errorf("left: %q", names)
	}
}
