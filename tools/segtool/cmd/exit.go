package cmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/segment/archive"
	"github.com/segstore/segstore/tools/chain"
)

// Exit codes. Part of the interface: add, never change.
const (
	codeFine    = 0
	codeFailed  = 1
	codeUsage   = 2
	codeCorrupt = 3
	codeMissing = 4
	codeLost    = 5
)

// allCodes returns every exit code.
func allCodes() []int {
	return []int{codeFine, codeFailed, codeUsage, codeCorrupt, codeMissing, codeLost}
}

// codes returns what exit codes mean, a line each.
func codes(list ...int) string {
	var b strings.Builder
	for _, c := range list {
		what := map[int]string{
			codeFine:    "fine",
			codeFailed:  "failed",
			codeUsage:   "wrong usage",
			codeCorrupt: "corruption found",
			codeMissing: "not found: a file, table, row, column, block, index or source",
			codeLost:    "rows are lost",
		}[c]
		fmt.Fprintf(&b, "  %d  %s\n", c, what)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// exitError ends segtool with a code. Without err nothing more is to be said.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

func usage(err error) error { return &exitError{codeUsage, err} }

func usagef(format string, args ...any) error { return usage(fmt.Errorf(format, args...)) }

func missingf(format string, args ...any) error {
	return &exitError{codeMissing, fmt.Errorf(format, args...)}
}

// end prints the error, if any, and returns the exit code.
func (a *app) end(ctx context.Context, verb string, err error) int {
	written := a.stdout.Flush()
	code := codeOf(err)
	switch {
	case errors.Is(err, syscall.EPIPE) && a.stdout.err != nil:
		return codeFine // nobody wants to read on
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		a.complain("interrupted")
	case err != nil:
		e := (*exitError)(nil)
		if errors.As(err, &e) && e.err == nil {
			break
		}
		text := err.Error()
		if code == codeUsage {
			text += " (see " + verb + " --help)"
		}
		a.complain(text)
	}
	if written != nil && !errors.Is(written, syscall.EPIPE) && !errors.Is(err, written) {
		a.complain(written.Error())
		if code == codeFine {
			code = codeFailed
		}
	}
	return code
}

// complain prints one line to stderr.
func (a *app) complain(text string) {
	text = strings.ReplaceAll(strings.TrimSpace(text), "\n", "; ")
	fmt.Fprintf(a.stderr, "segtool: %s\n", shown(text))
}

// codeOf returns the exit code for an error.
func codeOf(err error) int {
	var e *exitError
	switch {
	case err == nil:
		return codeFine
	case errors.As(err, &e):
		return e.code
	case strings.HasPrefix(err.Error(), "unknown command "): // cobra has no type for it
		return codeUsage
	case errors.Is(err, context.Canceled):
		return codeFailed
	case errors.Is(err, segment.ErrCorrupt):
		return codeCorrupt
	}
	for _, m := range []error{
		fs.ErrNotExist, archive.ErrNotArchive, archive.ErrNoTable, archive.ErrNoIndex,
		segment.ErrRange, segment.ErrColumn, segment.ErrBlock, chain.ErrNoSource,
	} {
		if errors.Is(err, m) {
			return codeMissing
		}
	}
	return codeFailed
}
