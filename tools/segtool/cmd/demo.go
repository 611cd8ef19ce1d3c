package cmd

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/segstore/segstore/codec"
	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/segment/archive"
	"github.com/segstore/segstore/tools/chain"
	"github.com/segstore/segstore/tools/chain/synth"
	"github.com/spf13/cobra"
)

// demoFlags are the flags of demo.
type demoFlags struct {
	importOptions
	keep, profile string
	bytes, seed   uint64
	level         int
}

func (a *app) demoVerb() *cobra.Command {
	var o demoFlags
	c := verb{
		use: "demo [--from FORMAT FILE...]", short: "Show in some seconds what segtool does",
		long: `Demo makes up a chain of blocks, or takes files, and shows: import, what each column
takes, recompression with its report, verification, a byte that flips and is found, and
the files given back. It works in a temporary directory and removes it.`,
		example: "  segtool demo\n  segtool demo --from era1 mainnet-00000-5ec1ffb8.era1\n  segtool demo --keep chain && segtool ls chain",
		codes:   []int{codeFine, codeFailed, codeUsage},
		args: func(_ *cobra.Command, args []string) error {
			if (o.from == "") != (len(args) == 0) {
				return errors.New("files and --from go together")
			}
			return nil
		},
		run: func(ctx context.Context, args []string) error { return a.demo(ctx, o, args) },
	}.command()
	wordFlag(c, &o.from, "from", "", formats(), "format of the files: "+strings.Join(formats(), ", "))
	o.columnsFlag(c, "jsonl: columns, as for import")
	textFlag(c, &o.keep, "keep", "directory to make the archive in, and keep", toMake)
	wordFlag(c, &o.profile, "profile", "cold", codec.Profiles(), "policy of the import: "+strings.Join(codec.Profiles(), ", "))
	intFlag(c, &o.level, "level", 1, minLevel, maxLevel, "level of zstd to recompress at")
	bytesFlag(c, &o.bytes, "bytes", "12MB", 100_000, 1<<40, "how much to make up")
	c.Flags().Uint64Var(&o.seed, "seed", 1, "of what is made up")
	exclusive(c, "from", "bytes")
	exclusive(c, "from", "seed")
	return c
}

// demonstration is the result of demo.
type demonstration struct {
	Import     importReport         `json:"import"`
	Stats      []archive.TableStats `json:"stats"`
	Recompress *archive.Report      `json:"recompress"`
	Whole      verdict              `json:"verify"`
	Flipped    segment.Place        `json:"flipped"` // the byte that was flipped
	Damaged    verdict              `json:"verify_damaged"`
	Export     chain.ExportReport   `json:"export"`
}

func (a *app) demo(ctx context.Context, o demoFlags, paths []string) (err error) {
	im, files, err := a.demoSource(ctx, o, paths)
	if err != nil {
		return err
	}
	policy, err := codec.Profile(o.profile)
	if err != nil {
		return usage(err)
	}
	temp, err := os.MkdirTemp("", "segtool-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	dir := filepath.Join(temp, "chain")
	if o.keep != "" {
		dir = o.keep
	}
	d := &demonstration{}
	if d.Import, err = a.importFiles(ctx, im, files, dir, 0, archive.CreateOptions{Policy: policy, Context: ctx}); err != nil {
		return err
	}
	steps := &steps{a: a, ctx: ctx, d: d, dir: dir, temp: temp, profile: o.profile, level: o.level}
	if err := steps.run(o); err != nil {
		return err
	}
	if a.json {
		return a.printJSON(d)
	}
	return nil
}

// demoSource returns what is imported.
func (a *app) demoSource(ctx context.Context, o demoFlags, paths []string) (chain.Importer, []chain.File, error) {
	if o.from == "" {
		im, err := importer("rlps", o.importOptions)
		if err != nil {
			return nil, nil, usage(err)
		}
		return im, []chain.File{synth.File("made-up.rlps", o.seed, synth.Limit{Bytes: o.bytes})}, nil
	}
	im, err := importer(o.from, o.importOptions)
	if err == nil {
		err = o.needColumns()
	}
	if err != nil {
		return nil, nil, usage(err)
	}
	files, err := a.sources(ctx, paths, o.from)
	return im, files, err
}

// steps are the steps of demo, after the import.
type steps struct {
	a         *app
	ctx       context.Context
	d         *demonstration
	dir, temp string
	profile   string
	level     int
	n         int
}

// step prints a heading and the command that does what follows.
func (s *steps) step(title, command string) {
	s.n++
	if !s.a.json {
		s.a.printf("\n━━ %d. %s\n   $ segtool %s\n\n", s.n, title, command)
		s.a.stdout.Flush() // the error stays and ends the step
	}
}

func (s *steps) say(f func()) error {
	if !s.a.json {
		f()
	}
	if s.a.stdout.Flush() != nil {
		return s.a.stdout.err
	}
	return s.ctx.Err()
}

func (s *steps) run(o demoFlags) error {
	from := or(o.from, "rlps")
	for _, f := range []func(string) error{s.imported, s.columns, s.recompress, s.whole, s.flip, s.export} {
		if err := f(from); err != nil {
			return err
		}
	}
	return s.say(func() {
		if o.keep != "" {
			s.a.printf("\nThe archive stays in %s: try segtool info, ls, cat, get.\n", s.dir)
		} else {
			s.a.printf("\nAll of it was in a temporary directory that is gone now; --keep DIR keeps the archive.\n")
		}
	})
}

func (s *steps) imported(from string) error {
	s.step("Blocks become rows of columns", "import --from "+from+" --profile "+s.profile+" FILE chain")
	return s.say(func() { s.a.imported(s.d.Import, "chain") })
}

func (s *steps) columns(string) (err error) {
	s.step("What each column takes, of its raw bytes", "stats chain")
	if s.d.Stats, err = s.a.stats(s.ctx, s.dir, nil); err != nil {
		return err
	}
	return s.say(func() { s.a.bars(s.d.Stats) })
}

func (s *steps) recompress(string) (err error) {
	s.step("Every segment compressed again, in place; the content root stays", "recompress --level "+count(s.level)+" chain")
	ro := archive.RecompressOptions{RecompressOptions: segment.RecompressOptions{Level: &s.level}}
	if s.d.Recompress, err = s.a.recompressArchive(s.ctx, s.dir, "", ro, nil); err != nil {
		return err
	}
	return s.say(func() { s.a.report(s.d.Recompress) })
}

func (s *steps) whole(string) (err error) {
	s.step("Every byte checked, every row decoded and hashed again", "verify --content chain")
	s.d.Whole, err = s.a.examine(s.ctx, s.dir, true, segment.Content, nil)
	if err != nil {
		return err
	}
	return s.say(func() { s.show(s.d.Whole) })
}

// flip flips a bit in the middle of the largest segment, verifies, and flips it
// back.
func (s *steps) flip(string) error {
	list, _, err := s.a.segments(s.ctx, s.dir)
	if err != nil {
		return err
	}
	var at archive.SegmentInfo
	for _, l := range list {
		if l.StoredBytes > at.StoredBytes {
			at = l
		}
	}
	if at.File == "" {
		return errors.New("no segment to damage: there are no rows")
	}
	path := filepath.Join(s.dir, filepath.FromSlash(at.File))
	s.d.Flipped = segment.Place{File: at.File, Section: segment.SectionFile, Chunk: -1, Offset: at.StoredBytes / 2, Length: 1}
	if err := flipBit(path, s.d.Flipped.Offset); err != nil {
		return err
	}
	s.step("One bit of "+count(8*at.StoredBytes)+" flips in "+at.File, "verify chain    # the bit is in byte "+count(s.d.Flipped.Offset))
	s.d.Damaged, err = s.a.examine(s.ctx, s.dir, true, segment.Checksums, nil)
	err = errors.Join(err, flipBit(path, s.d.Flipped.Offset))
	if err == nil && len(s.d.Damaged.Flaws) == 0 {
		err = errors.New("verify has not found the bit that flipped")
	}
	if err != nil {
		return err
	}
	return s.say(func() { s.show(s.d.Damaged) })
}

// show prints a verdict with the names of the demonstration.
func (s *steps) show(v verdict) {
	for _, f := range v.Flaws {
		s.a.printf("%s\n", strings.ReplaceAll(f.Error(), s.dir, "chain"))
	}
	v.Path = "chain"
	for i, n := range v.Next {
		v.Next[i] = strings.ReplaceAll(n, s.dir, "chain")
	}
	s.a.verdict(v)
}

// flipBit flips the lowest bit of a byte of a file.
func flipBit(path string, offset int64) (err error) {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if err := os.Chmod(path, 0o600); err != nil { // segments are read-only
		return err
	}
	defer func() { err = errors.Join(err, os.Chmod(path, info.Mode().Perm())) }()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	var b [1]byte
	if _, err := f.ReadAt(b[:], offset); err != nil {
		return err
	}
	b[0] ^= 1
	_, err = f.WriteAt(b[:], offset)
	return err
}

func (s *steps) export(from string) error {
	s.step("The bit is back, and the files come out as they went in", "export --to "+from+" chain FILE")
	ex, err := exporter(from)
	if err != nil {
		return err
	}
	if s.d.Export, err = s.a.export(s.ctx, ex, s.dir, filepath.Join(s.temp, "out"), nil); err != nil {
		return err
	}
	return s.say(func() { s.a.exported(s.d.Export) })
}
