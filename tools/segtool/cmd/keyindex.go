package cmd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/segstore/segstore/codec"
	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/segment/archive"
	"github.com/spf13/cobra"
)

func (a *app) indexVerb() *cobra.Command {
	c := &cobra.Command{
		Use: "index", Short: "Find rows by key",
		Long: `An index finds the rows of a table by a function of a column: a transaction by its
hash, a block by its number. It is made of the rows alone, kept in step with them, and
can be made anew at any time.`,
		Example: "  segtool index build chain\n  segtool index list chain\n  segtool index check chain\n  segtool get chain --key 0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060",
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return usagef("index needs a verb: build, list or check") },
	}
	c.AddCommand(a.indexBuildVerb(), a.indexListVerb(), a.indexCheckVerb())
	return c
}

func (a *app) indexBuildVerb() *cobra.Command {
	var add []string
	c := verb{
		use: "build DIR [--add TABLE.NAME=KEY]...", short: "Make indexes of all rows",
		long: `Build makes every index that the archive has anew, and those that --add names; in an
archive that has none, those that its columns suggest: hashes of blocks and
transactions, numbers of blocks.

--add is TABLE.NAME=KEY, where NAME is unique in the archive and KEY is a column or a
function of one:
  keccak256(C)   Ethereum's hash of headers and transactions
  sha256d(C)     Bitcoin's hash of headers
  btc-txid(C)    Bitcoin's transaction ids; btc-wtxid(C) those with the witness`,
		example: "  segtool index build chain\n  segtool index build logs --add rows.host=host",
		codes:   []int{codeFine, codeFailed, codeUsage, codeCorrupt, codeMissing},
		args:    cobra.ExactArgs(1),
		run: func(ctx context.Context, args []string) error {
			specs, err := indexSpecs(add)
			if err != nil {
				return err
			}
			return a.changeArchive(args[0], func(ar *archive.Archive) error { return a.buildIndexes(ctx, ar, specs) })
		},
	}.command()
	listFlag(c, &add, "add", false, "index to add: TABLE.NAME=KEY")
	return c
}

// indexSpecs reads TABLE.NAME=KEY.
func indexSpecs(texts []string) (specs []archive.IndexSpec, err error) {
	for _, t := range texts {
		name, def, ok := strings.Cut(t, "=")
		table, name, dot := strings.Cut(name, ".")
		if !ok || !dot {
			return nil, usagef("--add %q is not TABLE.NAME=KEY", t)
		}
		k, err := codec.ParseKeyDefinition(def)
		if err == nil {
			err = segment.ValidateName(name)
		}
		if err != nil {
			return nil, usagef("--add %q: %w", t, err)
		}
		specs = append(specs, archive.IndexSpec{Name: name, Table: table, Key: k})
	}
	return specs, nil
}

// suggested returns the indexes that the columns of tables suggest.
func suggested(tables []archive.TableInfo) (specs []archive.IndexSpec) {
	functions := map[string]string{"eth-header": "keccak256", "eth-tx": "keccak256", "btc-header": "sha256d", "btc-tx": "btc-txid"}
	names := map[string]string{"blocks": "block", "transactions": "transaction"}
	for _, t := range tables {
		name := names[t.Table]
		if name == "" {
			continue
		}
		for _, c := range t.Schema.Columns {
			if f := functions[c.Format]; f != "" {
				specs = append(specs, archive.IndexSpec{Name: name + "_hash", Table: t.Table, Key: codec.KeyDefinition{Function: f, Column: c.Name}})
			}
			if c.Name == "number" && c.Kind == segment.Uint {
				specs = append(specs, archive.IndexSpec{Name: name + "_number", Table: t.Table, Key: codec.KeyDefinition{Column: c.Name}})
			}
		}
	}
	return specs
}

func (a *app) buildIndexes(ctx context.Context, ar *archive.Archive, specs []archive.IndexSpec) error {
	have := ar.Indexes()
	if len(have) == 0 && len(specs) == 0 {
		if specs = suggested(ar.Tables()); len(specs) == 0 {
			return usagef("the columns of this archive suggest no index: --add one")
		}
	}
	p := a.progress("index")
	defer p.end()
	follow := func(name string) func(rows, of uint64) {
		p.next(name, inRows)
		return func(rows, of uint64) { p.set(int64(rows), int64(of)) }
	}
	for _, i := range have {
		if err := ar.BuildIndex(ctx, i.Name, follow(i.Name)); err != nil {
			return err
		}
	}
	for _, s := range specs {
		if err := ar.CreateIndex(ctx, s, follow(s.Name)); err != nil {
			return err
		}
	}
	p.end()
	return a.indexes(ar)
}

func (a *app) indexListVerb() *cobra.Command {
	return verb{
		use: "list DIR", short: "List indexes, and whether they have all rows",
		long: `List prints each index of an archive, what it is of, and how many rows it finds. Exit
code 1 says that one of them does not find all rows: build makes it anew.`,
		example: "  segtool index list chain",
		codes:   []int{codeFine, codeFailed, codeUsage, codeCorrupt, codeMissing},
		args:    cobra.ExactArgs(1),
		run: func(_ context.Context, args []string) error {
			return a.readArchive(args[0], func(ar *archive.Archive) error {
				if err := a.indexes(ar); err != nil {
					return err
				}
				for _, i := range ar.Indexes() {
					if i.Problem != "" {
						return fmt.Errorf("index %q: %s", i.Name, i.Problem)
					}
				}
				return nil
			})
		},
	}.command()
}

func (a *app) indexes(ar *archive.Archive) error {
	all := ar.Indexes()
	return a.result(struct {
		Indexes []archive.IndexInfo `json:"indexes"`
	}{all}, func() {
		g := newGrid("index", "table", "key", ">rows", ">missing")
		for _, i := range all {
			g.add(i.Name, i.Table, i.Key.String(), count(i.Rows), count(i.Missing))
		}
		g.print(a, "")
	})
}

// getKey prints the rows that have a key, newest first: by the index of that name, or by
// every one that can read the key.
func (a *app) getKey(dir, text, name string, show func(r rows, table string, n uint64) error) error {
	return a.readArchive(dir, func(ar *archive.Archive) error {
		v, err := ar.View()
		if err != nil {
			return err
		}
		defer v.Close()
		var problems error
		found, asked := 0, 0
		for _, i := range ar.Indexes() {
			if name != "" && i.Name != name {
				continue
			}
			k, err := v.Key(i.Name, text)
			if err != nil {
				problems = errors.Join(problems, fmt.Errorf("index %q: %w", i.Name, err))
				continue
			}
			asked++
			t, err := v.Table(i.Table)
			if err != nil {
				return err
			}
			for n, err := range v.All(i.Name, k) {
				if err != nil {
					return err
				}
				found++
				if err := show(t, i.Table, n); err != nil {
					return err
				}
			}
		}
		switch {
		case found > 0:
			return nil
		case asked > 0:
			return missingf("no row has the key %s", text)
		case problems != nil:
			return usage(problems)
		case name != "":
			return missingf("no index %q", name)
		}
		return missingf("the archive has no index: %s", buildCommand(dir))
	})
}
