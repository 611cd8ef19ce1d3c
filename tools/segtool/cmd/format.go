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

// importOptions are what importers of one format need.
type importOptions struct {
	table, columns  string // jsonl
	maxLine         uint64 // jsonl
	magic, key      string // blk
	keepJunk, trust bool   // blk
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
		if o.columns == "" {
			return nil, fmt.Errorf("--from jsonl needs --columns name:kind,…")
		}
		columns, err := jsonl.ParseColumns(o.columns)
		if err != nil {
			return nil, err
		}
		return jsonl.Importer{Table: o.table, Columns: columns}, nil
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
