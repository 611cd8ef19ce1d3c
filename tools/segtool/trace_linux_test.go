package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/segstore/segstore/codec"
	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/segment/archive"
)

// System calls that change nothing of a file, however it is opened. Package vfs asks
// whether there is sync_file_range by a call without flags, which does nothing.
var readingCalls = regexp.MustCompile(`^(access|faccessat2?|stat|lstat|fstat|newfstatat|statx|statfs|fstatfs|readlink|readlinkat|getcwd|chdir|execve|read|readv|pread64|preadv2?|lseek|fadvise64|getdents64|close|epoll_ctl|dup|dup2|dup3)\(|^fcntl\([^)]*F_(GETFL|GETFD|SETFD|DUPFD_CLOEXEC|SETFL)|^sync_file_range\([^,]*, 0, 0, 0( <unfinished|\))`)

var opens = regexp.MustCompile(`^(open|openat|openat2)\(`)

// What the system is asked to do with an archive's files by get, beside a live writer, is
// to read them: no flag to write or create, no lock, nothing else that is not known to
// change nothing.
func TestGetOnlyReads(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "chain")
	a := liveArchive(t, dir)
	defer func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}()
	for _, how := range [][]string{{"get", dir, "--key", "6b6579203331"}, {"get", dir, "--key", "6b65792032"}, {"get", dir, "35"}} {
		calls := trace(t, dir, how...)
		if calls == nil {
			return
		}
		read := 0
		for _, c := range calls {
			switch {
			case readingCalls.MatchString(c):
			case opens.MatchString(c) && !regexp.MustCompile(`O_(WRONLY|RDWR|CREAT|TRUNC|APPEND|TMPFILE)`).MatchString(c):
				read++
			default:
				t.Errorf("%q: %s", how, c)
			}
		}
		if read < 3 {
			t.Errorf("%q: %d files of the archive were opened, of %d calls: this proves nothing", how, read, len(calls))
		}
	}
	// The same glasses see a writer.
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	writes := 0
	for _, c := range trace(t, dir, "seal", dir) {
		if !readingCalls.MatchString(c) && (!opens.MatchString(c) || strings.Contains(c, "O_RDWR|O_CREAT")) {
			writes++
		}
	}
	if writes < 5 {
		t.Errorf("of seal %d calls were seen that write", writes)
	}
	var err error
	if a, err = archive.Open(vfs.Default, dir, archive.Options{}); err != nil {
		t.Fatal(err)
	}
}

// liveArchive has a segment, rows in a log and an index, and its writer has it open.
func liveArchive(t *testing.T, dir string) *archive.Archive {
	t.Helper()
	b, err := archive.Create(vfs.Default, dir, archive.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Abort()
	schema := segment.Schema{Columns: []segment.Column{{Name: "name", Kind: segment.Bytes}}}
	if err := b.Create(archive.TableSpec{Name: "rows", Schema: schema}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	a, err := archive.Open(vfs.Default, dir, archive.Options{SealBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	commit := func(names ...string) {
		batch := a.Batch()
		for _, n := range names {
			if err := batch.Append("rows", segment.Row{[]byte(n)}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := batch.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	var first, second []string
	for n := range 20 {
		first, second = append(first, "key "+strconv.Itoa(n)), append(second, "key "+strconv.Itoa(n+20))
	}
	commit(first...)
	k, err := codec.ParseKeyDefinition("name")
	if err == nil {
		err = a.CreateIndex(t.Context(), archive.IndexSpec{Name: "name", Table: "rows", Key: k}, nil)
	}
	if err = errors.Join(err, a.Seal(t.Context())); err != nil {
		t.Fatal(err)
	}
	commit(second...)
	return a
}

// trace runs segtool under strace, and returns the calls that name anything below dir, or
// files of it that are open. Where processes cannot be traced the test is skipped, or
// fails where REALDATA=required.
func trace(t *testing.T, dir string, args ...string) (calls []string) {
	t.Helper()
	log := filepath.Join(t.TempDir(), "trace")
	run := func(args ...string) ([]byte, error) {
		c := exec.CommandContext(t.Context(), "strace", append([]string{"-f", "-y", "-qq", "-s", "300", "-e", "trace=%file,%desc", "-o", log}, args...)...)
		return c.CombinedOutput()
	}
	if out, err := run("true"); err != nil {
		if os.Getenv("REALDATA") == "required" {
			t.Fatalf("nothing can be traced, and REALDATA=required: %v\n%s", err, out)
		}
		t.Skipf("nothing can be traced: %v\n%s", err, out)
	}
	if out, err := run(append([]string{"segtool"}, args...)...); err != nil {
		t.Fatalf("segtool %q: %v\n%s", args, err, out)
	}
	b, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		_, call, _ := strings.Cut(strings.TrimSpace(line), " ") // behind the number of the process
		if call = strings.TrimSpace(call); strings.Contains(call, dir) && !strings.HasPrefix(call, "<... ") {
			calls = append(calls, call)
		}
	}
	return calls
}
