package cmd

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"

	"github.com/segstore/segstore/tools/chain/newfile"
)

// output is stdout, buffered. It keeps its first error, so that a verb may print
// line after line and look once, or stop early where it prints much.
type output struct {
	file *os.File
	w    *bufio.Writer
	err  error
}

func newOutput(f *os.File) *output { return &output{file: f, w: bufio.NewWriterSize(f, 64<<10)} }

func (o *output) Write(p []byte) (int, error) {
	if o.err != nil {
		return 0, o.err
	}
	n, err := o.w.Write(p)
	o.err = err
	return n, err
}

// Flush writes what is buffered and returns the first error.
func (o *output) Flush() error {
	if err := o.w.Flush(); o.err == nil {
		o.err = err
	}
	return o.err
}

// printJSON prints v as an indented JSON document.
func (a *app) printJSON(v any) error {
	e := json.NewEncoder(a.stdout)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// result prints v with --json, else calls text.
func (a *app) result(v any, text func()) error {
	if a.json {
		return a.printJSON(v)
	}
	text()
	return a.stdout.err
}

// isTerminal reports whether f is a terminal: a character device that is not the
// null device.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}

// bytesTo writes bytes to a file that must not exist, or to stdout where path is
// "-" and that is no terminal.
func (a *app) bytesTo(path string, b []byte) error {
	if path != "-" {
		f, err := newfile.Create(path)
		if err != nil {
			return err
		}
		if _, err := f.Write(b); err != nil {
			return errors.Join(err, f.Abort())
		}
		return f.Commit()
	}
	if isTerminal(a.stdout.file) {
		return usagef("not writing bytes to a terminal: send them to a file or pipe")
	}
	_, err := a.stdout.Write(b)
	return err
}

var _ io.Writer = (*output)(nil)
