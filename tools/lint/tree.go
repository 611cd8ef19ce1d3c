package lint

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// tree is a checkout, read and parsed once.
type tree struct {
	top      []string // names at the root
	ignored  ignoreList
	files    []file
	packages []*pack
	broken   []Finding // Go files that do not parse
}

// file is a file that .gitignore does not list.
type file struct {
	path string
	data []byte
}

// pack is the Go files of one folder of the module, those of tests too.
type pack struct {
	folder string
	fset   *token.FileSet
	files  []*source
}

// source is a Go file.
type source struct {
	path string
	test bool // of tests only: its name says so, or its folder's does
	ast  *ast.File
}

func (f file) isGo() bool { return path.Ext(f.path) == ".go" }

func (f file) lines() int {
	n := bytes.Count(f.data, []byte("\n"))
	if len(f.data) > 0 && f.data[len(f.data)-1] != '\n' {
		n++
	}
	return n
}

// isText reports whether people read the file. A fuzz corpus is text of random bytes.
func (f file) isText() bool {
	return utf8.Valid(f.data) && !bytes.Contains(f.data, []byte{0}) && !strings.Contains("/"+f.path, "/testdata/fuzz/")
}

func load(root fs.FS) (*tree, error) {
	t := &tree{}
	var err error
	if t.ignored, err = readIgnored(root); err != nil {
		return nil, err
	}
	other := map[string]bool{} // folders of other modules
	err = fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name == ".":
			return nil
		case name == ".git", t.ignored.match(name):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.Contains(name, "/") {
			t.top = append(t.top, name)
		}
		if !d.Type().IsRegular() {
			return nil
		}
		data, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		t.files = append(t.files, file{name, data})
		if path.Base(name) == "go.mod" && name != "go.mod" {
			other[path.Dir(name)] = true
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("lint: %w", err)
	}
	t.parse(other)
	return t, nil
}

// parse fills packages from files, but for those that the go command leaves out.
func (t *tree) parse(other map[string]bool) {
	byFolder := map[string]*pack{}
	for _, f := range t.files {
		if !f.isGo() || skipsFolder(path.Dir(f.path), other) {
			continue
		}
		folder := path.Dir(f.path)
		p := byFolder[folder]
		if p == nil {
			p = &pack{folder: folder, fset: token.NewFileSet()}
			byFolder[folder] = p
			t.packages = append(t.packages, p)
		}
		parsed, err := parser.ParseFile(p.fset, f.path, f.data, parser.SkipObjectResolution|parser.ParseComments)
		if err != nil {
			t.broken = append(t.broken, brokenFile(f.path, err))
			continue
		}
		test := strings.HasSuffix(f.path, "_test.go") || forTests(folder)
		p.files = append(p.files, &source{f.path, test, parsed})
	}
}

func skipsFolder(folder string, other map[string]bool) bool {
	for ; folder != "."; folder = path.Dir(folder) {
		base := path.Base(folder)
		if other[folder] || base == "testdata" || base[0] == '_' || base[0] == '.' {
			return true
		}
	}
	return false
}

// forTests reports whether a package is there for tests only, by the standard
// library's habit: httptest, iotest.
func forTests(folder string) bool { return strings.HasSuffix(folder, "test") }

func brokenFile(name string, err error) Finding {
	f := Finding{Path: name, Rule: "parse", Text: err.Error()}
	var list scanner.ErrorList
	if errors.As(err, &list) && len(list) > 0 {
		f.Line, f.Text = list[0].Pos.Line, list[0].Msg
	}
	return f
}

func (p *pack) finding(s *source, at ast.Node, rule, format string, args ...any) Finding {
	return Finding{s.path, p.fset.Position(at.Pos()).Line, rule, fmt.Sprintf(format, args...)}
}

// checkTop looks at the names at the root.
func (t *tree) checkTop(r Rules) (found []Finding) {
	for _, name := range t.top {
		if !strings.HasPrefix(name, ".") && !slices.Contains(r.TopLevel, name) {
			found = append(found, Finding{Path: name, Rule: "top", Text: "has no place at the top level"})
		}
	}
	return found
}

// checkWords looks at every line of every text file.
func (t *tree) checkWords(r Rules) (found []Finding) {
	for _, f := range t.files {
		if !f.isText() {
			continue
		}
		n := 0
		for line := range bytes.Lines(f.data) {
			n++
			for _, w := range r.Words {
				if m := w.Pattern.Find(line); m != nil {
					found = append(found, Finding{f.path, n, "word", fmt.Sprintf("%q: %s", m, w.Why)})
				}
			}
		}
	}
	return found
}
