package lint_test

import "testing"

func TestCode(t *testing.T) {
	run(t, []findings{
		{"panic", one("func f() {\n\tpanic(\"x\")\n}\n"), []string{"codec/a.go:3: panic"}},
		{"panic in a closure in an unknown call", one("import \"x\"\nvar _ = x.Do(func() {\n\tpanic(1)\n})\n"), []string{"codec/a.go:4: panic"}},
		{"panic in a generic", one("func f[T any](v T) {\n\t(panic)(v)\n}\n"), []string{"codec/a.go:3: panic"}},
		{"a function named panic", one("func f(panic func(int)) { panic(1) }\n"), nil},
		{"in a string and a comment", one("// panic(1)\nconst c = \"panic(1)\"\n"), nil},
		{"recover", one("func f() { defer func() { _ = recover() }() }\n"), nil},
		{"panic in a test", map[string]string{"codec/a_test.go": "package codec\nfunc f() { panic(1) }\n"}, nil},
		{"panic in a package of tests", map[string]string{"tools/chain/chaintest/a.go": "package chaintest\nfunc f() { panic(1) }\n"}, nil},
		{"panic in the command", map[string]string{"tools/segtool/main.go": "package main\nfunc main() { panic(1) }\n"}, []string{"tools/segtool/main.go:2: panic"}},

		{"init", one("func init() {}\n"), []string{"codec/a.go:2: init"}},
		{"init in the command", map[string]string{"tools/segtool/cmd/a.go": "package cmd\nfunc init() {}\n"}, []string{"tools/segtool/cmd/a.go:2: init"}},
		{"a method init", one("type t struct{}\nfunc (t) init() {}\n"), nil},

		{"exit", one("import \"os\"\nfunc f() { os.Exit(1) }\n"), []string{"codec/a.go:3: exit"}},
		{"exit by another name", one("import sys \"os\"\nvar quit = sys.Exit\n"), []string{"codec/a.go:3: exit"}},
		{"exit in main.go", map[string]string{"tools/segtool/main.go": "package main\nimport \"os\"\nfunc main() { os.Exit(1) }\n"}, nil},
		{"exit in a verb", map[string]string{"tools/segtool/cmd/a.go": "package cmd\nimport \"os\"\nfunc f() { os.Exit(1) }\n"}, []string{"tools/segtool/cmd/a.go:3: exit"}},
		{"log.Fatal in a verb", map[string]string{"tools/segtool/cmd/a.go": "package cmd\nimport \"log\"\nfunc f() { log.Fatalf(\"\") }\n"}, []string{"tools/segtool/cmd/a.go:3: exit"}},
		{"a variable named os", one("import \"os\"\nvar _ = os.Args\nfunc f(os struct{ Exit func() }) { os.Exit() }\n"), nil},

		{"print", one("import \"fmt\"\nfunc f() {\n\tfmt.Println()\n\tfmt.Printf(\"\")\n\tfmt.Print()\n}\n"), []string{"codec/a.go:4: print", "codec/a.go:5: print", "codec/a.go:6: print"}},
		{"print builtin", one("func f() { println(1) }\n"), []string{"codec/a.go:2: print"}},
		{"to stderr", one("import (\n\"fmt\"\n\"os\"\n)\nfunc f() { fmt.Fprintln(os.Stderr) }\n"), []string{"codec/a.go:6: print"}},
		{"to a writer", one("import (\n\"fmt\"\n\"io\"\n)\nfunc f(w io.Writer) { fmt.Fprintln(w) }\n"), nil},
		{"print in the command", map[string]string{"tools/segtool/cmd/a.go": "package cmd\nimport \"fmt\"\nfunc f() { fmt.Println() }\n"}, nil},

		{"log", one("import \"log\"\nfunc f() { log.Printf(\"\") }\n"), []string{"codec/a.go:3: log"}},
		{"the default slog", one("import \"log/slog\"\nfunc f() { slog.Info(\"\") }\n"), []string{"codec/a.go:3: log"}},
		{"a logger given", one("import \"log/slog\"\nfunc f(l *slog.Logger) { l.Info(\"\", slog.Int(\"n\", 1)) }\n"), nil},
	})
}

func TestState(t *testing.T) {
	run(t, []findings{
		{"sentinels", one("import (\n\"errors\"\n\"fmt\"\n)\nvar ErrA = errors.New(\"a\")\nvar (\nerrB = fmt.Errorf(\"b: %w\", ErrA)\nErrC = &E{}\n)\ntype E struct{}\n"), nil},
		{"tables", one("var names = []string{\"a\"}\nvar m = map[string]int{\"a\": 1}\nvar a = [...]int{1}\nvar x = a[0]\nfunc f() int { return m[names[0]] + len(a) + x }\n"), nil},
		{"an assertion", one("var _ T = (*t)(nil)\ntype T any\ntype t struct{}\n"), nil},
		{"a value computed", one("import (\n\"encoding/binary\"\n\"sync\"\n\"hash/crc32\"\n)\nvar le = binary.LittleEndian\nvar table = crc32.MakeTable(1)\nvar once = sync.OnceValue(func() int { return 1 })\n"), nil},
		{"embedded", one("import _ \"embed\"\n//go:embed a.txt\nvar text string\n"), nil},
		{"local", one("func f() { var n int; m := map[int]int{}; m[n]++; n = 2; _ = &n }\n"), nil},
		{"a local of the same name", one("var table = []int{1}\nfunc f() {\n\ttable := make([]int, 1)\n\ttable[0] = 2\n\tclear(table)\n}\n"), nil},
		{"in the command", map[string]string{"tools/segtool/cmd/a.go": "package cmd\nvar n int\nfunc f() { n++ }\n"}, nil},
		{"in a test", map[string]string{"codec/a_test.go": "package codec\nvar n int\n"}, nil},

		{"no value", one("var n int\n"), []string{"codec/a.go:2: state"}},
		{"a lock", one("import \"sync\"\nvar mu sync.Mutex\n"), []string{"codec/a.go:3: state"}},
		{"a pool", one("import \"sync\"\nvar pool = sync.Pool{}\nvar p2 = &sync.Pool{}\n"), []string{"codec/a.go:3: state", "codec/a.go:4: state"}},
		{"an atomic", one("import \"sync/atomic\"\nvar n atomic.Int64\nvar p atomic.Pointer[int]\n"), []string{"codec/a.go:3: state", "codec/a.go:4: state"}},
		{"a registry", one("var a = map[string]int{}\nvar b = make(map[string]int)\nvar c = make(chan int)\nvar d = new(int)\n"), []string{"codec/a.go:2: state", "codec/a.go:3: state", "codec/a.go:4: state", "codec/a.go:5: state"}},
		{"exported", one("var Level = 3\n"), []string{"codec/a.go:2: state"}},
		{"the second of two", one("var a, b = 1, make([]int, 1)\n"), []string{"codec/a.go:2: state"}},

		{"assigned", one("var n = 1\nfunc f() { n = 2 }\n"), []string{"codec/a.go:3: state"}},
		{"counted", one("var n = 1\nfunc f() { n++; n += 2 }\n"), []string{"codec/a.go:3: state", "codec/a.go:3: state"}},
		{"a part assigned", one("var m = map[int]int{1: 1}\nvar s = struct{ a []int }{}\nfunc f() {\n\tm[1] = 2\n\ts.a[0] = 1\n}\n"), []string{"codec/a.go:5: state", "codec/a.go:6: state"}},
		{"from another file", map[string]string{"codec/a.go": "package codec\nvar n = 1\n", "codec/b.go": "package codec\nfunc f() { n = 2 }\n"}, []string{"codec/b.go:2: state"}},
		{"in a closure in an unknown call", one("import \"x\"\nvar n = 1\nfunc f() {\n\tx.Do(func() { n = 2 })\n}\n"), []string{"codec/a.go:5: state"}},
		{"in a range", one("var n = 1\nfunc f() { for n = range 3 {} }\n"), []string{"codec/a.go:3: state"}},
		{"its address", one("var n = 1\nfunc f() *int { return &n }\n"), []string{"codec/a.go:3: state"}},
		{"an element's address", one("var t = []int{1}\nfunc f() *int { return &t[0] }\n"), nil},
		{"builtins", one("var m = map[int]int{1: 1}\nvar s = []int{1}\nfunc f() {\n\tdelete(m, 1)\n\tclear(m)\n\tcopy(s[:1], s)\n}\n"), []string{"codec/a.go:5: state", "codec/a.go:6: state", "codec/a.go:7: state"}},
	})
}
