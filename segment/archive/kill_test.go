package archive_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/segstore/segstore/segment/archive"
)

const killed = "ARCHIVE_TEST_KILLED" // the directory in which the process to be killed works

// killAt starts this test again as a process of its own, kills it some time after
// it has begun, and returns what it said.
func killAt(t *testing.T, test, dir string, after time.Duration) string {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^"+test+"$")
	cmd.Env = append(os.Environ(), killed+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "begin") {
		said.WriteString(lines.Text() + "\n")
	}
	time.Sleep(after)
	if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatal(err)
	}
	for lines.Scan() {
		said.WriteString(lines.Text() + "\n")
	}
	_ = cmd.Wait() // it was killed
	return said.String()
}

func rounds() int {
	if testing.Short() {
		return 10
	}
	return 50
}

// A process that recompresses an archive again and again is killed at random
// moments: every segment is an old or a new one, every row readable, the roots
// are what they were, and the next writer leaves nothing over.
func TestKilledRecompress(t *testing.T) {
	tables := testTables(t, 1500, s2Policy)
	policies := []string{zstdPolicy, rawPolicy, largePolicy, s2Policy}
	if dir := os.Getenv(killed); dir != "" {
		a := mustOpen(t, vfs.Default, dir, archive.Options{})
		fmt.Println("begin")
		for i := 0; ; i++ {
			mustRecompress(t, a, under(t, policies[i%len(policies)]))
		}
	}
	dir := filepath.Join(t.TempDir(), "chain")
	mustBuild(t, vfs.Default, dir, archive.CreateOptions{SegmentBytes: 60 << 10}, tables)
	a := mustOpen(t, vfs.Default, dir, archive.Options{ReadOnly: true})
	was := roots(t, a)
	mustClose(t, a)
	rng := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
	leftovers := 0
	for range rounds() {
		after := time.Duration(rng.IntN(60)) * time.Millisecond
		said := killAt(t, "TestKilledRecompress", dir, after)
		r := mustOpen(t, vfs.Default, dir, archive.Options{ReadOnly: true})
		err := compareRows(r, tables, false)
		before := len(tree(t, vfs.Default, dir))
		mustClose(t, r)
		a := mustOpen(t, vfs.Default, dir, archive.Options{})
		if len(tree(t, vfs.Default, dir)) < before {
			leftovers++
		}
		if err != nil || !slices.Equal(roots(t, a), was) {
			t.Fatalf("killed after %v: %v\n%s", after, err, said)
		}
		wantWhole(t, a)
		wantTidy(t, vfs.Default, a)
		mustClose(t, a)
		if t.Failed() {
			t.Fatalf("killed after %v\n%s", after, said)
		}
	}
	t.Logf("%d of %d left something over, until the next writer", leftovers, rounds())
}

// A process that builds an archive is killed at random moments: there is a whole
// archive or none, and the next builder leaves nothing over.
func TestKilledBuild(t *testing.T) {
	tables := testTables(t, 300, dictPolicy)
	o := archive.CreateOptions{SegmentBytes: 20 << 10}
	if dir := os.Getenv(killed); dir != "" {
		fmt.Println("begin")
		for i := 0; ; i++ {
			mustBuild(t, vfs.Default, filepath.Join(dir, fmt.Sprint("chain", i)), o, tables)
		}
	}
	rng := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
	whole, stale := 0, 0
	for range rounds() / 5 {
		root := t.TempDir()
		after := time.Duration(rng.IntN(400)) * time.Millisecond
		said := killAt(t, "TestKilledBuild", root, after)
		names, err := vfs.Default.List(root)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			dir := filepath.Join(root, name)
			if base, _, ok := strings.Cut(dir, ".tmp-"); ok {
				stale++
				mustBuild(t, vfs.Default, base, o, tables)
				dir = base
			} else {
				whole++
			}
			a := mustOpen(t, vfs.Default, dir, archive.Options{})
			if err := compareRows(a, tables, false); err != nil {
				t.Fatalf("killed after %v: %v\n%s", after, err, said)
			}
			wantTidy(t, vfs.Default, a)
			mustClose(t, a)
		}
		if names, _ := filepath.Glob(filepath.Join(root, "*.tmp-*")); len(names) > 0 {
			t.Fatalf("left over: %q", names)
		}
	}
	t.Logf("%d whole, %d killed halfway", whole, stale)
}

// Ended by a context on a real disk, too, nothing is left.
func TestCancelledOnDisk(t *testing.T) {
	root := t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	o := archive.CreateOptions{SegmentBytes: 60 << 10, Context: ctx, Progress: func(archive.Progress) { cancel() }}
	if _, err := build(vfs.Default, filepath.Join(root, "chain"), o, testTables(t, 1500, dictPolicy)); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if names := tree(t, vfs.Default, root); len(names) != 0 {
		t.Fatalf("left: %q", names)
	}
}

// A process that recompresses a lone file is killed: the next one removes what it
// left, but nothing of one that is alive.
func TestKilledRecompressFile(t *testing.T) {
	if path := os.Getenv(killed); path != "" {
		said := false
		_, err := archive.RecompressFile(context.Background(), vfs.Default, path, "", under(t, zstdPolicy), func(archive.Progress) {
			if !said {
				said = true
				fmt.Println("begin")
				time.Sleep(time.Minute) // until it is killed
			}
		})
		t.Fatal(err)
	}
	if runtime.GOOS == "windows" {
		t.Skip("has no locks that would not be in the way")
	}
	path := filepath.Join(t.TempDir(), strings.Repeat("long", 60)+".seg")
	drafts := func() (names []string) {
		for _, n := range tree(t, vfs.Default, filepath.Dir(path)) {
			if strings.Contains(n, ".tmp-") {
				names = append(names, n)
			}
		}
		return names
	}
	writeSegment(t, vfs.Default, path, testTables(t, 1500, s2Policy)[0])
	if err := os.Chmod(path, 0o400); err != nil {
		t.Fatal(err)
	}
	killAt(t, "TestKilledRecompressFile", path, 0)
	dead := drafts()
	if len(dead) != 1 {
		t.Fatalf("a killed process left %q", dead)
	}
	foreign := dead[0][:len(dead[0])-1] + "g"
	writeFile(t, vfs.Default, foreign, []byte("another's"))

	began, goOn, done := make(chan bool), make(chan bool), make(chan error, 1)
	go func() {
		first := true
		_, err := archive.RecompressFile(context.Background(), vfs.Default, path, "", under(t, zstdPolicy), func(archive.Progress) {
			if first {
				first = false
				close(began)
				<-goOn
			}
		})
		done <- err
	}()
	<-began
	living := drafts()
	if len(living) != 2 || slices.Contains(living, dead[0]) || !slices.Contains(living, foreign) {
		t.Errorf("beside the file: %q, %q was of a dead one", living, dead)
	}
	if _, err := archive.RecompressFile(context.Background(), vfs.Default, path, "", under(t, largePolicy), nil); err != nil {
		t.Fatal(err)
	}
	if now := drafts(); !slices.Equal(now, living) {
		t.Errorf("beside the file: %q, alive is %q", now, living)
	}
	close(goOn)
	if err := <-done; err != nil {
		t.Errorf("the one that was alive: %v", err)
	}
	if now := drafts(); !slices.Equal(now, []string{foreign}) {
		t.Errorf("left: %q", now)
	}
}
