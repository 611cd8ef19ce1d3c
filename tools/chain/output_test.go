package chain_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/segstore/segstore/tools/chain"
)

// An export that failed goes on where it is run again: what is there and is the same stays as it is, and what is there and
// is something else is an error that says where, and stays too.
func TestExportAgain(t *testing.T) {
	long := strings.Repeat("a file longer than any buffer ", 10_000)
	dir := filepath.Join(t.TempDir(), "out")
	broken := errors.New("broken")
	export := func(last error) (chain.ExportReport, error) {
		return chain.ExportSources(t.Context(), view(t, "a", "b"), chain.DirOutput(dir), chain.ExportOptions{}, func(s chain.Source) (chain.Job, error) {
			w := write(s.Name+long, chain.Outcome{Equal: true})
			if s.Name == "b" && last != nil {
				w = func(context.Context, io.Writer) (chain.Outcome, error) { return chain.Outcome{}, last }
			}
			return chain.Job{Format: "text", Name: s.Name, Write: w}, nil
		})
	}
	if _, err := export(broken); !errors.Is(err, broken) {
		t.Fatal(err)
	}
	before, err := os.Stat(filepath.Join(dir, "a"))
	if err != nil {
		t.Fatal(err)
	}
	// What a killed export leaves of a file.
	if err := os.WriteFile(filepath.Join(dir, "b.tmp-0123456789abcdef"), []byte("half"), 0o666); err != nil {
		t.Fatal(err)
	}
	r, err := export(nil)
	if err != nil || len(r.Files) != 2 || !r.Files[0].Kept || r.Files[1].Kept {
		t.Fatalf("%+v, %v", r, err)
	}
	after, err := os.Stat(filepath.Join(dir, "a"))
	if err != nil || !os.SameFile(before, after) {
		t.Errorf("written once more: %v", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("the directory holds %v, %v", entries, err)
	}
	for name, tc := range map[string]struct{ text, at string }{
		"another byte": {"a" + long[:100_000] + "X" + long[100_001:], "byte 100001"},
		"shorter":      {"a" + long[:100_000], "byte 100001"},
		"empty":        {"", "byte 0"},
		"longer":       {"a" + long + "X", "byte 300001"},
	} {
		path := filepath.Join(dir, "a")
		if err := os.WriteFile(path, []byte(tc.text), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := export(nil); !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), tc.at) {
			t.Errorf("%s: %v", name, err)
		}
		if b, err := os.ReadFile(path); err != nil || string(b) != tc.text {
			t.Errorf("%s: replaced, %v", name, err)
		}
	}
}
