package newfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

func holds(t *testing.T, dir, want string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	if got := strings.Join(names, " "); got != want {
		t.Errorf("the directory holds %q, not %q", got, want)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

func create(t *testing.T, path, text string) *File {
	t.Helper()
	f, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return f
}

// Any number may start the same file; one gets the name, with all of its bytes, whatever the order.
func TestOneWins(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	var won atomic.Int32
	var wg sync.WaitGroup
	var files []*File
	for i := range 8 {
		files = append(files, create(t, path, strings.Repeat(string(rune('a'+i)), 1000)))
	}
	for _, f := range files {
		wg.Go(func() {
			switch err := f.Commit(); {
			case err == nil:
				won.Add(1)
			case !errors.Is(err, fs.ErrExist):
				t.Errorf("loser: %v", err)
			}
		})
	}
	wg.Wait()
	if won.Load() != 1 {
		t.Errorf("%d have won", won.Load())
	}
	holds(t, dir, "f")
	b, err := os.ReadFile(path)
	if err != nil || len(b) != 1000 || strings.Trim(string(b), string(b[:1])) != "" {
		t.Errorf("%v: %d bytes of more than one", err, len(b))
	}
}

// What gets the name after Create, even an instant before it is given, stays: with links and without.
func TestNothingIsReplaced(t *testing.T) {
	for name, link := range map[string]func(string, string) error{
		"links":    os.Link,
		"no links": func(string, string) error { return errors.ErrUnsupported },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			tmp, path := filepath.Join(dir, "tmp"), filepath.Join(dir, "f")
			write(t, tmp, "new")
			if err := place(tmp, path, link); err != nil {
				t.Fatal(err)
			}
			holds(t, dir, "f")
			write(t, tmp, "newer")
			if err := place(tmp, path, link); !errors.Is(err, fs.ErrExist) {
				t.Errorf("%v", err)
			}
			if b, err := os.ReadFile(path); err != nil || string(b) != "new" {
				t.Errorf("%q, %v", b, err)
			}
		})
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "d")
	d, err := MakeDir(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o777); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(path, "other"), "")
	if err := d.Commit(); err == nil {
		t.Error("a directory that others filled is replaced")
	}
	holds(t, dir, "d")
	holds(t, path, "other")
	for _, make := range []func(string) error{
		func(p string) error { _, err := Create(p); return err },
		func(p string) error { _, err := MakeDir(p); return err },
	} {
		if err := make(path); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%v", err)
		}
	}
}

// What dead processes left of the same name goes, what living ones are at work on and what is of others stays.
func TestLeftovers(t *testing.T) {
	if _, ok, err := hold(t.TempDir()); err != nil || !ok {
		t.Fatal(err)
	}
	if runtime.GOOS == "windows" {
		t.Skip("no locks there: leftovers stay")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	living := create(t, path, "living")
	write(t, path+".tmp-0123456789abcdef", "dead")
	write(t, path+".tmp-0123456789abcdeg", "not ours")
	write(t, path+".tmp", "not ours")
	write(t, filepath.Join(dir, "g.tmp-0123456789abcdef"), "of another name")
	if err := os.Mkdir(path+".tmp-aaaaaaaaaaaaaaaa", 0o777); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(path+".tmp-aaaaaaaaaaaaaaaa", "x"), "dead")
	if err := os.Symlink(dir, path+".tmp-bbbbbbbbbbbbbbbb"); err != nil {
		t.Fatal(err)
	}
	second := create(t, path, "second")
	if err := second.Abort(); err != nil {
		t.Fatal(err)
	}
	holds(t, dir, "f.tmp f.tmp-0123456789abcdeg "+strings.Join(sorted(filepath.Base(living.f.Name()), "f.tmp-bbbbbbbbbbbbbbbb"), " ")+" g.tmp-0123456789abcdef")
	if err := living.Commit(); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "living" {
		t.Errorf("%q, %v", b, err)
	}
}

func sorted(a, b string) []string {
	if a < b {
		return []string{a, b}
	}
	return []string{b, a}
}

// A name may be as long as the file system allows, and names that begin alike have their own leftovers.
func TestLongNames(t *testing.T) {
	dir := t.TempDir()
	long := strings.Repeat("ü", 127)
	if n := len(tmpBase(long)) + 16; n > 143 {
		t.Errorf("a temporary name of %d bytes", n)
	}
	if tmpBase(long+"a") == tmpBase(long+"b") {
		t.Error("one temporary name for two")
	}
	if err := create(t, filepath.Join(dir, long+"a"), "x").Commit(); err != nil {
		t.Fatal(err)
	}
	d, err := MakeDir(filepath.Join(dir, long+"b"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(d.Path(), "x"), "")
	if err := d.Commit(); err != nil {
		t.Fatal(err)
	}
	holds(t, dir, long+"a "+long+"b")
}
