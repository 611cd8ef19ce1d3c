package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/segstore/segstore/codec"
	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/segment/archive"
	"github.com/segstore/segstore/tools/chain"
	"github.com/segstore/segstore/tools/chain/blk"
	"github.com/segstore/segstore/tools/chain/jsonl"
	"github.com/spf13/cobra"
)

// maxLine is the longest line of JSON: a row holds no more.
const maxLine = segment.MaxRowBytes

// importFlags are the flags of import.
type importFlags struct {
	policyFlags
	importOptions
	from    string
	segment uint64 // bytes
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
			co, err := o.create(ctx, a)
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
	f := c.Flags()
	wordFlag(c, &o.from, "from", "", formats(), "format: "+strings.Join(formats(), ", "))
	o.policyFlags.add(c)
	bytesFlag(c, &o.segment, "segment-bytes", "512MiB", 1, 1<<40, "raw bytes at which a table's segment is cut")
	workersFlag(c, &o.workers, "goroutines that compress")
	textFlag(c, &o.chainID, "chain-id", "name of the chain, kept in the manifest: UTF-8, at most 256 bytes", chainID)
	o.columnsFlag(c, "jsonl: columns, name:kind or name=field:kind, with commas between")
	bytesFlag(c, &o.maxLine, "max-line", "16MiB", 1, maxLine, "jsonl: longest line; memory is about ten times that at the most")
	textFlag(c, &o.table, "table", `jsonl: name of the table, a-z 0-9 _ (default "rows")`, newTable)
	textFlag(c, &o.magic, "magic", "blk: network, as a name or 8 hex digits (default that of the first record)", parses(blk.ParseMagic))
	textFlag(c, &o.key, "xor-key", "blk: key in hex (default that of xor.dat beside the files)", parses(blk.ParseKey))
	f.BoolVar(&o.keepJunk, "keep-junk", false, "blk: keep bytes between blocks that are no block, instead of failing")
	f.BoolVar(&o.trust, "skip-checks", false, "blk: do not compare Merkle roots")
	required(c, "from")
	check(c, func() error {
		if o.from != "jsonl" && f.Changed("max-line") {
			return usagef("--max-line is for --from jsonl")
		}
		if _, err := importer(o.from, o.importOptions); err != nil {
			return usage(err)
		}
		return nil
	})
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

// maxBlock returns the limit of a line of JSON; 0, the importer's own limit, for other
// formats.
func (o *importFlags) maxBlock() int {
	if o.from != "jsonl" {
		return 0
	}
	return int(o.maxLine)
}

// create returns the options for the archive.
func (o *importFlags) create(ctx context.Context, a *app) (archive.CreateOptions, error) {
	co := archive.CreateOptions{Workers: o.workers, ChainID: o.chainID, Logger: a.logger(), Context: ctx}
	co.SegmentBytes = int64(o.segment)
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
	rep.Report, err = im.Import(ctx, files, sink{b}, chain.ImportOptions{Progress: p.set, MaxBlockBytes: maxBlock})
	if errors.Is(err, jsonl.ErrLongLine) {
		err = fmt.Errorf("%w: raise --max-line, up to %s", err, size(maxLine))
	}
	if err != nil {
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
