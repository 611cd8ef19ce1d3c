// Package lint checks what no off-the-shelf linter knows of this repository:
// which package may import which, that libraries do not panic, exit, print or
// hide state, what lies at the top level, and words that have no place in it.
//
//	go test ./tools/lint
//
// The rules are data ([Segstore]); a new package or dependency needs a row
// there, with its reason. Go files are parsed, never matched as text, so names
// in comments and strings do not count.
package lint

import (
	"cmp"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
)

// Rules is what Check holds a tree to. Folders are slash-separated and relative
// to the root; one that ends in "/**" stands for itself and all below, and
// "**" for all.
type Rules struct {
	Module   string    // path of the module at the root
	TopLevel []string  // names that may lie there, beside dot files and what .gitignore lists
	Packages []Package // for each folder with Go files, the first that matches
	Modules  []Module  // other modules that may be imported, the longest path that matches
	Programs []string  // folders of commands, which may print and keep state
	ExitFile string    // the only file that may end the process
	Words    []Word    // what no text file may hold
	MaxLines int       // a longer Go file is worth a warning
}

// Package says what the Go files of a folder may import of this module.
type Package struct {
	Folder  string
	Imports []string // folders; the files of tests may import TestImports too
	// TestImports are folders that only files of tests may import.
	TestImports []string
	// Only maps an imported folder to the one file of it whose names may be
	// used, by files other than tests.
	Only map[string]string
}

// Module says where another module may be imported.
type Module struct {
	Path    string   // of the module, or of packages within it
	Folders []string // where files other than tests may import it
	Tests   bool     // whether every file of a test may
}

// Word is text that no file may hold.
type Word struct {
	Pattern *regexp.Regexp // matched line by line
	Why     string
}

// Finding is a place where the tree breaks a rule.
type Finding struct {
	Path string // slash-separated, relative to the root
	Line int    // from 1; 0 where the finding is the file or folder itself
	Rule string // "import", "module", "panic", "init", "exit", "print", "log", "state", "top", "word" or "parse"
	Text string
}

// String returns "path:line: rule: text".
func (f Finding) String() string {
	if f.Line == 0 {
		return fmt.Sprintf("%s: %s: %s", f.Path, f.Rule, f.Text)
	}
	return fmt.Sprintf("%s:%d: %s: %s", f.Path, f.Line, f.Rule, f.Text)
}

// Check returns all findings of the tree, sorted by path and line. The error is
// of reading it. Folders that hold a go.mod of their own are other modules:
// only their words count.
func Check(root fs.FS, r Rules) ([]Finding, error) {
	t, err := load(root)
	if err != nil {
		return nil, err
	}
	found := slices.Concat(t.broken, t.checkTop(r), t.checkWords(r))
	for _, p := range t.packages {
		found = append(found, p.checkImports(r, t)...)
		found = append(found, p.checkCode(r)...)
		if !matchAny(r.Programs, p.folder) {
			found = append(found, p.checkState()...)
		}
	}
	slices.SortStableFunc(found, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line))
	})
	return found, nil
}

// Long returns the Go files of more than r.MaxLines lines, longest first.
func Long(root fs.FS, r Rules) ([]Finding, error) {
	t, err := load(root)
	if err != nil {
		return nil, err
	}
	type long struct {
		path  string
		lines int
	}
	var files []long
	for _, f := range t.files {
		if n := f.lines(); f.isGo() && n > r.MaxLines {
			files = append(files, long{f.path, n})
		}
	}
	slices.SortStableFunc(files, func(a, b long) int { return cmp.Compare(b.lines, a.lines) })
	var found []Finding
	for _, f := range files {
		found = append(found, Finding{Path: f.path, Rule: "length", Text: fmt.Sprintf("%d lines, more than %d", f.lines, r.MaxLines)})
	}
	return found, nil
}
