package cmd

import (
	"context"
	"slices"

	"github.com/segstore/segstore/segment"
	"github.com/spf13/cobra"
)

func (a *app) blockVerb() *cobra.Command {
	var o struct {
		table, column, stream, out string
		segment, chunk, block      int
		stored                     bool
	}
	var c *cobra.Command
	c = verb{
		use: "block PATH --column C --chunk N [--block B | --stream S] [--stored]", short: "Write the bytes of one block",
		long: `Block writes the bytes that one block of a column holds in a chunk: its streams, with
their lengths before them; or, with --stored, those bytes as they were compressed:
a frame of zstd, where the codec is zstd, that any zstd decodes:

  segtool block FILE --column tx --chunk 3 --stored >block.zst
  segtool dict export FILE --column tx -o dictionary
  zstd -d -D dictionary <block.zst | cmp - <(segtool block FILE --column tx --chunk 3)

With --json it says what the block is instead. A block is checked against its
checksum first. In an archive --table and --segment name the file.`,
		example: "  segtool block blocks.seg --column header --chunk 0 | xxd | head",
		codes:   []int{codeFine, codeFailed, codeUsage, codeCorrupt, codeMissing},
		args:    cobra.ExactArgs(1),
		run: func(_ context.Context, args []string) error {
			r, done, err := a.openSegment(args[0], o.table, o.segment)
			if err != nil {
				return err
			}
			defer done()
			if c.Flags().Changed("stream") {
				if o.block, err = blockOf(r, o.column, o.stream); err != nil {
					return err
				}
			}
			stored, raw, info, err := r.Block(o.column, o.chunk, o.block)
			if err != nil {
				return err
			}
			if o.stored {
				raw = stored
			}
			if a.json {
				if o.out != "-" {
					if err := a.bytesTo(o.out, raw); err != nil {
						return err
					}
				}
				return a.printJSON(info)
			}
			return a.bytesTo(o.out, raw)
		},
	}.command()
	textFlag(c, &o.column, "column", "column", nil)
	intFlag(c, &o.chunk, "chunk", 0, 0, maxNumber, "number of the chunk, from 0")
	intFlag(c, &o.block, "block", 0, 0, maxNumber, "number of the block in the column's chunk, from 0")
	textFlag(c, &o.stream, "stream", "the block that holds this stream", nil)
	c.Flags().BoolVar(&o.stored, "stored", false, "as it is compressed")
	shortFlag(c, &o.out, "out", "o", "-", "file to write, which must not exist; - is stdout", nil)
	a.segmentFlags(c, &o.table, &o.segment)
	exclusive(c, "block", "stream")
	required(c, "column", "chunk")
	return c
}

// blockOf returns the number of the block that holds a stream.
func blockOf(r *segment.Reader, column, stream string) (int, error) {
	var names []string
	for _, c := range r.Stats() {
		if c.Column != column {
			continue
		}
		for i, b := range c.Blocks {
			if slices.Contains(b.Streams, stream) {
				return i, nil
			}
			names = append(names, b.Streams...)
		}
		return 0, missingf("column %q has no stream %q but %q", column, stream, names)
	}
	return 0, nil // no such column: Block says so
}
