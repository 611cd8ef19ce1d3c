package cmd

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/segstore/segstore/segment/archive"
	"github.com/spf13/cobra"
)

func (a *app) statsVerb() *cobra.Command {
	var streams bool
	var tables []string
	c := verb{
		use: "stats PATH [--streams]", short: "Say what each column takes",
		long: `Stats prints for each column of each table the bytes of its values, the bytes that they
take, and how they are written. Blocks that would not shrink are kept raw.
Rows that are in logs, and in no segment yet, are a line for each log.
--streams adds what the encoding makes of a column before it is compressed.`,
		example: "  segtool stats chain\n  segtool stats --streams blocks.seg",
		codes:   []int{codeFine, codeFailed, codeUsage, codeCorrupt, codeMissing},
		args:    cobra.ExactArgs(1),
		run: func(ctx context.Context, args []string) error {
			list, err := a.stats(ctx, args[0], tables)
			if err != nil {
				return err
			}
			return a.result(list, func() {
				for i, t := range list {
					if i > 0 {
						a.printf("\n")
					}
					a.tableStats(t, streams)
				}
			})
		},
	}.command()
	c.Flags().BoolVar(&streams, "streams", false, "the streams of each column too")
	listFlag(c, &tables, "table", true, "tables of an archive (default all)")
	return c
}

func (a *app) stats(ctx context.Context, path string, tables []string) ([]archive.TableStats, error) {
	dir, err := a.isDir(path)
	if err != nil {
		return nil, err
	}
	if !dir {
		if len(tables) > 0 {
			return nil, usagef("%s is one segment: --table is for archives", path)
		}
		f, err := a.openFile(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return []archive.TableStats{archive.FileStats(f.Reader)}, nil
	}
	ar, err := a.openArchive(path)
	if err != nil {
		return nil, err
	}
	list, err := ar.Stats(ctx, tables...)
	return list, errors.Join(err, ar.Close())
}

func (a *app) tableStats(t archive.TableStats, streams bool) {
	a.printf("%s: %s in %s, %s\n", t.Table, plural(t.Rows, "row"), plural(t.Segments, "segment"), plural(t.Chunks, "chunk"))
	g := newGrid("column", ">raw", ">stored", ">% of raw", "codec", ">blocks", ">kept raw")
	for _, c := range t.Columns {
		var codecs []string
		blocks, kept := uint64(0), uint64(0)
		for _, b := range c.Blocks {
			if s := b.Codec.String(); b.Blocks > 0 && !slices.Contains(codecs, s) {
				codecs = append(codecs, s)
			}
			blocks += b.Blocks
			kept += b.KeptRaw
		}
		g.add(c.Column, count(c.RawBytes), count(c.StoredBytes), percent(float64(c.StoredBytes), float64(c.RawBytes)), or(strings.Join(codecs, ", "), "all empty"), count(blocks), none(kept))
		if !streams {
			continue
		}
		for _, s := range c.Streams {
			g.add("  "+s.Stream, count(s.RawBytes))
		}
	}
	if t.DictBytes > 0 {
		g.add("(dictionaries)", "", count(t.DictBytes), percent(float64(t.DictBytes), float64(t.RawBytes)))
	}
	other := t.OtherBytes - t.DictBytes
	g.add("(everything else)", "", count(other), percent(float64(other), float64(t.RawBytes)))
	g.rule()
	g.add(t.Table, count(t.RawBytes), count(t.StoredBytes), percent(float64(t.StoredBytes), float64(t.RawBytes)))
	g.print(a, "  ")
	for _, l := range t.Logs {
		a.printf("  and in %s: %s from row %s, %s of values in %s\n", l.File, plural(l.Rows, "row"), count(l.FirstRow), exact(l.RawBytes), exact(l.StoredBytes))
	}
}
