package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/segstore/segstore/codec/bitcoin"
	"github.com/segstore/segstore/codec/ethereum"
	"github.com/segstore/segstore/segment/archive"
	"github.com/segstore/segstore/tools/segtool/cmd"
)

// Every block and transaction of all real files is found by its hash as explorers print
// it, in the row where it is: hashes and rows are taken from the files themselves. Each
// is looked up as get --key does it; some of each table are asked of get itself. Those
// named here are what explorers show.
func TestEveryHashIsFound(t *testing.T) {
	data := dataDir(t)
	if data == "" {
		t.Skip("no real data: set SEGSTORE_DATA")
	}
	covered := map[string]bool{}
	for _, c := range []struct {
		format, file         string
		read                 func(*originals, *testing.T, []byte)
		blocks, transactions int // as DATA.md of the files counts them, where it does
		known                []string
	}{
		{"rlp", "eth/fixture-small.rlps", (*originals).rlps, 55, 1638, nil},
		{"rlp", "eth/bench-mainnet.rlps", (*originals).rlps, 85, 22715, nil},
		{"rlp", "eth/early-headers.rlps", (*originals).rlps, 20999, 0, []string{"0x88e96d4537bea4d9c05d12549907b32561d3bf31f45aae734cdc119f13406cb6"}},         // block 1
		{"era1", "era1/mainnet-00000-5ec1ffb8.era1", (*originals).era1, 8192, 0, []string{"D4E56740f876aef8c010b86a40d5f56745a118d0906a34e69aec8c0db1cb8fa3"}}, // genesis, as someone may type it
		{"era1", "era1/mainnet-00001-a5364e9a.era1", (*originals).era1, 8192, 0, nil},
		{"era1", "era1/sepolia-00021-b8814b14.era1", (*originals).era1, 8192, 93, nil},
		{"blk", "btc/blk_0_to_14131.dat", (*originals).blk, 14132, -1, []string{
			"000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f", // genesis, and its coinbase
			"4a5e1e4baab89f3a32518a88c31bc87f618f76673e2cc77ab2127b7afdeda33b",
		}},
		{"blk", "btc/mainnet-large.dat", (*originals).blk, 22, 28560, nil},
		{"blk", "btc/block300025.raw", (*originals).blk, 1, -1, nil},
		{"geth", "freezer/geth-dev-chain/chain", nil, 33, 25, nil},
	} {
		covered[c.file] = true
		t.Run(c.file, func(t *testing.T) {
			t.Parallel()
			dir, src := t.TempDir(), filepath.Join(data, filepath.FromSlash(c.file))
			var want originals
			if c.read != nil {
				b, err := os.ReadFile(src)
				if err != nil {
					t.Fatal(err)
				}
				c.read(&want, t, b)
			} else {
				var stream []byte
				stream, want = freezerStream(t, src)
				src = filepath.Join(dir, "stream.rlp")
				if err := os.WriteFile(src, stream, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if len(want.blocks) != c.blocks || c.transactions >= 0 && len(want.transactions) != c.transactions {
				t.Fatalf("the file has %d blocks and %d transactions", len(want.blocks), len(want.transactions))
			}
			chain := filepath.Join(dir, "chain")
			segtool(t, "import", "--from", c.format, "--profile", "hot", src, chain)
			segtool(t, "index", "build", chain)
			segtool(t, "index", "check", "--memory", "1MiB", chain)
			findAll(t, chain, "blocks", want.blocks)
			findAll(t, chain, "transactions", want.transactions)
			for _, k := range c.known {
				segtool(t, "get", chain, "--key", k)
			}
		})
	}
	err := filepath.WalkDir(data, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(data, path)
		rel = filepath.ToSlash(rel)
		switch {
		case err != nil || strings.HasPrefix(d.Name(), "holdout.") || !strings.Contains(rel, "/") || covered[rel]:
		case strings.HasPrefix(rel, "freezer/geth-dev-chain/"): // one chain; state has no hashes of its own
		case !d.IsDir():
			t.Errorf("no hash of %s is looked up", rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

const asked = 25 // of a table, of the verb itself

// findAll wants the rows of a table to be found by their hashes.
func findAll(t *testing.T, dir, table string, want []original) {
	t.Helper()
	if len(want) == 0 {
		return
	}
	a, err := archive.Open(vfs.Default, dir, archive.Options{ReadOnly: true, KeyFunctions: slices.Concat(ethereum.KeyFunctions(), bitcoin.KeyFunctions())})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	v, err := a.View()
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	tab, err := v.Table(table)
	if err != nil {
		t.Fatal(err)
	}
	var index archive.IndexInfo
	for _, i := range a.Indexes() {
		if i.Table == table && strings.Contains(i.Key.String(), "(") { // not that of numbers
			index = i
		}
	}
	column, err := tab.Column(index.Key.Column)
	if err != nil {
		t.Fatalf("%v: indexes are %+v", err, a.Indexes())
	}
	if n := tab.EndRow() - tab.FirstRow(); n != uint64(len(want)) {
		t.Fatalf("%s has %d rows, the file %d", table, n, len(want))
	}
	var value []byte
	for i, o := range want {
		key, err := v.Key(index.Name, o.hash)
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for n, err := range v.All(index.Name, key) {
			if err != nil {
				t.Fatalf("%s: %v", o.hash, err)
			}
			if found = found || n == tab.FirstRow()+uint64(i); found {
				break
			}
		}
		if !found {
			t.Fatalf("%s, row %d: %s is not found", table, i, o.hash)
		}
		if value, err = column.Value(value[:0], tab.FirstRow()+uint64(i)); err != nil || !bytes.Equal(value, o.bytes) {
			t.Fatalf("%s: other bytes than the file has: %v", o.hash, err)
		}
		if i%(len(want)/asked+1) == 0 {
			getKey(t, dir, index, o)
		}
	}
	t.Logf("%s: %d keys", table, len(want))
}

// getKey asks the verb, in this process.
func getKey(t *testing.T, dir string, index archive.IndexInfo, o original) {
	t.Helper()
	out, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if code := cmd.Main([]string{"get", dir, "--key", o.hash, "--index", index.Name, "--column", index.Key.Column, "--raw"}, os.Stdin, out, os.Stderr); code != 0 {
		t.Fatalf("get --key %s: exit code %d", o.hash, code)
	}
	if b, err := os.ReadFile(out.Name()); err != nil || !bytes.Equal(b, o.bytes) {
		t.Fatalf("get --key %s printed %d bytes, the file has %d: %v", o.hash, len(b), len(o.bytes), err)
	}
}
