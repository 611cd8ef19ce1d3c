package cmd

import (
	"fmt"
	"strings"

	"github.com/segstore/segstore/tools/chain"
	"github.com/segstore/segstore/tools/chain/blk"
	"github.com/segstore/segstore/tools/chain/era1"
	"github.com/segstore/segstore/tools/chain/ethereum"
	"github.com/segstore/segstore/tools/chain/jsonl"
	"github.com/segstore/segstore/tools/chain/rlp"
	"github.com/spf13/cobra"
)

// formats are the names that --from and --to know.
func formats() []string { return []string{"era1", "rlp", "geth", "rlps", "blk", "jsonl"} }

// importOptions are what the importers of the formats need.
type importOptions struct {
	from            string
	table, columns  string // jsonl
	maxLine         uint64 // jsonl
	magic, key      string // blk
	keepJunk, trust bool   // blk
}

// formatHelp is for the help of verbs with these flags.
const formatHelp = `Formats:
  era1   Ethereum before the merge, 8192 blocks a file
  rlp    Ethereum blocks in RLP one after another, also gzipped: what geth exports
         (geth), or header, body and receipts (rlps); geth or rlps insists on one
  blk    Bitcoin Core's blkNNNNN.dat, also with its xor.dat, and raw blocks
  jsonl  JSON lines: --columns says which fields and kinds, bytes (text), hex,
         base64, uint or fixed(N); "-" is stdin`

// add adds the flags. The checks come with them, but for the columns of JSON lines: they may be known otherwise.
func (o *importOptions) add(c *cobra.Command) {
	f := c.Flags()
	wordFlag(c, &o.from, "from", "", formats(), "format: "+strings.Join(formats(), ", "))
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
		if _, err := importer(o.from, *o); err != nil {
			return usage(err)
		}
		return nil
	})
}

// needColumns refuses JSON lines of unknown columns.
func (o *importOptions) needColumns() error {
	if o.from == "jsonl" && o.columns == "" {
		return usagef("--from jsonl needs --columns name:kind,…")
	}
	return nil
}

// maxBlock returns the limit of a line of JSON; 0, the importer's own limit, for other
// formats.
func (o *importOptions) maxBlock() int {
	if o.from != "jsonl" {
		return 0
	}
	return int(o.maxLine)
}

// columnsFlag adds the columns of JSON lines.
func (o *importOptions) columnsFlag(c *cobra.Command, help string) {
	textFlag(c, &o.columns, "columns", help, parses(jsonl.ParseColumns))
}

// parses is the check of a flag by what reads its value.
func parses[T any](parse func(string) (T, error)) func(string) error {
	return func(s string) error { _, err := parse(s); return err }
}

// importer returns what reads a format.
func importer(format string, o importOptions) (chain.Importer, error) {
	if format != "jsonl" && (o.table != "" || o.columns != "") {
		return nil, fmt.Errorf("--table and --columns are for --from jsonl")
	}
	if format != "blk" && (o.magic != "" || o.key != "" || o.keepJunk || o.trust) {
		return nil, fmt.Errorf("--magic, --xor-key, --keep-junk and --skip-checks are for --from blk")
	}
	switch format {
	case "era1":
		return era1.Importer{}, nil
	case "rlp":
		return rlp.Importer{}, nil
	case "geth":
		return rlp.Importer{Form: ethereum.Geth}, nil
	case "rlps":
		return rlp.Importer{Form: ethereum.RLPS}, nil
	case "blk":
		im := blk.Importer{KeepJunk: o.keepJunk, SkipChecks: o.trust}
		if o.magic != "" {
			m, err := blk.ParseMagic(o.magic)
			if err != nil {
				return nil, err
			}
			im.Magic = m
		}
		if o.key != "" {
			k, err := blk.ParseKey(o.key)
			if err != nil {
				return nil, err
			}
			im.Key = &k
		}
		return im, nil
	case "jsonl":
		im := jsonl.Importer{Table: o.table}
		if o.columns != "" {
			columns, err := jsonl.ParseColumns(o.columns)
			if err != nil {
				return nil, err
			}
			im.Columns = columns
		}
		return im, nil
	}
	return nil, fmt.Errorf("--from %q is not one of %s", format, strings.Join(formats(), ", "))
}

// exporter returns what writes a format.
func exporter(format string) (chain.Exporter, error) {
	switch format {
	case "era1":
		return era1.Exporter{}, nil
	case "rlp":
		return rlp.Exporter{}, nil
	case "geth":
		return rlp.Exporter{Form: ethereum.Geth}, nil
	case "rlps":
		return rlp.Exporter{Form: ethereum.RLPS}, nil
	case "blk":
		return blk.Exporter{}, nil
	case "jsonl":
		return jsonl.Exporter{}, nil
	}
	return nil, fmt.Errorf("--to %q is not one of %s", format, strings.Join(formats(), ", "))
}
