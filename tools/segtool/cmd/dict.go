package cmd

import (
	"context"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/segstore/segstore/segment"
	"github.com/spf13/cobra"
)

func (a *app) dictVerb() *cobra.Command {
	c := &cobra.Command{
		Use: "dict", Short: "Look at the dictionaries of a segment, or take one out",
		Long:    "Dict shows and exports the dictionaries that blocks are compressed with.\n\nExit codes:\n" + codes(codeFine, codeFailed, codeUsage, codeCorrupt, codeMissing),
		Example: "  segtool dict info blocks.seg",
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return usagef("dict needs info or export") },
	}
	c.AddCommand(a.dictInfoVerb(), a.dictExportVerb())
	return c
}

// dictionaryInfo is what there is to say of a dictionary.
type dictionaryInfo struct {
	Dictionary int      `json:"dictionary"` // its index in the segment
	Kind       string   `json:"kind"`
	Bytes      int      `json:"dictionary_bytes"`
	SHA256     string   `json:"sha256"`
	ZstdID     uint32   `json:"zstd_id"` // that frames carry; not unique
	Columns    []string `json:"columns"` // that use it
}

// dictionaries returns what there is to say of a segment's dictionaries.
func dictionaries(r *segment.Reader) []dictionaryInfo {
	list := []dictionaryInfo{}
	for i := 0; r.Dictionary(i) != nil; i++ {
		d := r.Dictionary(i)
		id := d.ID()
		list = append(list, dictionaryInfo{i, d.Kind().String(), len(d.Bytes()), hex.EncodeToString(id[:]), d.ZstdID(), []string{}})
	}
	for i, c := range r.Layout().Columns {
		for _, b := range c.Blocks {
			if b.Dictionary < 0 {
				continue
			}
			l := &list[b.Dictionary].Columns
			if name := r.Schema().Columns[i].Name; !slices.Contains(*l, name) {
				*l = append(*l, name)
			}
		}
	}
	return list
}

func (a *app) dictInfoVerb() *cobra.Command {
	var table string
	var number int
	c := verb{
		use: "info PATH", short: "Say which dictionaries a segment has, and why",
		long:    "Info lists the dictionaries of a segment, and the trials by which they were chosen.",
		example: "  segtool dict info chain --table receipts",
		codes:   []int{codeFine, codeFailed, codeUsage, codeCorrupt, codeMissing},
		args:    cobra.ExactArgs(1),
		run: func(_ context.Context, args []string) error {
			r, done, err := a.openSegment(args[0], table, number)
			if err != nil {
				return err
			}
			defer done()
			v := struct {
				Table        string           `json:"table"`
				FirstRow     uint64           `json:"first_row"`
				Rows         uint64           `json:"rows"`
				Dictionaries []dictionaryInfo `json:"dictionaries"`
				Trials       string           `json:"trials,omitempty"` // text, a line each
			}{r.Table(), r.FirstRow(), r.EndRow() - r.FirstRow(), dictionaries(r), r.Trials()}
			return a.result(v, func() {
				if len(v.Dictionaries) == 0 {
					a.printf("no dictionaries\n")
				}
				for _, d := range v.Dictionaries {
					a.fields("dictionary", count(d.Dictionary),
						"columns", strings.Join(d.Columns, ", "),
						"kind", d.Kind,
						"size", exact(d.Bytes),
						"sha256", d.SHA256,
						"zstd id", count(int64(d.ZstdID)))
					a.printf("\n")
				}
				a.lines("", v.Trials)
			})
		},
	}.command()
	a.segmentFlags(c, &table, &number)
	return c
}

func (a *app) dictExportVerb() *cobra.Command {
	var o struct {
		table, column, out string
		segment, block     int
	}
	var c *cobra.Command
	c = verb{
		use: "export PATH --column C [-o FILE]", short: "Write the dictionary of a column",
		long: `Export writes the dictionary of a column's blocks as zstd -D takes it. See segtool
block for a block to decode with it.`,
		example: "  segtool dict export blocks.seg --column header -o header.dict",
		codes:   []int{codeFine, codeFailed, codeUsage, codeCorrupt, codeMissing},
		args:    cobra.ExactArgs(1),
		run: func(_ context.Context, args []string) error {
			if !c.Flags().Changed("block") {
				o.block = -1
			}
			r, done, err := a.openSegment(args[0], o.table, o.segment)
			if err != nil {
				return err
			}
			defer done()
			i, err := dictionaryOf(r, o.column, o.block)
			if err != nil {
				return err
			}
			if a.json && o.out == "-" {
				return usagef("--json needs -o: stdout has room for one of them")
			}
			if err := a.bytesTo(o.out, r.Dictionary(i).Bytes()); err != nil {
				return err
			}
			if a.json {
				return a.printJSON(dictionaries(r)[i])
			}
			return nil
		},
	}.command()
	textFlag(c, &o.column, "column", "column", nil)
	intFlag(c, &o.block, "block", 0, 0, maxNumber, "number of the block in the column's chunk (default the first that has a dictionary)")
	shortFlag(c, &o.out, "out", "o", "-", "file to write, which must not exist; - is stdout", nil)
	a.segmentFlags(c, &o.table, &o.segment)
	required(c, "column")
	return c
}

// dictionaryOf returns the index of the dictionary of a column's block, or of its
// first block that has one where block is below 0.
func dictionaryOf(r *segment.Reader, column string, block int) (int, error) {
	c := r.Schema().Index(column)
	if c < 0 {
		_, err := r.Column(column)
		return 0, err
	}
	blocks := r.Layout().Columns[c].Blocks
	for i, b := range blocks {
		if b.Dictionary >= 0 && (block < 0 || block == i) {
			return b.Dictionary, nil
		}
	}
	if block >= len(blocks) {
		return 0, missingf("column %q has %d blocks, no number %d", column, len(blocks), block)
	}
	return 0, missingf("column %q has no dictionary: %s", column, blocks[max(block, 0)].Spec)
}
