package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/segstore/segstore/tools/chain/synth"
)

func TestMain(m *testing.M) {
	// A program under -race waits for a second before it ends; hundreds of them would wait for minutes.
	os.Setenv("GORACE", strings.TrimSpace(os.Getenv("GORACE")+" atexit_sleep_ms=0"))
	testscript.Main(m, map[string]func(){"segtool": main})
}

func TestScripts(t *testing.T) {
	data := dataDir(t)
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("DATA", data)
			e.Setenv("GORACE", os.Getenv("GORACE"))
			if e.Setenv("DEMO", "2MB"); testing.Short() {
				e.Setenv("DEMO", "500kB")
			}
			e.Setenv("LONG", strings.Repeat("n", 251)+".out") // as long as a name may be
			return nil
		},
		Condition: func(cond string) (bool, error) {
			if cond == "realdata" {
				return data != "", nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": cmdExits, "json": cmdJSON, "flip": cmdFlip, "cut": cmdCut, "append": cmdAppend, "blocks": cmdBlocks, "holds": cmdHolds, "spoil": cmdSpoil, "commit": cmdCommit,
		},
	})
}

// dataDir returns the folder of the real chain files, or nothing.
func dataDir(t *testing.T) string {
	dir := os.Getenv("SEGSTORE_DATA")
	if dir == "" {
		for up := "."; dir == "" && len(up) < 40; up = filepath.Join("..", up) {
			if d := filepath.Join(up, "shared", "data"); isDir(d) {
				dir = d
			}
		}
	}
	if dir == "" || !isDir(dir) {
		if os.Getenv("REALDATA") == "required" {
			t.Fatal("no real data: set SEGSTORE_DATA")
		}
		return ""
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	return abs
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// exits CODE PROGRAM ARGS... runs a program and wants its exit code.
func cmdExits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARGS...")
	}
	code := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var e *exec.ExitError
		if !errors.As(err, &e) {
			ts.Fatalf("%s: %v", args[1], err)
		}
		code = e.ExitCode()
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("exit code is %d, not %s", code, args[0])
	}
}

// json FILE PATH [VALUE] parses JSON, one document or several (then an array of
// them), and wants something at a path such as .0.table or .flaws.#, where # is the
// length. Without VALUE it must be there; ! wants it absent or another.
func cmdJSON(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: json FILE PATH [VALUE]")
	}
	got, err := jsonAt([]byte(ts.ReadFile(args[0])), args[1])
	switch {
	case errors.Is(err, errAbsent):
		if !neg {
			ts.Fatalf("%v", err)
		}
	case err != nil:
		ts.Fatalf("%v", err)
	case len(args) == 2:
		if neg {
			ts.Fatalf("%s is %s", args[1], got)
		}
	case (got == args[2]) == neg:
		ts.Fatalf("%s is %s", args[1], got)
	}
}

var errAbsent = errors.New("absent")

func jsonAt(b []byte, path string) (string, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var all []any
	for {
		var v any
		if err := d.Decode(&v); err == io.EOF {
			break
		} else if err != nil {
			return "", fmt.Errorf("not JSON: %w: %.200s", err, b)
		}
		all = append(all, v)
	}
	if len(all) == 0 {
		return "", fmt.Errorf("no JSON: %.200q", b)
	}
	v := any(all)
	if len(all) == 1 {
		v = all[0]
	}
	for _, key := range strings.FieldsFunc(path, func(r rune) bool { return r == '.' }) {
		next, ok := step(v, key)
		if !ok {
			return "", fmt.Errorf("%w: %s at %q of %.300s", errAbsent, path, key, b)
		}
		v = next
	}
	if s, ok := v.(string); ok {
		return s, nil
	}
	out, err := json.Marshal(v)
	return string(out), err
}

func step(v any, key string) (any, bool) {
	switch v := v.(type) {
	case map[string]any:
		x, ok := v[key]
		return x, ok
	case []any:
		if key == "#" {
			return json.Number(strconv.Itoa(len(v))), true
		}
		i, err := strconv.Atoi(key)
		if err != nil || i < 0 || i >= len(v) {
			return nil, false
		}
		return v[i], true
	}
	return nil, false
}

// flip FILE OFFSET flips a bit of a byte; a negative offset counts from the end.
func cmdFlip(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: flip FILE OFFSET")
	}
	at, err := strconv.Atoi(args[1])
	ts.Check(err)
	path := oneFile(ts, args[0])
	b, err := os.ReadFile(path)
	ts.Check(err)
	if at < 0 {
		at += len(b)
	}
	b[at] ^= 1
	rewrite(ts, path, b)
}

// cut FILE BYTES makes a file that many bytes long, or shorter by them if negative.
func cmdCut(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: cut FILE BYTES")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	path := oneFile(ts, args[0])
	b, err := os.ReadFile(path)
	ts.Check(err)
	if n < 0 {
		n += len(b)
	}
	rewrite(ts, path, b[:n])
}

// append FILE TEXT adds to a file; \ escapes are as in Go.
func cmdAppend(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: append FILE TEXT")
	}
	text, err := strconv.Unquote(`"` + args[1] + `"`)
	ts.Check(err)
	path := oneFile(ts, args[0])
	b, err := os.ReadFile(path)
	ts.Check(err)
	rewrite(ts, path, append(b, text...))
}

// rewrite replaces a file that may be read-only.
func rewrite(ts *testscript.TestScript, path string, b []byte) {
	ts.Check(os.Remove(path))
	ts.Check(os.WriteFile(path, b, 0o644))
}

// oneFile returns the one file that a pattern matches.
func oneFile(ts *testscript.TestScript, pattern string) string {
	list, err := filepath.Glob(ts.MkAbs(pattern))
	ts.Check(err)
	if len(list) != 1 {
		ts.Fatalf("%s matches %q", pattern, list)
	}
	return list[0]
}

// blocks FILE BYTES [whole] makes up a stream of Ethereum blocks; a third of the bytes, if
// they are many and not wanted as a whole, where the tests should be short.
func cmdBlocks(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || len(args) > 3 || len(args) == 3 && args[2] != "whole" {
		ts.Fatalf("usage: blocks FILE BYTES [whole]")
	}
	n, err := strconv.ParseUint(args[1], 10, 64)
	ts.Check(err)
	if testing.Short() && len(args) == 2 {
		n = max(n/3, min(n, 300_000))
	}
	f, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	_, err = synth.New(1).Write(context.Background(), f, synth.Limit{Bytes: n})
	ts.Check(errors.Join(err, f.Close()))
}

// holds DIR NAME... wants a directory to hold these names, hidden ones too, and no
// other.
func cmdHolds(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: holds DIR NAME...")
	}
	list, err := os.ReadDir(ts.MkAbs(args[0]))
	ts.Check(err)
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	want := slices.Sorted(slices.Values(args[1:]))
	if !slices.Equal(names, want) {
		ts.Fatalf("%s holds %q", args[0], names)
	}
}
