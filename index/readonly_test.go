package index

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// made returns a file system with the store that the script leaves.
func made(t testing.TB) (*vfs.MemFS, *world) {
	t.Helper()
	mem, w := vfs.NewMem(), newWorld()
	if err := script(mem, "/x/index", w); err != nil {
		t.Fatal(err)
	}
	return mem, w
}

// A read-only store asks the file system for no write: not even for a lock.
func TestReadOnlyWritesNothing(t *testing.T) {
	mem, w := made(t)
	fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite && op.Kind != errorfs.OpFileClose {
			t.Errorf("kind %d of %s", op.Kind, op.Path)
			return errorfs.ErrInjected
		}
		return nil
	}))
	other, err := Open(mem, "/x/index", Options{ReadOnly: true}) // readers do not lock each other out
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"/x/copy", "/x/index"} {
		s, err := Open(fs, dir, Options{ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.checkRows(s, "a"); err != nil {
			t.Error(err)
		}
		b := s.Batch()
		for what, err := range map[string]error{
			"add":        b.Add("a", nil, 1),
			"commit":     b.Commit(true),
			"load":       s.Load(t.Context(), "a", State{}, sequence(0, nil), LoadOptions{}),
			"lower":      s.Lower("a", 0, [32]byte{}),
			"raise":      s.Raise("a", 1),
			"drop":       s.Drop("a"),
			"sync":       s.Sync(),
			"checkpoint": s.Checkpoint("/x/another"),
		} {
			if what != "add" && !errors.Is(err, ErrReadOnly) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if _, err := s.Metrics(); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := other.Close(); err != nil {
		t.Error(err)
	}
}

// On a directory without any right to write.
func TestReadOnlyDirectory(t *testing.T) {
	dir := t.TempDir() + "/index"
	s := loaded(t, vfs.Default, dir, 1000)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.Chmod(dir, 0o755) }()
	before := listing(t, dir)
	s, err := Open(vfs.Default, dir, Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if rows, err := s.Candidates(nil, "hash", hashKey(7), 0, 1000, 0); err != nil || len(rows) != 1 || rows[0] != 7 {
		t.Errorf("%v, %v", rows, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if after := listing(t, dir); after != before {
		t.Errorf("before:\n%safter:\n%s", before, after)
	}
}

func listing(t *testing.T, dir string) (out string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		out += info.Name() + " " + info.ModTime().String() + "\n"
	}
	return out
}

func TestOpenMissing(t *testing.T) {
	mem := vfs.NewMem()
	if err := mem.MkdirAll("/empty", 0o755); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"/none", "/empty"} {
		if _, err := Open(mem, dir, Options{ReadOnly: true}); !errors.Is(err, ErrMissing) {
			t.Errorf("%s: %v", dir, err)
		}
	}
	if _, err := mem.Stat("/none"); err == nil {
		t.Error("a directory was made")
	}
	s, err := Open(mem, "/empty", Options{}) // is no obstacle
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestOpenLocked(t *testing.T) {
	for name, fs := range map[string]vfs.FS{"memory": vfs.NewMem(), "disk": vfs.Default} {
		dir := t.TempDir() + "/index"
		s, err := Open(fs, dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Open(fs, dir, Options{}); !errors.Is(err, ErrLocked) || errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if s, err = Open(fs, dir, Options{}); err != nil {
			t.Fatalf("%s: after the first one: %v", name, err)
		}
		if err := errors.Join(s.Close(), s.Close()); err != nil {
			t.Error(err)
		}
		if _, err := s.Candidates(nil, "a", nil, 0, 1, 0); !errors.Is(err, ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
		if err := s.Sync(); !errors.Is(err, ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A database of somebody else, or of a later version, is left alone.
func TestOpenForeign(t *testing.T) {
	put := func(key, value []byte) *vfs.MemFS {
		mem := vfs.NewMem()
		db, err := pebble.Open("index", &pebble.Options{FS: mem, FormatMajorVersion: pebbleFormat, Logger: pebbleLogger{&Store{options: Options{}.withDefaults()}}})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(db.Set(key, value, nil), db.Close()); err != nil {
			t.Fatal(err)
		}
		names, err := mem.List("index")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if strings.HasPrefix(name, manifestPrefix) {
				f, err := mem.Create("index/"+name+sumSuffix, vfs.WriteCategoryUnspecified)
				if err := errors.Join(err, f.Close()); err != nil {
					t.Fatal(err)
				}
			}
		}
		return mem
	}
	format := catalogueKey(catalogueFormat, "")
	for _, readOnly := range []bool{false, true} {
		for name, c := range map[string]struct {
			fs   *vfs.MemFS
			want error
		}{
			"foreign": {put([]byte("key"), nil), ErrDamaged},
			"newer":   {put(format, []byte{formatVersion + 1}), ErrVersion},
			"older":   {put(format, []byte{formatVersion - 1}), ErrDamaged},
			"garbage": {put(format, []byte{0x80}), ErrDamaged},
		} {
			if _, err := Open(c.fs, "index", Options{ReadOnly: readOnly}); !errors.Is(err, c.want) {
				t.Errorf("%s: %v", name, err)
			}
		}
		// Of a later Pebble: its version is in a file's name.
		mem, _ := made(t)
		names, err := mem.List("/x/index")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if len(name) > 22 && name[:22] == "marker.format-version." {
				if err := mem.Rename("/x/index/"+name, "/x/index/marker.format-version.000099.999"); err != nil {
					t.Fatal(err)
				}
			}
		}
		if _, err := Open(mem, "/x/index", Options{ReadOnly: readOnly}); !errors.Is(err, ErrVersion) {
			t.Errorf("later pebble: %v", err)
		}
	}
	mem := vfs.NewMem()
	if err := errors.Join(mem.MkdirAll("index", 0o755)); err != nil {
		t.Fatal(err)
	}
	f, err := mem.Create("index/notes.txt", vfs.WriteCategoryUnspecified)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(mem, "index", Options{}); !errors.Is(err, ErrDamaged) {
		t.Errorf("a folder of something else: %v", err)
	}
}
