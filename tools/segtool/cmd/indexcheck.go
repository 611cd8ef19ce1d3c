package cmd

import (
	"context"
	"os"

	"github.com/segstore/segstore/segment/archive"
	"github.com/spf13/cobra"
)

func (a *app) indexCheckVerb() *cobra.Command {
	var o struct {
		temp   string
		memory uint64
	}
	c := verb{
		use: "check DIR [INDEX...]", short: "Compare indexes with the rows, both ways",
		long: `Check reads the rows of each index named, or of all, and compares: every row's key has
its entry, every entry has the key of its row. Each flaw is a line with index, row,
table and key; --json lists the first 1000. Entries that rewinds and prunes left are
counted, and no flaws: look-ups compare with the row.

The archive is only read. Keys are sorted in --memory; what does not fit goes into files
of 13 bytes a row in --temp, which are removed. A writer may be at work: readers'
look-ups use the copy that it left last and read the rows behind it, and that copy is
what is checked.

Exit code 3 says that entries are wrong or files of an index damaged, 4 that an index is
not there or was never built, 1 that one is stale: built of other rows, or lacking more
than look-ups read. The command that mends it is the last line.`,
		example: "  segtool index check chain\n  segtool index check --json chain transaction_hash",
		codes:   []int{codeFine, codeFailed, codeUsage, codeCorrupt, codeMissing},
		args:    cobra.MinimumNArgs(1),
		run: func(ctx context.Context, args []string) error {
			return a.readArchive(args[0], func(ar *archive.Archive) error {
				return a.checkIndexes(ctx, ar, args[0], args[1:], archive.CheckIndexOptions{MemoryBytes: int(o.memory), TempDir: o.temp})
			})
		},
	}.command()
	textFlag(c, &o.temp, "temp", "directory for temporary files (default that of the system)", nil)
	bytesFlag(c, &o.memory, "memory", "64MiB", 1<<20, 1<<40, "memory for sorting")
	return c
}

// maxListed is how many flaws of an index --json lists: they would not end in memory.
const maxListed = 1000

// indexesChecked is the result of index check.
type indexesChecked struct {
	Indexes []archive.IndexCheck `json:"indexes"`
	Flaws   []archive.IndexFlaw  `json:"flaws"` // the first 1000
	Next    []string             `json:"next,omitempty"`
}

func (a *app) checkIndexes(ctx context.Context, ar *archive.Archive, dir string, names []string, o archive.CheckIndexOptions) error {
	if len(names) == 0 {
		for _, i := range ar.Indexes() {
			names = append(names, i.Name)
		}
	}
	if len(names) == 0 {
		return missingf("the archive has no index: %s", buildCommand(dir))
	}
	if o.TempDir == "" {
		o.TempDir = os.TempDir()
	}
	all := indexesChecked{Indexes: []archive.IndexCheck{}, Flaws: []archive.IndexFlaw{}}
	o.Flaw = func(f archive.IndexFlaw) {
		if len(all.Flaws) < maxListed {
			all.Flaws = append(all.Flaws, f)
		}
		if !a.json {
			a.printf("%s\n", f.Error())
		}
	}
	p := a.progress("check")
	defer p.end()
	code := codeFine
	for _, name := range names {
		p.next(name, inRows)
		o.Progress = func(rows, of uint64) { p.set(int64(rows), int64(of)) }
		c, err := ar.CheckIndex(ctx, name, o)
		if err != nil {
			return err
		}
		all.Indexes = append(all.Indexes, c)
		code = worse(code, statusCode(c.Status))
	}
	p.end()
	if code != codeFine {
		all.Next = []string{buildCommand(dir)}
	}
	if err := a.result(all, func() { a.indexesChecked(all) }); err != nil {
		return err
	}
	if code != codeFine {
		return &exitError{code, nil}
	}
	return nil
}

// buildCommand is what makes all indexes of an archive anew.
func buildCommand(dir string) string { return "segtool index build " + quote(dir) }

// statusCode returns the exit code that an index is worth.
func statusCode(s archive.IndexStatus) int {
	switch s {
	case archive.IndexWhole:
		return codeFine
	case archive.IndexDamaged:
		return codeCorrupt
	case archive.IndexMissing:
		return codeMissing
	}
	return codeFailed
}

// worse returns the exit code that says more: corruption before what is missing, that
// before what failed.
func worse(a, b int) int {
	for _, c := range []int{codeCorrupt, codeMissing} {
		if a == c || b == c {
			return c
		}
	}
	return max(a, b)
}

func (a *app) indexesChecked(all indexesChecked) {
	g := newGrid("index", "status", ">rows", ">behind", ">keys", ">entries", ">no entry", ">no key", ">left")
	for _, c := range all.Indexes {
		g.add(c.Name, string(c.Status), count(c.Rows), none(c.Behind), count(c.Keys), count(c.Entries), none(c.NoEntry), none(c.NoKey), none(c.Left))
		if c.Reason != "" {
			g.note("  " + shown(c.Reason))
		}
	}
	g.print(a, "")
	for _, n := range all.Next {
		a.printf("next: %s\n", n)
	}
}
