package cmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/segstore/segstore/segment/archive"
	"github.com/segstore/segstore/tools/chain"
	"github.com/spf13/cobra"
)

// appendFlags are the flags of append.
type appendFlags struct {
	importOptions
	archiveFlags
	allowGap, create, seal, sync bool
	commitRows                   int
	commitBytes                  uint64
}

func (a *app) appendVerb() *cobra.Command {
	var o appendFlags
	c := verb{
		use:   "append --from FORMAT SRC... DIR",
		short: "Add the rows of files to an archive",
		long: `Append reads files as import does and puts their rows behind those of the archive DIR,
into its log. Its tables must be those of the format, and end together. The first
Ethereum block must follow the last one stored, by number and parent's hash, and the
others each other; files of Bitcoin Core have blocks in the order of their arrival,
so that nothing is asked of those. Indexes are kept in step. Export gives back all
files, those of import and of each append.

Rows are committed in parts, each of whole blocks or lines: one ends where it reaches
--commit-rows or --commit-bytes. Readers see each as it is committed. Memory is about
60 MiB and four times --commit-bytes, or the largest block where that is more. All is
durable at the end; with --sync each part is before the next.

An append that fails or is interrupted takes its rows back, also those of files before
and of stdin: the archive has the rows that it had. One that is killed leaves the files
that were done, and rows of the next: append refuses to go behind those, and names the
rewind that removes them.

` + formatHelp + `
JSON lines need no --columns where the table has rows of such a file: it has the same.
Without --table, it is the only one beside the sources.

--create makes DIR where it does not exist; --profile, --policy, --encoding and
--chain-id are for that. Else a first file is imported, and more are appended.`,
		example: `  segtool append --from era1 mainnet-00002-*.era1 chain
  segtool append --from rlp --seal blocks.rlp.gz chain
  zstdcat log.jsonl.zst | segtool append --from jsonl --sync - logs`,
		codes: []int{codeFine, codeFailed, codeUsage, codeCorrupt, codeMissing},
		makes: "DIR",
		args: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 {
				return errors.New("append needs at least a file and the directory of the archive")
			}
			return nil
		},
		run: func(ctx context.Context, args []string) error {
			paths, dir := args[:len(args)-1], args[len(args)-1]
			im, err := importer(o.from, o.importOptions)
			if err != nil {
				return usage(err)
			}
			files, err := a.sources(ctx, paths, o.from)
			if err != nil {
				return err
			}
			rep, err := a.appendFiles(ctx, im, files, dir, &o)
			if err != nil {
				return err
			}
			return a.result(rep, func() { a.appended(rep, dir) })
		},
	}.command()
	o.importOptions.add(c)
	o.archiveFlags.add(c)
	intFlag(c, &o.commitRows, "commit-rows", 65536, 1, maxNumber, "rows at which a commit ends")
	bytesFlag(c, &o.commitBytes, "commit-bytes", "8MiB", 1, 256<<20, "raw bytes at which a commit ends")
	f := c.Flags()
	f.BoolVar(&o.sync, "sync", false, "make each commit durable before the next")
	f.BoolVar(&o.seal, "seal", false, "put all rows of the logs into segments at the end, and while there is 1 GiB of them")
	f.BoolVar(&o.create, "create", false, "make DIR where it does not exist")
	f.BoolVar(&o.allowGap, "allow-gap", false, "take blocks that do not follow the last one, and go behind rows of no source")
	check(c, func() error {
		for _, name := range []string{"profile", "policy", "encoding", "chain-id"} {
			if f.Changed(name) && !o.create {
				return usagef("--%s is for an archive that --create makes", name)
			}
		}
		return nil
	})
	return c
}

// appendReport is the result of append.
type appendReport struct {
	chain.Report               // of what was appended
	Created      bool          `json:"created"` // the archive was made
	Commits      int           `json:"commits"`
	RawBytes     uint64        `json:"raw_bytes"` // of the values
	WallNS       time.Duration `json:"wall_ns"`
	Archive      archive.Info  `json:"archive"` // afterwards
}

// appendFiles appends the rows of files to the archive dir: all of them or none.
func (a *app) appendFiles(ctx context.Context, im chain.Importer, files []chain.File, dir string, o *appendFlags) (rep appendReport, err error) {
	began := time.Now()
	w, err := a.appendTo(ctx, dir, o)
	if err != nil {
		return rep, err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	p := a.progress("append")
	defer p.end()
	io := chain.ImportOptions{Progress: p.set, MaxBlockBytes: o.maxBlock(), AllowGap: o.allowGap}
	if w.ar != nil {
		io.After = view{ctx, w.ar}
	}
	if rep.Report, err = read(ctx, im, files, w, io); err == nil {
		err = w.finish()
	}
	if err != nil {
		p.end()
		if uerr := w.undo(); uerr != nil {
			return rep, errors.Join(err, uerr)
		}
		a.complain("nothing was appended to " + dir)
		return rep, gapHint(dir, err)
	}
	for _, t := range rep.Tables {
		rep.RawBytes += t.RawBytes
	}
	if o.seal {
		if err := w.ar.Seal(ctx); err != nil {
			p.end()
			a.complain("the rows are appended and durable, and not sealed: " + command("seal", dir))
			return rep, err
		}
	}
	rep.Created, rep.Commits, rep.Archive = w.made, w.commits, w.ar.Info()
	rep.WallNS = time.Since(began)
	return rep, nil
}

// gapHint says what can be done about rows of no source.
func gapHint(dir string, err error) error {
	var gap *chain.GapError
	if errors.As(err, &gap) {
		return fmt.Errorf("%w: %s removes them, --allow-gap keeps them", err, rewindCommand(dir, gap.Ends))
	}
	return err
}

// rewindCommand returns the command that lets tables end there.
func rewindCommand(dir string, ends map[string]uint64) string {
	words := []string{"rewind", dir}
	for _, name := range slices.Sorted(maps.Keys(ends)) {
		words = append(words, name, fmt.Sprint(ends[name]))
	}
	return command(words...)
}

// command returns a command of segtool, for a shell.
func command(words ...string) string {
	s := "segtool"
	for _, w := range words {
		s += " " + quote(w)
	}
	return s
}

func (a *app) appended(rep appendReport, dir string) {
	a.sourcesRead(rep.Sources)
	a.printf("\n")
	g := newGrid("table", ">first row", ">rows", ">raw")
	for _, t := range rep.Tables {
		g.add(t.Table, count(t.FirstRow), count(t.Rows), size(t.RawBytes))
	}
	g.print(a, "")
	var what []string
	if rep.Created {
		what = append(what, "created")
	}
	what = append(what, exact(rep.RawBytes)+" raw in "+plural(rep.Commits, "commit"), rep.WallNS.Round(time.Millisecond).String())
	if r := rate(rep.RawBytes, rep.WallNS); r != "" {
		what = append(what, r)
	}
	a.printf("\n%s: %s\n", dir, strings.Join(what, ", "))
}

// appendTo opens the archive dir for an append; where it is to be made, that is done
// with the first commit.
func (a *app) appendTo(ctx context.Context, dir string, o *appendFlags) (*appending, error) {
	w := &appending{a: a, ctx: ctx, dir: dir, o: o}
	is, err := a.isDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist) && o.create:
		if err := o.needColumns(); err != nil {
			return nil, err
		}
		w.create, err = o.options(ctx, a)
		return w, err
	case err != nil && !errors.Is(err, fs.ErrNotExist): // Open says it better of what is not there
		return nil, err
	case err == nil && !is:
		return nil, usagef("%s is one file: this is for archives", dir)
	}
	if err := w.open(); errors.Is(err, archive.ErrNotArchive) {
		return nil, fmt.Errorf("%w: segtool import makes an archive of files, and append --create an empty one where there is nothing", err)
	} else if err != nil {
		return nil, err
	}
	if err := w.asCreated(); err != nil {
		return nil, errors.Join(err, w.close())
	}
	return w, nil
}

// asCreated refuses flags that say how an archive is made where it is there and is
// another.
func (w *appending) asCreated() error {
	o := w.o
	if o.profile != "" || o.file != "" || o.encoding != "" {
		co, err := o.options(w.ctx, w.a)
		if err != nil {
			return err
		}
		for _, t := range w.ar.Tables() {
			if t.Policy != co.Policy.String() {
				return usagef("%s is there, and its table %q has another policy than the one given", w.dir, t.Table)
			}
		}
	}
	if have := w.ar.Info().ChainID; o.chainID != "" && have != o.chainID {
		return usagef("%s is there, and its chain id is %q, not %q", w.dir, have, o.chainID)
	}
	return nil
}
