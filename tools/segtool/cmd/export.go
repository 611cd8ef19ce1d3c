package cmd

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"strings"

	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/segment/archive"
	"github.com/segstore/segstore/tools/chain"
	"github.com/spf13/cobra"
)

func (a *app) exportVerb() *cobra.Command {
	var to string
	var sources []string
	c := verb{
		use: "export --to FORMAT [--source NAME] DIR OUT", short: "Give back the files that an archive was made of",
		long: `Export writes the source files of an archive: one becomes the file OUT, several go
into the directory OUT. OUT may be "-", stdout, for one file.

No file is replaced: one that is there already must have the bytes that it would get,
and stays; another one is an error. If an export fails, the files that are finished
stay, and the same command goes on from there. One that is being written has a name
that ends in .tmp- and 16 hex digits; what a killed export leaves of it the next one
removes.

It says of each whether it is identical to the source, byte for byte (by SHA-256), or
only of equal content and why, or converted from another format. A file that is neither
is exit code 1.`,
		example: "  segtool export --to era1 chain files\n  segtool export --to geth --source blocks.rlps chain blocks.rlp",
		codes:   []int{codeFine, codeFailed, codeUsage, codeCorrupt, codeMissing},
		args:    cobra.ExactArgs(2),
		run: func(ctx context.Context, args []string) error {
			ex, err := exporter(to)
			if err != nil {
				return usage(err)
			}
			rep, err := a.export(ctx, ex, args[0], args[1], sources)
			if err != nil {
				return err
			}
			if args[1] != "-" {
				if err := a.result(rep, func() { a.exported(rep) }); err != nil {
					return err
				}
			}
			for _, f := range rep.Files {
				if f.Match == chain.Different {
					return fmt.Errorf("%s is not its source: %s", f.File, f.Reason)
				}
			}
			return nil
		},
	}.command()
	wordFlag(c, &to, "to", "", formats(), "format: "+strings.Join(formats(), ", "))
	listFlag(c, &sources, "source", false, "only the source of this name; may be given more than once")
	required(c, "to")
	return c
}

func (a *app) export(ctx context.Context, ex chain.Exporter, dir, out string, names []string) (rep chain.ExportReport, err error) {
	switch {
	case out == "-" && a.json:
		return rep, usagef("--json and the file cannot both go to stdout")
	case out == "-" && isTerminal(a.stdout.file):
		return rep, usagef("not writing a file to a terminal: send it to a pipe")
	}
	ar, err := a.openArchive(dir)
	if err != nil {
		return rep, err
	}
	defer func() { err = errors.Join(err, ar.Close()) }()
	v := view{ctx, ar}
	sources, err := chain.Sources(v)
	if err != nil {
		return rep, err
	}
	var dst chain.Output
	switch one := len(names) == 1 || len(names) == 0 && len(sources) == 1; {
	case out == "-" && !one:
		return rep, usagef("the archive is of %d files, stdout has room for one: --source", len(sources))
	case out == "-":
		dst = &stdoutOutput{a: a}
	case one:
		dst = chain.FileOutput(out)
	default:
		dst = chain.DirOutput(out)
	}
	p := a.progress("export")
	defer p.end()
	return ex.Export(ctx, v, dst, chain.ExportOptions{Sources: names, Progress: p.set})
}

func (a *app) exported(rep chain.ExportReport) {
	g := newGrid("file", ">blocks", ">bytes", "compared with the source", "")
	for _, f := range rep.Files {
		match := map[chain.Match]string{
			chain.Identical: "identical", chain.EqualContent: "equal content", chain.Converted: "converted from " + f.SourceFormat, chain.Different: "different",
		}[f.Match]
		if f.Kept {
			match += ", was there already"
		}
		g.add(f.File, count(f.Blocks), count(f.Bytes), match, f.Reason)
	}
	g.print(a, "")
}

// view is an archive as exporters read it.
type view struct {
	ctx context.Context // of the export
	ar  *archive.Archive
}

var _ chain.View = view{}

func (v view) Tables() []chain.Table {
	var list []chain.Table
	for _, t := range v.ar.Tables() {
		list = append(list, chain.Table{Name: t.Table, Schema: t.Schema, FirstRow: t.FirstRow})
	}
	return list
}

func (v view) FirstRow(table string) uint64 {
	t, err := v.ar.Table(table)
	if err != nil {
		return 0
	}
	return t.FirstRow()
}

func (v view) Rows(table string) uint64 {
	t, err := v.ar.Table(table)
	if err != nil {
		return 0
	}
	return t.EndRow() - t.FirstRow()
}

func (v view) Scan(table string, from uint64, columns ...string) iter.Seq2[segment.Row, error] {
	t, err := v.ar.Table(table)
	if err != nil {
		return func(yield func(segment.Row, error) bool) { yield(nil, err) }
	}
	return t.Scan(v.ctx, from, t.EndRow(), segment.ScanOptions{Columns: columns, Workers: runtime.GOMAXPROCS(0)})
}

// stdoutOutput is stdout as the one file of an export.
type stdoutOutput struct {
	a    *app
	used bool
}

func (o *stdoutOutput) Create(name string) (chain.OutputFile, error) {
	if o.used {
		return nil, usagef("stdout has no room for %s as well", name)
	}
	o.used = true
	return o, nil
}

func (o *stdoutOutput) Write(p []byte) (int, error) { return o.a.stdout.Write(p) }
func (o *stdoutOutput) Commit() error               { return o.a.stdout.Flush() }
func (o *stdoutOutput) Abort() error                { return nil }
