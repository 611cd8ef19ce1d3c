package cmd

import (
	"context"
	"encoding/hex"
	"errors"
	"iter"
	"strings"

	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/segment/archive"
	"github.com/spf13/cobra"
)

func (a *app) verifyVerb() *cobra.Command {
	var o struct {
		quick, content bool
		expect         string
	}
	c := verb{
		use: "verify [--quick | --content] [--expect HEX] PATH", short: "Find damage, and say where it is",
		long: `Verify reads every byte of an archive or segment and compares all checksums. It does
not stop at the first flaw: each is a line with file, section, column, chunk, rows
and place, and the last lines say what it means and what to do.

--quick reads no rows: only whether the files are there, and what they say of
themselves. --content also decodes every block and computes the content root again.

--expect HEX asks what a checksum (16 digits, or 64 of a SHA-256 or content root) has
to do with PATH: the same file, the same content (recompressed since, or of this
content root), different, which is exit code 3, or unknown, which is 4: nothing
contradicts, but a file that was replaced may have had this SHA-256.`,
		example: "  segtool verify chain\n  segtool verify --content --expect d50463dd92503d34 blocks.seg",
		codes:   []int{codeFine, codeFailed, codeUsage, codeCorrupt, codeMissing},
		args:    cobra.ExactArgs(1),
		run: func(ctx context.Context, args []string) error {
			depth := segment.Checksums
			switch {
			case o.quick:
				depth = segment.Structure
			case o.content:
				depth = segment.Content
			}
			return a.verify(ctx, args[0], depth, o.expect)
		},
	}.command()
	c.Flags().BoolVar(&o.quick, "quick", false, "read no rows")
	c.Flags().BoolVar(&o.content, "content", false, "decode every row too")
	textFlag(c, &o.expect, "expect", "a checksum that somebody has noted", func(s string) error {
		if _, err := hex.DecodeString(s); err != nil || len(s) != 16 && len(s) != 64 {
			return errors.New("not 16 or 64 hex digits")
		}
		return nil
	})
	exclusive(c, "quick", "content")
	return c
}

// verdict is the result of verify.
type verdict struct {
	Path    string               `json:"file"`
	Depth   string               `json:"depth"`
	Flaws   []segment.Flaw       `json:"flaws"`
	Verdict string               `json:"verdict"`              // "whole", "damaged", "incomplete": some of it could not be read
	Rows    uint64               `json:"damaged_rows"`         // distinct ones that flaws touch, or that are in files that do not open
	Closed  []closedFile         `json:"unreadable,omitempty"` // files that do not open: none of their rows can be read
	Failed  []string             `json:"unverified,omitempty"` // what could not be read, and why: that is no damage
	Tail    *archive.Tail        `json:"log_tail,omitempty"`   // bytes at the end of a log that are no whole record
	Next    []string             `json:"next,omitempty"`       // commands
	Expect  *archive.Expectation `json:"expect,omitempty"`
}

func (a *app) verify(ctx context.Context, path string, depth segment.Depth, expect string) error {
	dir, err := a.isDir(path)
	if err != nil {
		return err
	}
	v, err := a.examine(ctx, path, dir, depth, func(f *segment.Flaw) {
		if !a.json {
			a.printf("%s\n", f.Error())
			a.stdout.Flush() // a flaw should show when it is found; the error stays
		}
	})
	if err != nil {
		return err
	}
	if expect != "" {
		e, err := a.expect(ctx, path, dir, expect)
		if err != nil {
			return err
		}
		v.Expect = &e
	}
	err = a.result(v, func() { a.verdict(v) })
	if len(v.Flaws) > 0 || v.Expect != nil && v.Expect.Answer == archive.Different {
		return &exitError{codeCorrupt, nil} // also where nobody reads what was printed
	}
	if err == nil && len(v.Failed) > 0 {
		return errors.New(strings.Join(v.Failed, "; "))
	}
	if err == nil && v.Expect != nil && v.Expect.Answer == archive.Unknown {
		return &exitError{codeMissing, nil}
	}
	return err
}

// examine verifies path; found is called for each flaw.
func (a *app) examine(ctx context.Context, path string, dir bool, depth segment.Depth, found func(*segment.Flaw)) (verdict, error) {
	v := verdict{
		Path: path, Flaws: []segment.Flaw{}, Verdict: "whole",
		Depth: map[segment.Depth]string{segment.Structure: "quick", segment.Checksums: "checksums", segment.Content: "content"}[depth],
	}
	p := a.progress("verify")
	defer p.end()
	flaws, done, err := a.flaws(ctx, path, dir, depth, p)
	if err != nil {
		return v, err
	}
	for f, err := range flaws {
		var se *archive.SegmentError
		if errors.As(err, &se) && ctx.Err() == nil { // the rest can still be verified
			v.Failed = append(v.Failed, err.Error())
			continue
		}
		if err != nil {
			return v, errors.Join(err, done())
		}
		v.Flaws = append(v.Flaws, f)
		if found != nil {
			found(&f)
		}
	}
	if len(v.Failed) > 0 {
		v.Verdict = "incomplete"
	}
	if err := a.judge(ctx, &v, dir); err != nil {
		return v, errors.Join(err, done())
	}
	if dir {
		err = a.readArchive(path, func(ar *archive.Archive) error { v.Tail = ar.Info().LogTail; return nil })
	}
	return v, errors.Join(err, done())
}

func (a *app) flaws(ctx context.Context, path string, dir bool, depth segment.Depth, p *progress) (iter.Seq2[segment.Flaw, error], func() error, error) {
	if dir {
		ar, err := a.openArchive(path)
		if err != nil {
			return nil, nil, err
		}
		return ar.Verify(ctx, archive.VerifyOptions{Depth: depth, Progress: p.job()}), ar.Close, nil
	}
	o := segment.VerifyOptions{Name: path, Depth: depth}
	if p != nil {
		info, err := a.fs.Stat(path)
		if err != nil {
			return nil, nil, err
		}
		o.Progress = func(done int64) { p.set(done, info.Size()) }
	}
	return archive.VerifyFile(ctx, a.fs, path, o), func() error { return nil }, nil
}

func (a *app) expect(ctx context.Context, path string, dir bool, hex string) (archive.Expectation, error) {
	if !dir {
		return archive.ExpectFile(ctx, a.fs, path, hex)
	}
	ar, err := a.openArchive(path)
	if err != nil {
		return archive.Expectation{}, err
	}
	defer ar.Close()
	return ar.Expect(ctx, hex)
}
