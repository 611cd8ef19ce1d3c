package cmd

import (
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// testApp returns an app whose results go nowhere.
func testApp(t *testing.T, fs vfs.FS) *app {
	t.Helper()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { null.Close() })
	return &app{fs: fs, stdin: null, stdout: newOutput(null), stderr: null}
}

// run runs segtool with the arguments after its name.
func (a *app) run(t *testing.T, args ...string) error {
	t.Helper()
	root := a.root()
	root.SetArgs(args)
	root.SetOut(io.Discard)
	root.SetErr(io.Discard)
	return root.ExecuteContext(t.Context())
}

// Wrong usage of every verb has its exit code, and touches no file.
func TestUsage(t *testing.T) {
	list, err := os.ReadFile("testdata/usage.txt")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.WriteFile("bad.policy", []byte("chunk 5\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	a := testApp(t, vfs.Default)
	var last error
	for line := range strings.Lines(string(list)) {
		line = strings.ReplaceAll(strings.TrimSpace(line), "$LONG", strings.Repeat("n", 250))
		what, rest, _ := strings.Cut(line, " ")
		switch what {
		case "", "#":
		case "=":
			if last == nil || !regexp.MustCompile(rest).MatchString(last.Error()) {
				t.Errorf("%v does not match %s", last, rest)
			}
		default:
			last = a.run(t, words(rest)...)
			if got := codeOf(last); got != int(what[0]-'0') {
				t.Errorf("segtool %s: exit code %d, not %s: %v", rest, got, what, last)
			}
		}
	}
	entries, err := os.ReadDir(".")
	if err != nil || len(entries) != 1 {
		t.Errorf("made: %v, %v", entries, err)
	}
}

// words cuts a line as a shell does that knows no more than quotes around words.
func words(line string) []string {
	var list []string
	for _, w := range strings.Fields(line) {
		list = append(list, strings.Trim(w, "'"))
	}
	return list
}
