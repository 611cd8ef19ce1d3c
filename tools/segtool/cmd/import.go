package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/segment/archive"
	"github.com/segstore/segstore/tools/chain"
	"github.com/segstore/segstore/tools/chain/jsonl"
	"github.com/spf13/cobra"
)

// maxLine is the longest line of JSON: a row holds no more.
const maxLine = segment.MaxRowBytes

// importFlags are the flags of import.
type importFlags struct {
	importOptions
	archiveFlags
}

func (a *app) importVerb() *cobra.Command {
	var o importFlags
	c := verb{
		use:   "import --from FORMAT [--profile P | --policy F] SRC... DIR",
		short: "Make an archive of files",
		long: `Import reads files and makes DIR, which must not exist, an archive of what they hold.
Export gives the files back. A failed or interrupted import leaves no DIR.

` + formatHelp + `

` + policyHelp,
		example: `  segtool import --from era1 mainnet-*.era1 chain
  segtool import --from rlp --profile cold blocks.rlp.gz chain
  segtool import --from jsonl --columns 'time:uint,host:bytes,hash:fixed(32)' log.jsonl logs`,
		codes: []int{codeFine, codeFailed, codeUsage, codeMissing},
		makes: "DIR",
		args: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 {
				return errors.New("import needs at least a file and the directory to make")
			}
			return nil
		},
		run: func(ctx context.Context, args []string) error {
			im, err := importer(o.from, o.importOptions)
			if err != nil {
				return usage(err)
			}
			co, err := o.options(ctx, a)
			if err != nil {
				return err
			}
			files, err := a.sources(ctx, args[:len(args)-1], o.from)
			if err != nil {
				return err
			}
			rep, err := a.importFiles(ctx, im, files, args[len(args)-1], o.maxBlock(), co)
			if err != nil {
				return err
			}
			var schemas []segment.Schema
			for _, t := range rep.Archive.Tables {
				schemas = append(schemas, t.Schema)
			}
			o.unused(a, co.Policy, schemas)
			return a.result(rep, func() { a.imported(rep, args[len(args)-1]) })
		},
	}.command()
	o.importOptions.add(c)
	o.archiveFlags.add(c)
	check(c, o.needColumns)
	return c
}

// sources returns the files to import.
func (a *app) sources(ctx context.Context, paths []string, from string) ([]chain.File, error) {
	var files []chain.File
	for _, p := range paths {
		if p == "-" {
			if from != "jsonl" || len(paths) > 1 {
				return nil, usagef("stdin can be one source of JSON lines: other formats are read twice")
			}
			files = append(files, chain.File{Name: "stdin.jsonl", Size: -1, Open: func() (io.ReadCloser, error) { return a.input(ctx), nil }})
			continue
		}
		f, err := chain.OSFile(p)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

// importReport is the result of import.
type importReport struct {
	chain.Report
	Archive archive.Info `json:"archive"`
}

// importFiles makes an archive of files.
func (a *app) importFiles(ctx context.Context, im chain.Importer, files []chain.File, dir string, maxBlock int, o archive.CreateOptions) (rep importReport, err error) {
	p := a.progress("import")
	defer p.end()
	sealing, table := false, ""
	o.Progress = func(s archive.Progress) {
		if !sealing {
			return // a segment of many: the bar of the import goes on
		}
		if s.Table != table {
			table = s.Table
			p.next(table, inRows)
		}
		p.set(int64(s.Rows), int64(s.SegmentRows))
	}
	b, err := archive.Create(a.fs, dir, o)
	if err != nil {
		return rep, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.Abort())
		}
	}()
	if rep.Report, err = read(ctx, im, files, sink{b}, chain.ImportOptions{Progress: p.set, MaxBlockBytes: maxBlock}); err != nil {
		return rep, err
	}
	sealing = true
	rep.Archive, err = b.Finish(ctx)
	return rep, err
}

// read imports files into a sink, to the end.
func read(ctx context.Context, im chain.Importer, files []chain.File, s chain.Sink, o chain.ImportOptions) (chain.Report, error) {
	rep, err := im.Import(ctx, files, s, o)
	if errors.Is(err, jsonl.ErrLongLine) {
		err = fmt.Errorf("%w: raise --max-line, up to %s", err, size(maxLine))
	}
	if err == nil {
		err = ctx.Err()
	}
	return rep, err
}

func (a *app) imported(rep importReport, dir string) {
	a.sourcesRead(rep.Sources)
	a.printf("\n")
	a.tables(rep.Archive)
	a.printf("\n%s: %s raw in %s, %s\n", dir, exact(rep.Archive.RawBytes), exact(rep.Archive.StoredBytes), percent(float64(rep.Archive.StoredBytes), float64(rep.Archive.RawBytes)))
}

// sourcesRead prints a line a source.
func (a *app) sourcesRead(sources []chain.Imported) {
	g := newGrid("source", "format", ">blocks", ">bytes", "comes back")
	for _, s := range sources {
		back := "byte for byte"
		if s.Restore != chain.Identical {
			back = "equal in content: " + s.Reason
		}
		g.add(s.Name, s.Format, count(s.Blocks), count(s.Size), back)
	}
	g.print(a, "")
}

// tables prints a line a table.
func (a *app) tables(i archive.Info) {
	g := newGrid("table", ">first row", ">rows", ">segments", ">raw", ">stored", ">% of raw")
	for _, t := range i.Tables {
		g.add(t.Table, count(t.FirstRow), count(t.Rows), count(t.Segments), size(t.RawBytes), size(t.StoredBytes), percent(float64(t.StoredBytes), float64(t.RawBytes)))
	}
	g.print(a, "")
}

// sink makes tables and rows of an import those of an archive.
type sink struct{ b *archive.Builder }

var _ chain.Sink = sink{}

func (s sink) Create(t chain.Table) error {
	return s.b.Create(archive.TableSpec{Name: t.Name, Schema: t.Schema, FirstRow: t.FirstRow})
}

func (s sink) Append(table string, row segment.Row) error { return s.b.Append(table, row) }

// Mark does nothing: an archive is there as a whole or not at all.
func (s sink) Mark() error { return nil }
