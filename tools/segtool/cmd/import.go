package cmd

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/segstore/segstore/codec"
	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/segment/archive"
	"github.com/segstore/segstore/tools/chain"
	"github.com/spf13/cobra"
)

// importFlags are the flags of import.
type importFlags struct {
	policyFlags
	importOptions
	from    string
	segment string
	workers int
	chainID string
}

func (a *app) importVerb() *cobra.Command {
	var o importFlags
	c := verb{
		use:   "import --from FORMAT [--profile P | --policy F] SRC... DIR",
		short: "Make an archive of files",
		long: `Import reads files and makes DIR, which must not exist, an archive of what they hold.
Export gives the files back. A failed or interrupted import leaves no DIR.

Formats:
  era1   Ethereum before the merge, 8192 blocks a file
  rlp    Ethereum blocks in RLP one after another, also gzipped: what geth exports
         (geth), or header, body and receipts (rlps); geth or rlps insists on one
  blk    Bitcoin Core's blkNNNNN.dat, also with its xor.dat, and raw blocks
  jsonl  JSON lines: --columns says which fields and kinds, bytes (text), hex,
         base64, uint or fixed(N); "-" is stdin

` + policyHelp,
		example: `  segtool import --from era1 mainnet-*.era1 chain
  segtool import --from rlp --profile cold blocks.rlp.gz chain
  segtool import --from jsonl --columns time:uint,host:bytes,hash:fixed(32) log.jsonl logs`,
		codes: []int{codeFine, codeFailed, codeUsage, codeMissing},
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
			files, err := a.sources(ctx, args[:len(args)-1], o.from)
			if err != nil {
				return err
			}
			co, err := o.create(ctx, a)
			if err != nil {
				return err
			}
			rep, err := a.importFiles(ctx, im, files, args[len(args)-1], co)
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
	f := c.Flags()
	f.StringVar(&o.from, "from", "", "format: "+strings.Join(formats(), ", "))
	o.add(c)
	f.StringVar(&o.segment, "segment-bytes", "512MiB", "raw bytes at which a table's segment is cut")
	f.IntVar(&o.workers, "workers", 0, "goroutines that compress (default one a processor)")
	f.StringVar(&o.chainID, "chain-id", "", "name of the chain, kept in the manifest")
	f.StringVar(&o.columns, "columns", "", "jsonl: columns, name:kind or name=field:kind, with commas between")
	f.StringVar(&o.table, "table", "", `jsonl: name of the table (default "rows")`)
	f.StringVar(&o.magic, "magic", "", "blk: network, as a name or 8 hex digits (default that of the first record)")
	f.StringVar(&o.key, "xor-key", "", "blk: key in hex (default that of xor.dat beside the files)")
	f.BoolVar(&o.keepJunk, "keep-junk", false, "blk: keep bytes between blocks that are no block, instead of failing")
	f.BoolVar(&o.trust, "skip-checks", false, "blk: do not compare Merkle roots")
	complete(c, "from", formats()...)
	required(c, "from")
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

// create returns the options for the archive.
func (o *importFlags) create(ctx context.Context, a *app) (archive.CreateOptions, error) {
	co := archive.CreateOptions{Workers: o.workers, ChainID: o.chainID, Logger: a.logger(), Context: ctx}
	if o.workers < 0 {
		return co, usagef("--workers %d is not 1 or more", o.workers)
	}
	n, err := humanize.ParseBytes(o.segment)
	if err != nil || n < 1 || n > 1<<50 {
		return co, usagef("--segment-bytes %q is not a number of bytes", o.segment)
	}
	co.SegmentBytes = int64(n)
	p, err := o.policy(a)
	if err == nil && len(p.Rules) == 0 {
		p, err = codec.Profile(codec.DefaultProfile)
	}
	if err != nil {
		return co, err
	}
	if o.encoding != "" {
		p = p.WithEncoding(o.encoding)
	}
	if err := p.Validate(); err != nil {
		return co, usage(err)
	}
	co.Policy = p
	return co, nil
}

// importReport is the result of import.
type importReport struct {
	chain.Report
	Archive archive.Info `json:"archive"`
}

// importFiles makes an archive of files.
func (a *app) importFiles(ctx context.Context, im chain.Importer, files []chain.File, dir string, o archive.CreateOptions) (rep importReport, err error) {
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
	if rep.Report, err = im.Import(ctx, files, sink{b}, chain.ImportOptions{Progress: p.set}); err != nil {
		return rep, err
	}
	if err = ctx.Err(); err != nil {
		return rep, err
	}
	sealing = true
	rep.Archive, err = b.Finish(ctx)
	return rep, err
}

func (a *app) imported(rep importReport, dir string) {
	g := newGrid("source", "format", ">blocks", ">bytes", "comes back")
	for _, s := range rep.Sources {
		back := "byte for byte"
		if s.Restore != chain.Identical {
			back = "equal in content: " + s.Reason
		}
		g.add(s.Name, s.Format, count(s.Blocks), count(s.Size), back)
	}
	g.print(a, "")
	a.printf("\n")
	a.tables(rep.Archive)
	a.printf("\n%s: %s raw in %s, %s\n", dir, exact(rep.Archive.RawBytes), exact(rep.Archive.StoredBytes), percent(float64(rep.Archive.StoredBytes), float64(rep.Archive.RawBytes)))
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
