package index

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Each file of a store is cut, emptied, removed and has bytes flipped: a row
// is found, or there is an error, or the state says that it is not covered.
func TestDamage(t *testing.T) {
	mem, w := made(t)
	names, err := mem.List("/x/index")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		path := "/x/index/" + name
		info, err := mem.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		size := int(info.Size())
		cases := map[string]func(b []byte) []byte{
			"removed": func([]byte) []byte { return nil },
			"emptied": func([]byte) []byte { return []byte{} },
			"cut":     func(b []byte) []byte { return b[:len(b)/2] },
		}
		step := max(1, size/40)
		for at := 0; at < size; at += step {
			cases[fmt.Sprintf("byte %d of %d flipped", at, size)] = func(b []byte) []byte { b[at] ^= 0x55; return b }
		}
		for what, change := range cases {
			fs := copyFS(t, mem, "/x/index", name, change)
			for _, readOnly := range []bool{true, false} {
				damagedStore(t, fs, w, readOnly, name+": "+what)
			}
		}
	}
}

func damagedStore(t *testing.T, fs vfs.FS, w *world, readOnly bool, what string) {
	s, err := Open(fs, "/x/index", Options{ReadOnly: readOnly})
	if err != nil {
		if !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrVersion) && !errors.Is(err, ErrMissing) {
			t.Errorf("%s: %v", what, err)
		}
		return
	}
	for _, name := range s.Names() {
		err := w.checkRows(s, name)
		if errors.Is(err, errNotFound) || err != nil && !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := s.Close(); err != nil && !errors.Is(err, ErrDamaged) {
		t.Errorf("%s: close: %v", what, err)
	}
}

// copyFS copies a directory and changes one of its files.
func copyFS(t *testing.T, from vfs.FS, dir, changed string, change func([]byte) []byte) *vfs.MemFS {
	t.Helper()
	to := vfs.NewMem()
	names, err := from.List(dir)
	if err := errors.Join(err, to.MkdirAll(dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		f, err := from.Open(dir + "/" + name)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(f)
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		if name == changed {
			if b = change(b); b == nil {
				continue
			}
		}
		out, err := to.Create(dir+"/"+name, vfs.WriteCategoryUnspecified)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := out.Write(b); err != nil {
			t.Fatal(err)
		}
		if err := out.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return to
}

// A damaged run is found when it is merged.
func TestRunDamage(t *testing.T) {
	mem := vfs.NewMem()
	pairs := make([]pair, 3*runPairs+5)
	for i := range pairs {
		pairs[i] = pair{uint64(i), uint64(i)}
	}
	if _, err := writeRun(mem, "run", pairs); err != nil {
		t.Fatal(err)
	}
	for at := 0; at < 3*runBlock+5*runPairBytes+8; at += 997 {
		fs := copyFS(t, mem, "", "run", func(b []byte) []byte { b[at] ^= 1; return b })
		run := &runFile{fs: fs, name: "/run", pairs: len(pairs), firsts: []uint64{0, runPairs, 2 * runPairs, 3 * runPairs}}
		c, err := run.open(0, 1<<fpBits)
		for more := err == nil; more; {
			more, err = c.next()
		}
		if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), fmt.Sprintf("block %d", at/runBlock)) {
			t.Errorf("byte %d: %v", at, err)
		}
	}
}
