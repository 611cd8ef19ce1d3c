package main

import (
	"context"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/segstore/segstore/codec"
	"github.com/segstore/segstore/codec/bitcoin"
	"github.com/segstore/segstore/codec/ethereum"
	"github.com/segstore/segstore/segment/archive"
	"github.com/segstore/segstore/tools/chain"
	"github.com/segstore/segstore/tools/chain/blk"
	"github.com/segstore/segstore/tools/chain/chaintest"
	"github.com/segstore/segstore/tools/chain/era1"
	"github.com/segstore/segstore/tools/chain/rlp"
)

// Every block and transaction of the real files is found by its hash, and by no other.
// The hashes themselves are held against go-ethereum's and btcd's in codec/ethereum and
// codec/bitcoin; those named here are what explorers print.
func TestEveryHashIsFound(t *testing.T) {
	functions := slices.Concat(ethereum.KeyFunctions(), bitcoin.KeyFunctions())
	for _, c := range []struct {
		im    chain.Importer
		file  string
		keys  map[string]string // table: definition
		known map[string]string // text: table
	}{
		{rlp.Importer{}, "eth/bench-mainnet.rlps", map[string]string{"blocks": "keccak256(header)", "transactions": "keccak256(transaction)"}, nil},
		{rlp.Importer{}, "eth/early-headers.rlps", map[string]string{"blocks": "keccak256(header)"},
			map[string]string{"0x88e96d4537bea4d9c05d12549907b32561d3bf31f45aae734cdc119f13406cb6": "blocks"}}, // block 1
		{era1.Importer{}, "era1/mainnet-00000-5ec1ffb8.era1", map[string]string{"blocks": "keccak256(header)", "transactions": "keccak256(transaction)"},
			map[string]string{"D4E56740f876aef8c010b86a40d5f56745a118d0906a34e69aec8c0db1cb8fa3": "blocks"}}, // genesis, as someone may type it
		{blk.Importer{}, "btc/blk_0_to_14131.dat", map[string]string{"blocks": "sha256d(header)", "transactions": "btc-txid(transaction)"},
			map[string]string{
				"000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f": "blocks",       // genesis
				"4a5e1e4baab89f3a32518a88c31bc87f618f76673e2cc77ab2127b7afdeda33b": "transactions", // its coinbase
			}},
		{blk.Importer{}, "btc/mainnet-large.dat", map[string]string{"blocks": "sha256d(header)", "transactions": "btc-txid(transaction)"}, nil},
	} {
		t.Run(c.file, func(t *testing.T) {
			m, _ := chaintest.Import(t, c.im, chaintest.DataFile(t, c.file))
			a := stored(t, m, functions)
			defer a.Close()
			ctx := context.Background()
			v := func() *archive.View {
				v, err := a.View()
				if err != nil {
					t.Fatal(err)
				}
				return v
			}
			for table, def := range c.keys {
				k, err := codec.ParseKeyDefinition(def)
				if err != nil {
					t.Fatal(err)
				}
				if err := a.CreateIndex(ctx, archive.IndexSpec{Name: table + "_hash", Table: table, Key: k}, nil); err != nil {
					t.Fatal(err)
				}
				v := v()
				tab, err := v.Table(table)
				if err != nil {
					t.Fatal(err)
				}
				column := tab.Schema().Columns[tab.Schema().Index(k.Column)]
				fn, err := k.Resolve(functions, column.Kind.String(), column.Format)
				if err != nil {
					t.Fatal(err)
				}
				n := tab.FirstRow()
				for row, err := range tab.Rows(n, k.Column) {
					if err != nil {
						t.Fatal(err)
					}
					key, err := fn.Append(nil, row[0])
					if err != nil {
						t.Fatal(err)
					}
					found := false
					for got, err := range v.All(table+"_hash", key) {
						if err != nil {
							t.Fatal(err)
						}
						found = found || got == n
					}
					if !found {
						t.Fatalf("%s, row %d: %s is not found", table, n, fn.Format(key))
					}
					n++
				}
				t.Logf("%s: %d keys", table, n-tab.FirstRow())
				v.Close()
			}
			v0 := v()
			defer v0.Close()
			for text, table := range c.known {
				key, err := v0.Key(table+"_hash", text)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := v0.Lookup(table+"_hash", key); err != nil {
					t.Errorf("%s: %v", text, err)
				}
			}
		})
	}
}

// stored is an archive in memory of what was imported.
func stored(t *testing.T, m *chaintest.Memory, functions []codec.KeyFunction) *archive.Archive {
	t.Helper()
	fs := vfs.NewMem()
	b, err := archive.Create(fs, "/chain", archive.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Abort()
	for _, tab := range m.Tables() {
		if err := b.Create(archive.TableSpec{Name: tab.Name, Schema: tab.Schema, FirstRow: tab.FirstRow}); err != nil {
			t.Fatal(err)
		}
		for row, err := range m.Scan(tab.Name, tab.FirstRow) {
			if err == nil {
				err = b.Append(tab.Name, row)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := b.Finish(context.Background()); err != nil {
		t.Fatal(err)
	}
	a, err := archive.Open(fs, "/chain", archive.Options{KeyFunctions: functions})
	if err != nil {
		t.Fatal(err)
	}
	return a
}
