package cmd

import (
	"context"
	"errors"
	"slices"

	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/segment/archive"
	"github.com/spf13/cobra"
)

// Levels of zstd, by its own numbers.
const minLevel, maxLevel = -7, 22

// recompressFlags are the flags of recompress.
type recompressFlags struct {
	policyFlags
	level   int
	retrain bool
	out     string
	runs    int
	dryRun  bool
	workers int
	tables  []string
	format  string
}

func (a *app) recompressVerb() *cobra.Command {
	var o recompressFlags
	var c *cobra.Command
	c = verb{
		use:   "recompress (--level N | --profile P | --policy F | --encoding E | --retrain) [--out X] PATH",
		short: "Compress again, and report what that changed",
		long: `Recompress writes every segment of PATH again under another level, policy or encoding,
and reports sizes, times and checksums before and after. The rows stay: every block
is decoded again and compared, and the content root must come out equal, else
nothing is replaced.

Without --out each segment is replaced in place, atomically: the new file is written,
synced, verified and renamed before the old one goes. With --out PATH stays as it is
and X, which must not exist, becomes the recompressed archive or file. A file that is
replaced keeps its permissions, and of a link it is what the link means.

--level changes the level of zstd only, by its own numbers (-7 to 22, 0 is its default);
the report also gives the level that our encoder has for it. --dry-run estimates from
a sample and writes nothing. --runs N does everything N times, keeps the last result,
and gives mean, median, least and most of the times, also of an estimate. --format
bench prints lines for benchstat.

Times: "time in the codec" is CPU time inside the calls of encoder and decoder (on Linux;
elsewhere what passed in them), summed over all workers, so that it can be more than what
the clock on the wall says; "clock" is that one, and includes waiting for a processor: on
a busy machine compare medians of several runs. Rows in logs are in no segment: seal first.

If a segment cannot be recompressed the work ends there. Segments replaced before stay
so, and the report is of them.

` + policyHelp,
		example: `  segtool recompress --level 19 chain
  segtool recompress --profile cold --out cold chain
  segtool recompress --level 1 --runs 5 --dry-run --format bench chain | benchstat -`,
		codes: []int{codeFine, codeFailed, codeUsage, codeCorrupt, codeMissing},
		args:  cobra.ExactArgs(1),
		run: func(ctx context.Context, args []string) error {
			ro, err := o.options(a, c)
			if err != nil {
				return err
			}
			return a.recompress(ctx, args[0], o, ro)
		},
	}.command()
	f := c.Flags()
	intFlag(c, &o.level, "level", 0, minLevel, maxLevel, "level of zstd, by zstd's numbers")
	o.add(c)
	f.BoolVar(&o.retrain, "retrain", false, "train dictionaries anew")
	textFlag(c, &o.out, "out", "archive or file to write instead of replacing", toMake)
	intFlag(c, &o.runs, "runs", 1, 1, maxRuns, "how often, for the times")
	f.BoolVar(&o.dryRun, "dry-run", false, "estimate from a sample, write nothing")
	workersFlag(c, &o.workers, "goroutines")
	listFlag(c, &o.tables, "table", true, "tables of an archive (default all)")
	wordFlag(c, &o.format, "format", "text", []string{"text", "bench"}, "text or bench")
	exclusive(c, "out", "dry-run")
	return c
}

func (o *recompressFlags) options(a *app, c *cobra.Command) (archive.RecompressOptions, error) {
	var ro archive.RecompressOptions
	changed := c.Flags().Changed
	switch {
	case !changed("level") && !changed("profile") && !changed("policy") && !changed("encoding") && !o.retrain:
		return ro, usagef("what should change? --level, --profile, --policy, --encoding or --retrain")
	case o.format == "bench" && a.json:
		return ro, usagef("--format bench or --json, not both")
	}
	p, err := o.policy(a)
	if err != nil {
		return ro, err
	}
	ro.RecompressOptions = segment.RecompressOptions{Policy: p, Encoding: o.encoding, Retrain: o.retrain, Workers: o.workers}
	if changed("level") {
		ro.Level = &o.level
	}
	ro.Runs, ro.DryRun, ro.Tables = o.runs, o.dryRun, o.tables
	return ro, nil
}

func (a *app) recompress(ctx context.Context, path string, o recompressFlags, ro archive.RecompressOptions) error {
	dir, err := a.isDir(path)
	if err != nil {
		return err
	}
	if !dir && len(o.tables) > 0 {
		return usagef("%s is one segment: --table is for archives", path)
	}
	if o.file != "" {
		schemas, err := a.schemas(path, dir, o.tables)
		if err != nil {
			return err
		}
		o.unused(a, ro.Policy, schemas)
	}
	p := a.progress("recompress")
	defer p.end()
	var rep *archive.Report
	if dir {
		rep, err = a.recompressArchive(ctx, path, o.out, ro, p)
	} else {
		rep, err = archive.RecompressFile(ctx, a.fs, path, o.out, ro, p.job())
	}
	p.end()
	if rep == nil {
		return err
	}
	if err != nil {
		what := "replaced before the error, and stay so"
		if o.dryRun {
			what = "estimated before the error"
		}
		done := 0
		for i := range rep.Segments {
			if !rep.Segments[i].Skipped {
				done++
			}
		}
		a.complain(plural(done, "segment") + " " + what + "; the report is of " + plural(len(rep.Segments), "segment") + " looked at")
	}
	return errors.Join(err, a.reportAs(rep, o.format))
}

// reportAs prints a report in a format.
func (a *app) reportAs(rep *archive.Report, format string) error {
	switch {
	case format == "bench":
		return a.bench(rep)
	case a.json:
		return a.printJSON(struct {
			*archive.Report
			PeakBytes int64 `json:"peak_memory_bytes,omitempty"`
		}{rep, peakMemory()})
	}
	a.report(rep)
	return nil
}

// schemas returns those of the tables of an archive, all where none is named, or
// that of a segment file.
func (a *app) schemas(path string, dir bool, tables []string) ([]segment.Schema, error) {
	if !dir {
		f, err := a.openFile(path)
		if err != nil {
			return nil, err
		}
		return []segment.Schema{f.Schema()}, f.Close()
	}
	ar, err := a.openArchive(path)
	if err != nil {
		return nil, err
	}
	var list []segment.Schema
	for _, t := range ar.Tables() {
		if len(tables) == 0 || slices.Contains(tables, t.Table) {
			list = append(list, t.Schema)
		}
	}
	return list, ar.Close()
}

func (a *app) recompressArchive(ctx context.Context, dir, out string, ro archive.RecompressOptions, p *progress) (rep *archive.Report, err error) {
	ar, err := archive.Open(a.fs, dir, archive.Options{ReadOnly: out != "" || ro.DryRun, Logger: a.logger(), KeyFunctions: keyFunctions()})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, ar.Close()) }()
	if out != "" {
		return ar.RecompressTo(ctx, out, ro, p.job())
	}
	return ar.Recompress(ctx, ro, p.job())
}
