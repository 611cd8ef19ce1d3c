package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/segstore/segstore/tools/chain/chaintest"
)

// Real files that are appended one after another come back byte for byte, have the content roots of an import of all, and
// are found by their keys.
func TestRealAppend(t *testing.T) {
	data := dataDir(t)
	if data == "" {
		t.Skip("no real data: set SEGSTORE_DATA")
	}
	at := func(name string) string { return filepath.Join(data, filepath.FromSlash(name)) }
	halves := func(name string, n int) []string {
		b, err := os.ReadFile(at(name))
		if err != nil {
			t.Fatal(err)
		}
		first, rest := chaintest.SplitBlocks(t, b, n)
		paths := []string{filepath.Join(t.TempDir(), "a.rlps"), filepath.Join(t.TempDir(), "b.rlps")}
		for i, b := range [][]byte{first, rest} {
			if err := os.WriteFile(paths[i], b, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		return paths
	}
	for _, f := range []struct {
		name, format string
		paths        []string
		flags        []string
		keys         map[string]int // and their rows: of the first file and the last
	}{
		{"fixture", "rlp", halves("eth/fixture-small.rlps", 20), []string{"--allow-gap"}, nil},
		{"headers", "rlps", halves("eth/early-headers.rlps", 10_000), nil,
			map[string]int{"0x88e96d4537bea4d9c05d12549907b32561d3bf31f45aae734cdc119f13406cb6": 1, "20999": 20999}},
		{"mainnet", "rlp", halves("eth/bench-mainnet.rlps", 40), []string{"--allow-gap"}, nil},
		{"era1", "era1", []string{at("era1/mainnet-00000-5ec1ffb8.era1"), at("era1/mainnet-00001-a5364e9a.era1")}, nil,
			map[string]int{"0xd4e56740f876aef8c010b86a40d5f56745a118d0906a34e69aec8c0db1cb8fa3": 0, "16383": 16383}},
		{"blk", "blk", []string{at("btc/blk_0_to_14131.dat"), at("btc/mainnet-large.dat"), at("btc/block300025.raw")}, nil,
			map[string]int{"4a5e1e4baab89f3a32518a88c31bc87f618f76673e2cc77ab2127b7afdeda33b": 0, blockHash(t, at("btc/block300025.raw")): 14132 + 22}},
	} {
		if testing.Short() && f.name != "fixture" {
			continue
		}
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			whole, chain := filepath.Join(dir, "whole"), filepath.Join(dir, "chain")
			segtool(t, append(append([]string{"import", "--from", f.format}, f.paths...), whole)...)
			for i, p := range f.paths {
				args := append([]string{"append", "--from", f.format, "--commit-bytes", "300kB", p, chain}, f.flags...)
				if i == 0 {
					args = append(args, "--create")
				}
				if i == len(f.paths)-1 {
					args = append(args, "--seal")
				}
				segtool(t, args...)
				if i == 0 {
					segtool(t, "index", "build", chain)
				}
			}
			if got, want := contentRoots(t, chain), contentRoots(t, whole); got != want {
				t.Errorf("content roots are\n%s\nof one import\n%s", got, want)
			}
			comesBack(t, f.format, chain, filepath.Join(dir, "out"), f.paths)
			for key, want := range f.keys {
				var got struct{ Row int } // the newest: the raw block is in the file before, too
				if err := json.NewDecoder(strings.NewReader(segtool(t, "get", "--json", chain, "--key", key))).Decode(&got); err != nil || got.Row != want {
					t.Errorf("%s is row %d, not %d: %v", key, got.Row, want, err)
				}
			}
			segtool(t, "verify", "--content", chain)
		})
	}
}

// blockHash returns the hash of a raw Bitcoin block, as people write it.
func blockHash(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(b[:80])
	sum = sha256.Sum256(sum[:])
	slices.Reverse(sum[:])
	return hex.EncodeToString(sum[:])
}

// feed starts an append of JSON lines from a pipe, and returns when readers see so many rows.
func feed(t *testing.T, dir string, rows int) (c *exec.Cmd, stderr *bytes.Buffer) {
	t.Helper()
	c = exec.CommandContext(t.Context(), "segtool", "append", "--from", "jsonl", "--commit-rows", "1", "-", dir)
	stderr = &bytes.Buffer{}
	c.Stderr = stderr
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(in, strings.Repeat("{\"n\":77}\n", rows)); err != nil {
		t.Fatal(err)
	}
	for began := time.Now(); time.Since(began) < 20*time.Second; time.Sleep(10 * time.Millisecond) {
		if rowsOf(t, dir) == rows+2 {
			return c, stderr
		}
	}
	c.Process.Kill()
	t.Fatal("rows are not seen while they come in: this proves nothing")
	return nil, nil
}

func rowsOf(t *testing.T, dir string) int {
	t.Helper()
	var info struct {
		Tables []struct{ Rows int }
	}
	if err := json.Unmarshal([]byte(segtool(t, "info", "--json", dir)), &info); err != nil {
		t.Fatal(err)
	}
	return info.Tables[1].Rows
}

// small makes an archive of two lines, with an index.
func small(t *testing.T) (dir string) {
	t.Helper()
	src := filepath.Join(t.TempDir(), "x.jsonl")
	if err := os.WriteFile(src, []byte("{\"n\":1}\n{\"n\":2}\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(t.TempDir(), "x")
	segtool(t, "import", "--from", "jsonl", "--columns", "n:uint", src, dir)
	segtool(t, "index", "build", dir, "--add", "rows.n=n")
	return dir
}

// code runs segtool and returns its exit code and what it says.
func code(t *testing.T, args ...string) (int, string) {
	t.Helper()
	var stderr bytes.Buffer
	c := exec.CommandContext(t.Context(), "segtool", args...)
	c.Stderr = &stderr
	var e *exec.ExitError
	switch err := c.Run(); {
	case errors.As(err, &e):
		return e.ExitCode(), stderr.String()
	case err != nil:
		t.Fatal(err)
	}
	return 0, stderr.String()
}

// An interrupted append takes back what it has committed, and there is no second writer meanwhile.
func TestInterruptAppend(t *testing.T) {
	needsSignals(t)
	dir := small(t)
	before := infoOf(t, dir)
	c, stderr := feed(t, dir, 500)
	if got, text := code(t, "seal", dir); got != 1 || !strings.Contains(text, "in use by another writer") {
		t.Errorf("a second writer: exit code %d, %s", got, text)
	}
	segtool(t, "get", dir, "--key", "77")
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	err := ends(t, c)
	var e *exec.ExitError
	if !errors.As(err, &e) || e.ExitCode() != 1 || !strings.HasSuffix(stderr.String(), "segtool: nothing was appended to "+dir+"\nsegtool: interrupted\n") {
		t.Errorf("%v: %q", err, stderr.String())
	}
	if got := infoOf(t, dir); got != before {
		t.Errorf("the archive is %s, was %s", got, before)
	}
	if got, text := code(t, "get", dir, "--key", "77"); got != 4 {
		t.Errorf("a key of rows that are gone: exit code %d, %s", got, text)
	}
	segtool(t, "get", dir, "--key", "2")
	segtool(t, "verify", "--content", dir)
}

// A killed append leaves rows; the next one refuses to go behind them, and names the command that removes them.
func TestKillAppend(t *testing.T) {
	dir := small(t)
	c, _ := feed(t, dir, 50)
	c.Process.Kill()
	if ends(t, c) == nil {
		t.Fatal("was too fast to be killed")
	}
	src := filepath.Join(t.TempDir(), "y.jsonl")
	if err := os.WriteFile(src, []byte("{\"n\":3}\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	got, text := code(t, "append", "--from", "jsonl", src, dir)
	rewind := regexp.MustCompile(`segtool (rewind \S+ rows 2) removes them`).FindStringSubmatch(text)
	if got != 1 || rewind == nil {
		t.Fatalf("exit code %d: %s", got, text)
	}
	segtool(t, strings.Fields(rewind[1])...)
	segtool(t, "append", "--from", "jsonl", src, dir)
	if n := rowsOf(t, dir); n != 3 {
		t.Errorf("%d rows, not 3", n)
	}
	out := filepath.Join(t.TempDir(), "out")
	segtool(t, "export", "--to", "jsonl", dir, out)
	same(t, filepath.Join(out, "y.jsonl"), src)
	segtool(t, "verify", "--content", dir)
}

// infoOf returns what info prints of an archive, but for the size of its manifest, which
// may name another log.
func infoOf(t *testing.T, dir string) string {
	t.Helper()
	text := segtool(t, "info", "--json", dir)
	i := strings.Index(text, "  \"manifest_bytes\"")
	if i < 0 {
		t.Fatalf("no size of the manifest in %s", text)
	}
	end := i + strings.IndexByte(text[i:], '\n') + 1
	return text[:i] + text[end:]
}
