package archive_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/segstore/segstore/segment/archive"
)

// Checksums of "hello", as xxhsum -H1 and sha256sum print them.
const (
	helloXXH = "26c7827d889f6da3"
	helloSHA = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
)

func TestCheckListForms(t *testing.T) {
	fs := vfs.NewMem()
	for _, name := range []string{"/a b", "/back\\slash", "/two\nlines", "/re\rturn", "/a (b) = c", "/*"} {
		writeFile(t, fs, name, []byte("hello"))
	}
	const xxh, sha = helloXXH, helloSHA
	for text, answer := range map[string]archive.Answer{
		xxh + "  /a b":                   archive.SameFile,
		sha + "  /a b":                   archive.SameFile,
		sha + " */a b":                   archive.SameFile,
		xxh + " */*":                     archive.SameFile,
		sha + "  /a b\r":                 archive.SameFile,
		"SHA256 (/a b) = " + sha:         archive.SameFile,
		"XXH64 (/a b) = " + xxh:          archive.SameFile,
		"XXH64 (/a (b) = c) = " + xxh:    archive.SameFile,
		xxh + "  /a (b) = c":             archive.SameFile,
		strings.ToUpper(sha) + "  /a b":  archive.SameFile,
		`\` + xxh + `  /back\\slash`:     archive.SameFile,
		`\` + sha + ` */two\nlines`:      archive.SameFile,
		`\` + sha + `  /re\rturn`:        archive.SameFile,
		`\SHA256 (/two\nlines) = ` + sha: archive.SameFile,
		`\` + xxh + `  /a b`:             archive.SameFile,
		xxh + `  /back\slash`:            archive.SameFile, // nothing is escaped
		xxh + `  /two\nlines`:            archive.Different,
		xxh + "  /nothing":               archive.Different,
		"0" + xxh[1:] + "  /a b":         archive.Different,
		xxh:                              "",
		xxh + " /a b":                    "",
		xxh + "  ":                       "",
		"12  /a b":                       "",
		"no checksum at all":             "",
		"XXH3 (/a b) = " + xxh:           "",
		"XXH64 (/a b) = " + sha:          "",
		"SHA256 (/a b) = " + xxh:         "",
		"SHA256 () = " + sha:             "",
		`\` + xxh + `  /a\tb`:            "",
		`\` + xxh + `  /a b\`:            "",
		strings.Repeat("x", 1<<20):       "",
	} {
		// A line that is wrong does not keep the next one from being read.
		var got []archive.Expectation
		for e, err := range archive.CheckList(context.Background(), fs, nil, strings.NewReader("\n"+text+"\n"+sha+"  /a b")) {
			got = append(got, e)
			var le *archive.LineError
			if bad := errors.As(err, &le); bad != (err != nil) || bad && le.Line != e.Line || bad && e.Answer != "" {
				t.Errorf("%.100q: %+v, %v", text, e, err)
			}
		}
		if len(got) != 2 || got[0].Answer != answer || got[0].Line != 2 || got[1].Answer != archive.SameFile || got[1].Line != 3 {
			t.Errorf("%.100q: %+v", text, got)
		}
	}
}

// A list that cannot be read to its end is an error without a line, after the
// answers for the lines before.
func TestCheckListEnds(t *testing.T) {
	fs := vfs.NewMem()
	writeFile(t, fs, "/a", []byte("hello"))
	broken := errors.New("broken")
	list := io.MultiReader(strings.NewReader(helloXXH+"  /a\n"+helloXXH), iotest.ErrReader(broken))
	n := 0
	for e, err := range archive.CheckList(context.Background(), fs, nil, list) {
		if n++; n == 1 && (err != nil || e.Answer != archive.SameFile) || n == 2 && (!errors.Is(err, broken) || e.Line != 0) {
			t.Errorf("answer %d: %+v, %v", n, e, err)
		}
	}
	if n != 2 {
		t.Errorf("%d answers", n)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	n = 0
	for e, err := range archive.CheckList(ctx, fs, nil, strings.NewReader(strings.Repeat(helloXXH+"  /a\n", 5))) {
		cancel()
		if n++; n == 2 && (!errors.Is(err, context.Canceled) || e.Line != 0) {
			t.Errorf("cancelled: %+v, %v", e, err)
		}
	}
	if n != 2 {
		t.Errorf("%d answers", n)
	}
}

// What the programs of the system print is read.
func TestCheckListOfPrograms(t *testing.T) {
	dir := t.TempDir()
	var names []string
	for _, name := range []string{"plain", "with space", "back\\slash", "two\nlines", "(x) = y", "re\rturn"} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("hello"), 0o666); err != nil {
			t.Skip(err)
		}
		names = append(names, path)
	}
	ran := 0
	for _, program := range [][]string{{"sha256sum"}, {"sha256sum", "-b"}, {"sha256sum", "--tag"}, {"xxhsum", "-H1"}, {"xxhsum", "-H1", "--tag"}} {
		names := names
		if program[0] == "xxhsum" { // older ones escape nothing
			names = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return strings.Contains(n, "\n") })
		}
		out, err := exec.Command(program[0], append(program[1:], names...)...).Output()
		if err != nil {
			t.Log(program, err)
			continue
		}
		ran++
		n := 0
		for e, err := range archive.CheckList(context.Background(), vfs.Default, nil, strings.NewReader(string(out))) {
			if n >= len(names) || err != nil || e.Answer != archive.SameFile || e.Name != names[n] {
				t.Error(program, fmt.Sprintf("%+v", e), err)
			}
			n++
		}
		if n != len(names) {
			t.Errorf("%v: %d answers for\n%s", program, n, out)
		}
	}
	if ran == 0 {
		t.Skip("no such program")
	}
}
