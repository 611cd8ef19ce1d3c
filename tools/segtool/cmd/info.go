package cmd

import (
	"context"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/segment/archive"
	"github.com/spf13/cobra"
)

func (a *app) infoVerb() *cobra.Command {
	var layout bool
	c := verb{
		use: "info PATH [--layout]", short: "Say what an archive or a segment is",
		long: `Info prints the tables of an archive, or the identity, schema, policy and sizes of a
segment, by what the file says of itself: the content is not verified.
With --layout it lists every part of a segment file and where it lies.`,
		example: "  segtool info chain\n  segtool info blocks.seg --layout",
		codes:   []int{codeFine, codeFailed, codeUsage, codeCorrupt, codeMissing},
		args:    cobra.ExactArgs(1),
		run: func(_ context.Context, args []string) error {
			dir, err := a.isDir(args[0])
			if err != nil {
				return err
			}
			if dir && layout {
				return usagef("--layout is of one segment: segtool ls %s names them", args[0])
			}
			if dir {
				return a.archiveInfo(args[0])
			}
			f, err := a.openFile(args[0])
			if err != nil {
				return err
			}
			defer f.Close()
			if layout {
				return a.layout(f.Reader)
			}
			return a.segmentInfo(args[0], f.Reader)
		},
	}.command()
	c.Flags().BoolVar(&layout, "layout", false, "list the parts of a segment file")
	return c
}

func (a *app) archiveInfo(dir string) error {
	ar, err := a.openArchive(dir)
	if err != nil {
		return err
	}
	defer ar.Close()
	i := ar.Info()
	return a.result(i, func() {
		a.fields("archive", dir,
			"version", count(i.Version),
			"chain", or(i.ChainID, "not named"),
			"segments", count(i.Segments),
			"rows", count(i.Rows),
			"raw", exact(i.RawBytes),
			"stored", exact(i.StoredBytes)+", "+percent(float64(i.StoredBytes), float64(i.RawBytes)))
		a.printf("\n")
		g := newGrid("table", ">first row", ">rows", ">segments", ">raw", ">stored", ">%")
		for _, t := range i.Tables {
			g.add(t.Table, count(t.FirstRow), count(t.Rows), count(t.Segments), size(t.RawBytes), size(t.StoredBytes), percent(float64(t.StoredBytes), float64(t.RawBytes)))
		}
		g.print(a, "")
		for _, t := range i.Tables {
			a.printf("\n%s\n", t.Table)
			a.schema(t.Schema)
			a.policy(t.Policy)
		}
	})
}

type segmentInfo struct {
	File string `json:"file"`
	segment.Info
	Dictionaries []dictionaryInfo  `json:"dictionaries"`
	Metadata     map[string]string `json:"metadata,omitempty"` // in hex
}

func (a *app) segmentInfo(path string, r *segment.Reader) error {
	i := segmentInfo{File: path, Info: r.Info(), Dictionaries: dictionaries(r)}
	for k, v := range r.Metadata() {
		if i.Metadata == nil {
			i.Metadata = map[string]string{}
		}
		i.Metadata[k] = hex.EncodeToString(v)
	}
	return a.result(i, func() {
		a.fields("segment", path,
			"table", i.Table,
			"rows", fmt.Sprintf("%s, number %s to %s", count(i.Rows), count(i.FirstRow), count(i.FirstRow+i.Rows-1)),
			"chunks", count(i.Chunks),
			"raw", exact(i.RawBytes),
			"stored", exact(i.StoredBytes)+", "+percent(float64(i.StoredBytes), float64(i.RawBytes)),
			"id", i.ID.String(),
			"content root", i.ContentRoot.String(),
			"encoder", i.Encoder)
		a.printf("\n")
		a.schema(i.Schema)
		a.policy(i.Policy)
		for _, d := range i.Dictionaries {
			a.printf("  dictionary %d  %s, %s, for %s\n", d.Dictionary, d.Kind, exact(d.Bytes), strings.Join(d.Columns, ", "))
		}
		for _, k := range slices.Sorted(maps.Keys(i.Metadata)) {
			a.printf("  metadata %q: %s\n", k, exact(len(r.Metadata()[k])))
		}
	})
}

func (a *app) schema(s segment.Schema) {
	g := newGrid("column", "kind", "format")
	for _, c := range s.Columns {
		g.add(c.Name, c.KindString(), c.Format)
	}
	g.print(a, "  ")
}

func (a *app) policy(text string) {
	a.lines("  policy: ", text)
}

func (a *app) layout(r *segment.Reader) error {
	if a.json {
		return a.printJSON(slices.Collect(r.Places()))
	}
	a.printf("%12s  %10s  %s\n", "offset", "length", "part")
	for p := range r.Places() {
		what := string(p.Section)
		switch {
		case p.Section == segment.SectionDictionary:
			what += fmt.Sprintf(" %d", p.Block)
		case p.Section == segment.SectionFrame:
			what += fmt.Sprintf(" of chunk %d, rows %d-%d", p.Chunk, p.FirstRow, p.FirstRow+p.Rows-1)
		case p.Section == segment.SectionBlock:
			what = fmt.Sprintf("  block %d of %q, chunk %d", p.Block, p.Column, p.Chunk)
		}
		a.printf("%12d  %10d  %s\n", p.Offset, p.Length, what)
		if a.stdout.err != nil {
			return a.stdout.err
		}
	}
	return nil
}

func or(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

func (a *app) lsVerb() *cobra.Command {
	return verb{
		use: "ls PATH", short: "List segments with their checksums, and logs",
		long: `Ls lists the segments of an archive as its manifest has them: rows, file, sizes,
checksum (xxh64 of the file: it changes with the compression) and content root (of
the rows: it does not). The rows of each table in each log of a live archive follow, with
neither: they are in no segment yet. A lone segment file is read for its checksum.`,
		example: "  segtool ls chain\n  segtool ls --json chain | jq -r '.[].content_root'",
		codes:   []int{codeFine, codeFailed, codeUsage, codeCorrupt, codeMissing},
		args:    cobra.ExactArgs(1),
		run: func(ctx context.Context, args []string) error {
			list, logs, err := a.segments(ctx, args[0])
			if err != nil {
				return err
			}
			return a.result(listed(list, logs), func() { a.ls(list, logs) })
		},
	}.command()
}

// listed returns segments and then the rows in logs, one object each: the keys that
// both have mean the same.
func listed(list []archive.SegmentInfo, logs []archive.LogInfo) []any {
	all := make([]any, 0, len(list))
	for _, s := range list {
		all = append(all, s)
	}
	for _, l := range logs {
		for _, r := range l.Tables {
			all = append(all, r)
		}
	}
	return all
}

// segments returns what there is to say of each segment of an archive and of its logs,
// or of a lone segment.
func (a *app) segments(ctx context.Context, path string) (list []archive.SegmentInfo, logs []archive.LogInfo, err error) {
	dir, err := a.isDir(path)
	if err != nil {
		return nil, nil, err
	}
	if dir {
		err = a.readArchive(path, func(ar *archive.Archive) (err error) {
			if list, err = ar.Segments(); err == nil {
				logs, err = ar.Logs()
			}
			return err
		})
		return list, logs, err
	}
	f, err := a.openFile(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	sum, _, err := archive.Checksum(ctx, a.fs, path)
	if err != nil {
		return nil, nil, err
	}
	i := f.Info()
	return []archive.SegmentInfo{{
		Table: i.Table, FirstRow: i.FirstRow, Rows: i.Rows, File: path, RawBytes: i.RawBytes, StoredBytes: i.StoredBytes,
		Checksum: sum, ContentRoot: i.ContentRoot, ID: i.ID,
	}}, nil, nil
}

// ls prints two lines a segment, for a content root has 64 digits, and then the logs.
func (a *app) ls(list []archive.SegmentInfo, logs []archive.LogInfo) {
	if len(list) == 0 {
		a.printf("no segments\n")
	} else {
		a.lsSegments(list)
	}
	if len(logs) == 0 {
		return
	}
	a.printf("\n")
	g := newGrid("log", "table", ">first row", ">rows", ">raw", ">stored")
	for _, l := range logs {
		if len(l.Tables) == 0 {
			g.add(l.File, "no rows that count", "", "", "", "")
		}
		for _, r := range l.Tables {
			g.add(l.File, r.Table, count(r.FirstRow), count(r.Rows), size(r.RawBytes), size(r.StoredBytes))
		}
		g.note("  " + exact(l.StoredBytes) + " in the file")
	}
	g.print(a, "")
}

func (a *app) lsSegments(list []archive.SegmentInfo) {
	g := newGrid("file", ">rows", ">raw", ">stored", ">% of raw")
	for _, s := range list {
		g.add(s.File, count(s.Rows), size(s.RawBytes), size(s.StoredBytes), percent(float64(s.StoredBytes), float64(s.RawBytes)))
		g.note("  " + s.Checksum.String() + "  " + s.ContentRoot.String())
	}
	g.headNote = "  checksum          content root"
	g.print(a, "")
}
