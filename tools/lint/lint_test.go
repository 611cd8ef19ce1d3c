package lint_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/segstore/segstore/tools/lint"
)

const module = "github.com/segstore/segstore/"

// tree makes a checkout of files, each given as its text.
func tree(files map[string]string) fstest.MapFS {
	root := fstest.MapFS{}
	for name, text := range files {
		root[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return root
}

// check runs this repository's rules over files and returns "path:line: rule" of each finding.
func check(t *testing.T, files map[string]string) []string {
	t.Helper()
	found, err := lint.Check(tree(files), lint.Segstore())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range found {
		place, _, _ := strings.Cut(f.String(), ": "+f.Rule+": ")
		got = append(got, place+": "+f.Rule)
	}
	return got
}

type findings struct {
	name  string
	files map[string]string
	want  []string
}

func run(t *testing.T, cases []findings) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := check(t, c.files); !slices.Equal(got, c.want) {
				t.Errorf("found %q, want %q", got, c.want)
			}
		})
	}
}

// one is a tree of a single library file.
func one(text string) map[string]string {
	return map[string]string{"codec/a.go": "package codec\n" + text}
}

// importing is a file of a folder that imports paths.
func importing(file string, paths ...string) map[string]string {
	text := "package p\n"
	for _, p := range paths {
		text += "import _ \"" + p + "\"\n"
	}
	return map[string]string{file: text}
}

func TestTopLevel(t *testing.T) {
	run(t, []findings{
		{"allowed", map[string]string{"go.mod": "", "Makefile": "", ".ci/run": "", ".gitignore": "", "LICENSE": "", "segment/FORMAT.md": ""}, nil},
		{"stray folder", map[string]string{"utils/readme": ""}, []string{"utils: top"}},
		{"stray file", map[string]string{"NOTES.md": ""}, []string{"NOTES.md: top"}},
		{"ignored", map[string]string{".gitignore": "# built\n/bin/\n*.prof\n", "bin/segtool": "", "cpu.prof": ""}, nil},
		{"ignored anywhere", map[string]string{".gitignore": "**/testdata/rapid/\n", "codec/testdata/rapid/a.md": "TO" + "DO", "codec/rapid/a.md": "TO" + "DO"}, []string{"codec/rapid/a.md:1: word"}},
		{"ignored at the root only", map[string]string{".gitignore": "/bin\n", "tools/lint/bin/x.md": "TO" + "DO"}, []string{"tools/lint/bin/x.md:1: word"}},
		{"git's own", map[string]string{".git/hooks/x.go": "package"}, nil},
	})
}

func TestWords(t *testing.T) {
	todo, machine := "TO"+"DO", "/wo"+"rk/"
	run(t, []findings{
		{"comment", one("// " + todo + ": more\n"), []string{"codec/a.go:2: word"}},
		{"each of them", map[string]string{"README.md": "FIX" + "ME\n\nXX" + "X\n"}, []string{"README.md:1: word", "README.md:3: word"}},
		{"call", one("import \"context\"\nvar _ = context." + todo + "()\n"), []string{"codec/a.go:3: word"}},
		{"path at the start of a line", map[string]string{"Makefile": machine + "main\n"}, []string{"Makefile:1: word"}},
		{"path in quotes", map[string]string{"tools/segtool/testdata/script/a.txtar": "\"" + machine + "main\"\n"}, []string{"tools/segtool/testdata/script/a.txtar:1: word"}},
		{"part of another path", map[string]string{"README.md": "net" + machine + "x $W" + machine + "x XX" + "XXXX my" + todo + "s\n"}, nil},
		{"binary", map[string]string{"segment/testdata/a.seg": "\x00" + todo}, nil},
		{"fuzz corpus", map[string]string{"codec/testdata/fuzz/FuzzX/01": todo}, nil},
		{"other module", map[string]string{"tools/oracle/go.mod": "", "tools/oracle/a.go": "package oracle // " + todo}, []string{"tools/oracle/a.go:1: word"}},
	})
}

func TestParse(t *testing.T) {
	run(t, []findings{
		{"broken", one("func {\n"), []string{"codec/a.go:2: parse"}},
		{"testdata is not built", map[string]string{"codec/testdata/a.go": "func"}, nil},
	})
}

func TestImportDirection(t *testing.T) {
	run(t, []findings{
		{"down", importing("segment/a.go", module+"codec", module+"codec/wire", module+"dict", module+"segment/merkle"), nil},
		{"standard library", importing("dict/a.go", "fmt", "encoding/binary", "math/rand/v2"), nil},
		{"dict is the lowest", importing("dict/a.go", module+"codec"), []string{"dict/a.go:2: import"}},
		{"codec knows no segment", importing("codec/a.go", module+"dict", module+"segment"), []string{"codec/a.go:3: import"}},
		{"segment knows no archive", importing("segment/a.go", module+"segment/archive"), []string{"segment/a.go:2: import"}},
		{"archive", importing("segment/archive/a.go", module+"segment", module+"codec"), nil},
		{"a leaf", importing("segment/merkle/a.go", module+"codec/wire"), []string{"segment/merkle/a.go:2: import"}},
		{"another leaf", importing("codec/wire/a.go", module+"dict"), []string{"codec/wire/a.go:2: import"}},
		{"libraries know no tool", importing("segment/a.go", module+"tools/chain"), []string{"segment/a.go:2: import"}},
		{"a test may take real records", importing("segment/a_test.go", module+"segment", module+"tools/chain/era1"), nil},
		{"a test may not turn the rest around", importing("codec/a_test.go", module+"segment"), []string{"codec/a_test.go:2: import"}},
		{"an importer", importing("tools/chain/era1/a.go", module+"tools/chain", module+"tools/chain/ethereum", module+"segment"), nil},
		{"an importer writes no archive", importing("tools/chain/era1/a.go", module+"segment/archive"), []string{"tools/chain/era1/a.go:2: import"}},
		{"the command uses all", importing("tools/segtool/cmd/a.go", module+"segment/archive", module+"tools/chain/blk"), nil},
		{"the module's root", importing("codec/a.go", strings.TrimSuffix(module, "/")), []string{"codec/a.go:2: import"}},
		{"a package without a row", importing("codec/snappy/a.go", "fmt"), []string{"codec/snappy: import"}},
		{"a package of tests", importing("tools/chain/chaintest/a.go", module+"tools/chain"), nil},
		{"a test with one", importing("segment/a_test.go", module+"tools/chain/chaintest"), nil},
		{"another file with one", importing("tools/chain/era1/a.go", module+"tools/chain/chaintest"), []string{"tools/chain/era1/a.go:2: import"}},
		{"cgo", importing("codec/a.go", "C"), []string{"codec/a.go:2: import"}},
		{"dot import", one("import . \"fmt\"\n"), []string{"codec/a.go:2: import"}},
		{"other module", importing("tools/oracle/a.go", module+"segment"), []string{"tools/oracle: import"}},
		{"other module with a go.mod", map[string]string{"tools/oracle/go.mod": "", "tools/oracle/a.go": "package oracle\nimport _ \"" + module + "segment\"\n"}, nil},
	})
}

func TestImportTypesOnly(t *testing.T) {
	schema := "package segment\ntype (Row [][]byte\nReader struct{})\nconst Bytes = 1\nfunc AppendUint() {}\n"
	user := func(file, text string) map[string]string {
		return map[string]string{"segment/schema.go": schema, "segment/writer.go": "package segment\nfunc NewWriter() {}\n", file: text}
	}
	run(t, []findings{
		{"types", user("tools/chain/a.go", "package chain\nimport \""+module+"segment\"\nvar _ segment.Row\nvar _ = segment.Bytes\nfunc f() { segment.AppendUint() }\n"), nil},
		{"an engine", user("tools/chain/a.go", "package chain\nimport \""+module+"segment\"\nfunc f() { segment.NewWriter() }\n"), []string{"tools/chain/a.go:3: import"}},
		{"by another name", user("tools/chain/a.go", "package chain\nimport s \""+module+"segment\"\nfunc f() { s.NewWriter() }\n"), []string{"tools/chain/a.go:3: import"}},
		{"in a test", user("tools/chain/a_test.go", "package chain\nimport \""+module+"segment\"\nfunc f() { segment.NewWriter() }\n"), nil},
	})
}

func TestModules(t *testing.T) {
	const vfs, rapid = "github.com/cockroachdb/pebble/v2/vfs", "pgregory.net/rapid"
	run(t, []findings{
		{"anywhere", importing("segment/a.go", "github.com/cespare/xxhash/v2", "github.com/klauspost/compress/zstd"), nil},
		{"vfs in the archive", importing("segment/archive/a.go", vfs), nil},
		{"vfs in the command", importing("tools/segtool/cmd/a.go", vfs), nil},
		{"vfs in a segment", importing("segment/a.go", vfs), []string{"segment/a.go:2: module"}},
		{"vfs in an importer", importing("tools/chain/blk/a.go", vfs), []string{"tools/chain/blk/a.go:2: module"}},
		{"vfs in a test", importing("segment/a_test.go", vfs), nil},
		{"a harness in a test", importing("codec/a_test.go", rapid, "golang.org/x/mod/sumdb/tlog"), nil},
		{"a harness in a package of tests", importing("tools/chain/chaintest/a.go", rapid), nil},
		{"a harness in a library", importing("codec/a.go", rapid), []string{"codec/a.go:2: module"}},
		{"one for a single folder", importing("segment/a_test.go", "github.com/minio/minio-go/v7"), []string{"segment/a_test.go:2: module"}},
		{"unknown", importing("codec/a.go", "github.com/ethereum/go-ethereum/rlp"), []string{"codec/a.go:2: module"}},
		{"a longer name", importing("codec/a.go", "github.com/klauspost/compressor"), []string{"codec/a.go:2: module"}},
	})
}

func TestFindingString(t *testing.T) {
	if got := (lint.Finding{Path: "a.go", Line: 3, Rule: "panic", Text: "return the error"}).String(); got != "a.go:3: panic: return the error" {
		t.Error(got)
	}
	if got := (lint.Finding{Path: "x", Rule: "top", Text: "t"}).String(); got != "x: top: t" {
		t.Error(got)
	}
}

func TestLong(t *testing.T) {
	long, err := lint.Long(tree(map[string]string{
		"codec/ok.go":      "package codec\n" + strings.Repeat("\n", 399),
		"codec/long.go":    "package codec\n" + strings.Repeat("\n", 399) + "// the 401st, without an end",
		"codec/longest.go": "package codec\n" + strings.Repeat("\n", 1000),
		"README.md":        strings.Repeat("\n", 1000),
	}), lint.Segstore())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range long {
		got = append(got, f.String())
	}
	want := []string{"codec/longest.go: length: 1001 lines, more than 400", "codec/long.go: length: 401 lines, more than 400"}
	if !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}

func TestIgnoreFileBeyondLint(t *testing.T) {
	for _, text := range []string{"!keep\n", "a/b\n", "[\n"} {
		if _, err := lint.Check(tree(map[string]string{".gitignore": text}), lint.Segstore()); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
}
