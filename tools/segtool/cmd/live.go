package cmd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/segstore/segstore/codec"
	"github.com/segstore/segstore/codec/bitcoin"
	"github.com/segstore/segstore/codec/ethereum"
	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/segment/archive"
	"github.com/spf13/cobra"
)

// keyFunctions are the functions that indexes may name here.
func keyFunctions() []codec.KeyFunction {
	return slices.Concat(ethereum.KeyFunctions(), bitcoin.KeyFunctions())
}

// changeArchive opens an archive as its writer, does something with it, and closes it.
func (a *app) changeArchive(dir string, do func(ar *archive.Archive) error) error {
	if is, err := a.isDir(dir); err != nil {
		return err
	} else if !is {
		return usagef("%s is one file: this is for archives", dir)
	}
	ar, err := archive.Open(a.fs, dir, archive.Options{Logger: a.logger(), KeyFunctions: keyFunctions(), SealBytes: -1})
	if err != nil {
		return err
	}
	return errors.Join(do(ar), ar.Close())
}

// readArchive opens an archive for reading, does something with it, and closes it.
func (a *app) readArchive(dir string, do func(ar *archive.Archive) error) error {
	if is, err := a.isDir(dir); err != nil {
		return err
	} else if !is {
		return usagef("%s is one file: this is for archives", dir)
	}
	ar, err := a.openArchive(dir)
	if err != nil {
		return err
	}
	return errors.Join(do(ar), ar.Close())
}

func (a *app) sealVerb() *cobra.Command {
	return verb{
		use: "seal DIR", short: "Put the rows of an archive's logs into segments",
		long: `Seal compresses all rows that an archive has in logs into segments, under the policies
of their tables, and removes the logs. An archive whose rows are all in segments
stays as it is.`,
		example: "  segtool seal chain",
		codes:   []int{codeFine, codeFailed, codeUsage, codeCorrupt, codeMissing},
		args:    cobra.ExactArgs(1),
		run: func(ctx context.Context, args []string) error {
			return a.changeArchive(args[0], func(ar *archive.Archive) error {
				if err := ar.Seal(ctx); err != nil {
					return err
				}
				i := ar.Info()
				return a.result(i, func() { a.tables(i) })
			})
		},
	}.command()
}

// rewound is the result of rewind.
type rewound struct {
	Table    string `json:"table"`
	FirstRow uint64 `json:"first_row"`
	EndRow   uint64 `json:"end_row"` // one past the last row that is left
	Rows     uint64 `json:"rows"`    // that are gone
}

func (a *app) rewindVerb() *cobra.Command {
	var dryRun bool
	c := verb{
		use: "rewind DIR TABLE ROW [TABLE ROW]...", short: "Let tables end earlier",
		long: `Rewind removes the rows of a table from number ROW on, of all tables named at once or
of none: ROW is the number of the next row that will be appended. Tables that are not
named stay. A segment that holds more is written again without them; nothing brings
the rows back.`,
		example: "  segtool rewind chain blocks 19000000 transactions 2200000000",
		codes:   []int{codeFine, codeFailed, codeUsage, codeCorrupt, codeMissing},
		args: func(_ *cobra.Command, args []string) error {
			if len(args) < 3 || len(args)%2 != 1 {
				return errors.New("rewind needs a directory, and a table and a row as often as wanted")
			}
			return nil
		},
		run: func(ctx context.Context, args []string) error {
			to := archive.Position{}
			for i := 1; i < len(args); i += 2 {
				row, err := strconv.ParseUint(args[i+1], 10, 64)
				if err != nil {
					return usagef("row %q is not a number", args[i+1])
				}
				if _, ok := to[args[i]]; ok {
					return usagef("table %q twice", args[i])
				}
				to[args[i]] = row
			}
			open := a.changeArchive
			if dryRun {
				open = a.readArchive
			}
			return open(args[0], func(ar *archive.Archive) error { return a.rewind(ctx, ar, to, dryRun) })
		},
	}.command()
	c.Flags().BoolVar(&dryRun, "dry-run", false, "say what would go, and change nothing")
	return c
}

func (a *app) rewind(ctx context.Context, ar *archive.Archive, to archive.Position, dryRun bool) error {
	var all []rewound
	for _, name := range slices.Sorted(maps.Keys(to)) {
		t, err := ar.Table(name)
		if err != nil {
			return err
		}
		first, end, row := t.FirstRow(), t.EndRow(), to[name]
		if row < first || row > end {
			return fmt.Errorf("%w: table %q cannot end before row %d: it has %d to %d", segment.ErrRange, name, row, first, end)
		}
		all = append(all, rewound{name, first, row, end - row})
	}
	if !dryRun {
		if err := ar.Rewind(ctx, to); err != nil {
			return err
		}
	}
	return a.result(struct {
		DryRun bool      `json:"dry_run"`
		Tables []rewound `json:"tables"`
	}{dryRun, all}, func() {
		g := newGrid("table", ">first row", ">next row", ">rows gone")
		for _, r := range all {
			g.add(r.Table, count(r.FirstRow), count(r.EndRow), count(r.Rows))
		}
		g.print(a, "")
		if dryRun {
			a.printf("dry run: nothing was changed\n")
		}
	})
}

func (a *app) pruneVerb() *cobra.Command {
	var dryRun bool
	c := verb{
		use: "prune DIR TABLE ROW [--dry-run]", short: "Let a table begin later, and free the space",
		long: `Prune removes the segments of a table that end before row ROW. Rows before it that
share a segment with later ones stay, as do all other tables.`,
		example: "  segtool prune chain receipts 2000000000 --dry-run",
		codes:   []int{codeFine, codeFailed, codeUsage, codeCorrupt, codeMissing},
		args:    cobra.ExactArgs(3),
		run: func(ctx context.Context, args []string) error {
			row, err := strconv.ParseUint(args[2], 10, 64)
			if err != nil {
				return usagef("row %q is not a number", args[2])
			}
			prune := func(ar *archive.Archive) error {
				p, err := ar.Prune(ctx, args[1], row, dryRun)
				if err != nil {
					return err
				}
				return a.result(struct {
					DryRun bool `json:"dry_run"`
					archive.Pruned
				}{dryRun, p}, func() {
					what := "removed"
					if dryRun {
						what = "would remove"
					}
					a.printf("%s: %s %s rows in %s segments, %s; it begins with row %s\n",
						p.Table, what, count(p.Rows), count(p.Segments), exact(p.StoredBytes), count(p.FirstRow))
				})
			}
			if !dryRun {
				return a.changeArchive(args[0], prune)
			}
			return a.readArchive(args[0], prune)
		},
	}.command()
	c.Flags().BoolVar(&dryRun, "dry-run", false, "say what would go, and change nothing")
	return c
}
