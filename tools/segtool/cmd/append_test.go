package cmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/segstore/segstore/segment/archive"
)

// An append of which one I/O operation fails leaves all rows or none: whichever it is.
func TestAppendFaults(t *testing.T) {
	lines := filepath.Join(t.TempDir(), "x.jsonl")
	if err := os.WriteFile(lines, []byte(strings.Repeat("{\"n\":7}\n", 20)), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, flag := range []string{"--sync", "--seal", "--quiet"} {
		failed, kept := 0, 0
		for k := 0; ; k++ {
			mem := vfs.NewMem()
			if err := testApp(t, mem).run(t, "import", "--from", "jsonl", "--columns", "n:uint", lines, "/x"); err != nil {
				t.Fatal(err)
			}
			n, hit := k, false
			fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
				if op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
					return nil
				}
				if n--; n == -1 {
					hit = true
					return errorfs.ErrInjected
				}
				return nil
			}))
			err := testApp(t, fs).run(t, "append", "--from", "jsonl", "--commit-rows", "3", flag, lines, "/x")
			rows := rowsIn(t, mem, "/x")
			switch {
			case err != nil && rows == 20:
				failed++
			case err == nil && rows == 40:
			case err != nil && rows == 40: // sealing or closing failed behind the rows
				kept++
			default:
				t.Fatalf("%s, operation %d: %d rows, %v", flag, k, rows, err)
			}
			if !hit {
				if err != nil {
					t.Fatal(err)
				}
				break
			}
		}
		if failed < 5 {
			t.Errorf("%s: %d appends failed, and %d behind the rows: this proves nothing", flag, failed, kept)
		}
	}
}

// Where the rows cannot be taken back either, it says what removes them.
func TestAppendLeft(t *testing.T) {
	lines := filepath.Join(t.TempDir(), "x.jsonl")
	if err := os.WriteFile(lines, []byte(strings.Repeat("{\"n\":7}\n", 20)), 0o666); err != nil {
		t.Fatal(err)
	}
	mem := vfs.NewMem()
	if err := testApp(t, mem).run(t, "import", "--from", "jsonl", "--columns", "n:uint", lines, "/x"); err != nil {
		t.Fatal(err)
	}
	writes := 0
	fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if strings.Contains(op.Path, "log-") && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			if writes++; writes > 12 { // some commits, and then never again
				return errorfs.ErrInjected
			}
		}
		return nil
	}))
	err := testApp(t, fs).run(t, "append", "--from", "jsonl", "--commit-rows", "3", "--sync", lines, "/x")
	if err == nil || !strings.Contains(err.Error(), "rows of this append may be left in /x: ") || !strings.Contains(err.Error(), ": segtool rewind /x rows 20 sources 1 removes them") {
		t.Fatal(err)
	}
	if rows := rowsIn(t, mem, "/x"); rows <= 20 {
		t.Fatalf("%d rows: this proves nothing", rows)
	}
	if err := testApp(t, mem).run(t, "rewind", "/x", "rows", "20", "sources", "1"); err != nil {
		t.Fatal(err)
	}
	if rows := rowsIn(t, mem, "/x"); rows != 20 {
		t.Errorf("%d rows", rows)
	}
}

// rowsIn returns how many rows the table has that is not the sources.
func rowsIn(t *testing.T, fs vfs.FS, dir string) uint64 {
	t.Helper()
	a, err := archive.Open(fs, dir, archive.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	return a.Tables()[1].Rows
}
