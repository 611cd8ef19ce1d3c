package cmd

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/segment/archive"
	"github.com/spf13/cobra"
)

func (a *app) doctorVerb() *cobra.Command {
	var checksums bool
	c := verb{
		use: "doctor DIR [--checksums]", short: "Say what state an archive is in, and what to run",
		long: `Doctor looks at the directory of an archive, also at one that does not open, and says in
words what it finds: a wrong directory, half a copy, a damaged manifest, log or segment,
files of an interrupted writer, indexes that do not answer, rows in logs, a writer at
work, a disk that is nearly full. Below each stands the command that mends it, if one
does. It writes nothing and takes no lock; which process has the lock is known on Linux
only.

It reads no rows, as verify --quick does; --checksums reads every byte.

Exit code 0 says that nothing was found to be damaged, though something may be left to do;
3 that something is damaged or missing; 4 that DIR is no archive; 1 that something could not be
looked at.`,
		example: "  segtool doctor chain\n  segtool doctor --checksums --json chain",
		codes:   []int{codeFine, codeFailed, codeUsage, codeCorrupt, codeMissing},
		args:    cobra.ExactArgs(1),
		run: func(ctx context.Context, args []string) error {
			depth := segment.Structure
			if checksums {
				depth = segment.Checksums
			}
			return a.doctor(ctx, args[0], depth)
		},
	}.command()
	c.Flags().BoolVar(&checksums, "checksums", false, "read every byte")
	return c
}

// diagnosis is the result of doctor.
type diagnosis struct {
	*archive.Examination
	Verdict  string    `json:"verdict"` // "whole", "damaged", "incomplete" as of verify, "no_archive"
	Findings []advised `json:"findings"`
	Next     []string  `json:"next,omitempty"` // commands, each once
}

// advised is a finding and the command that mends it, if one does.
type advised struct {
	archive.Finding
	Command string `json:"command,omitempty"`
}

func (a *app) doctor(ctx context.Context, dir string, depth segment.Depth) error {
	if is, err := a.isDir(dir); err != nil {
		return err
	} else if !is {
		return usagef("%s is one file: segtool verify %s says what is wrong with it", dir, quote(dir))
	}
	p := a.progress("doctor")
	defer p.end()
	e, err := archive.Examine(ctx, a.fs, dir, archive.ExamineOptions{Depth: depth, KeyFunctions: keyFunctions(), Progress: p.job()})
	if err != nil {
		return err
	}
	p.end()
	d := diagnosis{Examination: e, Verdict: "whole", Findings: []advised{}}
	for _, f := range e.Findings {
		x := advised{f, a.command(ctx, dir, f)}
		d.Findings = append(d.Findings, x)
		if x.Command != "" && !slices.Contains(d.Next, x.Command) {
			d.Next = append(d.Next, x.Command)
		}
	}
	code := codeFine
	switch e.Worst() {
	case archive.SeverityDamage:
		d.Verdict, code = "damaged", codeCorrupt
		if slices.ContainsFunc(e.Findings, func(f archive.Finding) bool { return f.Kind == archive.FoundNoArchive }) {
			d.Verdict, code = "no_archive", codeMissing
		}
	case archive.SeverityUnread:
		d.Verdict, code = "incomplete", codeFailed
	}
	if err := a.result(d, func() { a.diagnosis(dir, d, depth) }); err != nil {
		return err
	}
	if code != codeFine {
		return &exitError{code, nil}
	}
	return nil
}

// command returns what to run for a finding, or nothing where no command mends it.
func (a *app) command(ctx context.Context, dir string, f archive.Finding) string {
	switch f.Remedy {
	case archive.RemedySeal:
		return "segtool seal " + quote(dir)
	case archive.RemedyBuildIndex:
		return buildCommand(dir)
	case archive.RemedyRecover:
		return recoverCommand(ctx, filepath.Join(dir, filepath.FromSlash(f.File)))
	}
	return ""
}

// byHand says what to do where it takes more than a command.
func byHand(f advised) string {
	switch {
	case f.Remedy == archive.RemedyRecover && f.Command != "":
		return "the command saves the rows that can be read; only a copy of the file brings back the others"
	case f.Remedy == archive.RemedyRestore || f.Remedy == archive.RemedyRecover:
		return "put " + f.File + " back from a copy"
	case f.Remedy == archive.RemedyUpdate:
		return "use the version of segtool that wrote it, or a newer one"
	case f.Remedy == archive.RemedyFreeSpace:
		return "make room on the disk"
	case f.Remedy == archive.RemedyLookInto:
		return "look at it with segtool info, and move it away or put the right manifest back"
	}
	return ""
}

func (a *app) diagnosis(dir string, d diagnosis, depth segment.Depth) {
	for _, f := range d.Findings {
		a.printf("%s: %s\n", string(f.Severity), strings.ReplaceAll(f.What, "\n", "; "))
		if w := byHand(f); w != "" {
			a.printf("  %s\n", w)
		}
		if f.Command != "" {
			a.printf("  run: %s\n", f.Command)
		}
	}
	if d.More > 0 {
		a.printf("and %s\n", plural(d.More, "finding"))
	}
	if i := d.Info; i != nil {
		a.printf("%s: %s in %s, %s stored", dir, plural(i.Rows, "row"), plural(i.Segments, "segment"), exact(i.StoredBytes))
		if d.Available != nil {
			a.printf(", %s free on the disk", size(*d.Available))
		}
		a.printf("\n")
	}
	switch {
	case d.Verdict == "no_archive":
		a.printf("%s is no archive\n", dir)
	case d.Verdict == "damaged" && !d.Opens:
		a.printf("%s is damaged, and does not open\n", dir)
	case d.Verdict == "damaged":
		a.printf("%s is damaged; what is not named above ", dir)
		if depth == segment.Structure {
			a.printf("was not read: segtool verify %s reads every byte\n", quote(dir))
		} else {
			a.printf("can be read\n")
		}
	case d.Verdict == "incomplete":
		a.printf("%s was not looked at as a whole\n", dir)
	case depth == segment.Structure:
		a.printf("%s is whole, as far as its files say; no row was read: segtool verify %s reads every byte\n", dir, quote(dir))
	default:
		a.printf("%s is whole: every byte has the checksum it should have\n", dir)
	}
}
