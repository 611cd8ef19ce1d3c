package lint_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/segstore/segstore/tools/lint"
)

// moduleRoot is the folder with go.mod above the test's own.
func moduleRoot(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Fatal("no go.mod above the test")
		}
		dir = parent
	}
}

// TestRepository is the lint itself.
func TestRepository(t *testing.T) {
	root := os.DirFS(moduleRoot(t))
	found, err := lint.Check(root, lint.Segstore())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		t.Error(f)
	}
	long, err := lint.Long(root, lint.Segstore())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range long {
		t.Logf("warning: %v", f)
	}
}
