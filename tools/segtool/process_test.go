package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/segstore/segstore/tools/chain/synth"
)

// made writes a made-up chain.
func made(t *testing.T, dir string, bytes uint64) string {
	t.Helper()
	path := filepath.Join(dir, "made.rlps")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = synth.New(1).Write(t.Context(), f, synth.Limit{Bytes: bytes})
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

// segtool runs it to its end and returns what it prints.
func segtool(t *testing.T, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	c := exec.CommandContext(t.Context(), "segtool", args...)
	c.Stdout, c.Stderr = &stdout, &stderr
	if err := c.Run(); err != nil {
		t.Fatalf("segtool %s: %v\n%s", strings.Join(args, " "), err, stderr.Bytes())
	}
	return stdout.String()
}

// long returns the first number, or the second where the tests should be short.
func long(full, short uint64) uint64 {
	if testing.Short() {
		return short
	}
	return full
}

func names(t *testing.T, dir string) string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var s []string
	for _, e := range list {
		s = append(s, e.Name())
	}
	return strings.Join(s, " ")
}

// ends waits for a process that has been told to end; one that does not is killed.
func ends(t *testing.T, c *exec.Cmd) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- c.Wait() }()
	select {
	case err := <-done:
		return err
	case <-time.After(30 * time.Second):
		c.Process.Kill()
		t.Fatal("does not end")
		return nil
	}
}

func needsSignals(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no interrupt to send")
	}
}

// An interrupted import leaves nothing, also where it waits for stdin.
func TestInterruptImport(t *testing.T) {
	needsSignals(t)
	dir := t.TempDir()
	c := exec.CommandContext(t.Context(), "segtool", "import", "--from", "jsonl", "--columns", "n:uint", "-", filepath.Join(dir, "x"))
	var stderr bytes.Buffer
	c.Stderr = &stderr
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(in, strings.Repeat("{\"n\":1}\n", 20_000)); err != nil {
		t.Fatal(err)
	}
	for began := time.Now(); names(t, dir) == "" && time.Since(began) < 10*time.Second; { // it has begun
		time.Sleep(time.Millisecond)
	}
	if names(t, dir) == "" {
		t.Fatal("nothing is written while rows come in: this proves nothing")
	}
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	err = ends(t, c)
	var e *exec.ExitError
	if !errors.As(err, &e) || e.ExitCode() != 1 || stderr.String() != "segtool: interrupted\n" {
		t.Errorf("%v: %q", err, stderr.String())
	}
	if got := names(t, dir); got != "" {
		t.Errorf("left behind: %s", got)
	}
}

// A killed import leaves no archive, and the next one removes what it left.
func TestKillImport(t *testing.T) {
	dir := t.TempDir()
	src := made(t, t.TempDir(), long(8_000_000, 2_000_000))
	c := exec.CommandContext(t.Context(), "segtool", "import", "--from", "rlp", src, filepath.Join(dir, "x"))
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	for began := time.Now(); names(t, dir) == "" && time.Since(began) < 10*time.Second; {
		time.Sleep(time.Millisecond)
	}
	c.Process.Kill()
	if err := ends(t, c); err == nil {
		t.Fatal("was too fast to be killed")
	}
	if _, err := os.Stat(filepath.Join(dir, "x")); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("an archive after a killed import: %v", err)
	}
	segtool(t, "import", "--from", "rlp", src, filepath.Join(dir, "x"))
	if got := names(t, dir); got != "x" {
		t.Errorf("left behind: %s", got)
	}
}

// Recompressing that is interrupted or killed at any moment leaves each segment as it
// was or as it should be, with all its rows; nothing else is left after the next open.
func TestStopRecompress(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "x")
	src := made(t, t.TempDir(), long(4_000_000, 1_500_000))
	segtool(t, "import", "--from", "rlp", "--segment-bytes", "500kB", src, dir)
	roots := contentRoots(t, dir)
	each := int(long(8, 2))
	signals := slices.Repeat([]os.Signal{os.Kill}, each)
	if runtime.GOOS != "windows" { // first: a kill leaves something to the next one
		signals = append(slices.Repeat([]os.Signal{os.Interrupt}, each), signals...)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	levels := []string{"3", "1", "7", "2"}
	stopped := 0
	for i, signal := range signals {
		c := exec.CommandContext(t.Context(), "segtool", "recompress", "--level", levels[i%len(levels)], dir)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(20+rng.IntN(150)) * time.Millisecond)
		c.Process.Signal(signal)
		if ends(t, c) != nil {
			stopped++
		}
		if signal == os.Interrupt {
			wholeArchive(t, dir) // it has cleared up itself
		}
		if got := contentRoots(t, dir); got != roots {
			t.Fatalf("content roots are %s, were %s", got, roots)
		}
		segtool(t, "verify", "--content", dir)
	}
	if stopped == 0 {
		t.Error("never stopped in time: this proves nothing")
	}
	segtool(t, "recompress", "--level", "1", dir)
	wholeArchive(t, dir)
	if got := contentRoots(t, dir); got != roots {
		t.Errorf("content roots are %s, were %s", got, roots)
	}
	out := filepath.Join(t.TempDir(), "out")
	segtool(t, "export", "--to", "rlp", dir, out)
	same(t, out, src)
}

func contentRoots(t *testing.T, dir string) string {
	t.Helper()
	var list []struct {
		Table string `json:"table"`
		Root  string `json:"content_root"`
	}
	if err := json.Unmarshal([]byte(segtool(t, "ls", "--json", dir)), &list); err != nil {
		t.Fatal(err)
	}
	var s []string
	for _, l := range list {
		s = append(s, l.Table+" "+l.Root)
	}
	return strings.Join(s, "\n")
}

// wholeArchive wants an archive to hold its segments' files and no others.
func wholeArchive(t *testing.T, dir string) {
	t.Helper()
	var list []struct {
		File string `json:"file"`
	}
	if err := json.Unmarshal([]byte(segtool(t, "ls", "--json", dir)), &list); err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{"LOCK": true, "MANIFEST.json": true}
	for _, l := range list {
		want[filepath.FromSlash(l.File)] = true
	}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if !want[rel] {
			t.Errorf("left behind: %s", rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// same wants two files to have the same bytes.
func same(t *testing.T, a, b string) {
	t.Helper()
	x, err := os.ReadFile(a)
	if err != nil {
		t.Fatal(err)
	}
	y, err := os.ReadFile(b)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(x, y) {
		t.Errorf("%s and %s differ", a, b)
	}
}
