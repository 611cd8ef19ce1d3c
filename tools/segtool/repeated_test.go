package main

import (
	"context"
	"encoding/hex"
	"errors"
	"path/filepath"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/segstore/segstore/codec"
	"github.com/segstore/segstore/codec/bitcoin"
	"github.com/segstore/segstore/index"
	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/segment/archive"
)

// The coinbase of blocks 91,722 and 91,880 of Bitcoin has one id and two rows: both
// belong into the index, and a check misses the one that is not there.
func TestIndexOfRepeatedIDs(t *testing.T) {
	tx, err := hex.DecodeString("01000000010000000000000000000000000000000000000000000000000000000000000000ffffffff060456720e1b00ffffffff0100f2052a01000000434104124b212f5416598a92ccec88819105179dcb2550d571842601492718273fe0f2179a9695096bff94cd99dcccdea7cd9bd943bfca8fea649cac963411979a33e9ac00000000")
	if err != nil {
		t.Fatal(err)
	}
	const id = "e3bf3d07d4b0375638d5f1db5255fe07ba2c4cb067cd81b84ee974b6585fb468" // as explorers print it
	ctx, dir := context.Background(), filepath.Join(t.TempDir(), "chain")
	b, err := archive.Create(vfs.Default, dir, archive.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Abort()
	spec := archive.TableSpec{Name: "transactions", Schema: segment.Schema{Columns: []segment.Column{{Name: "transaction", Kind: segment.Bytes, Format: "btc-tx"}}}}
	if err := errors.Join(b.Create(spec), b.Append("transactions", segment.Row{tx}), b.Append("transactions", segment.Row{tx})); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Finish(ctx); err != nil {
		t.Fatal(err)
	}
	open := func() *archive.Archive {
		a, err := archive.Open(vfs.Default, dir, archive.Options{KeyFunctions: bitcoin.KeyFunctions()})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	a := open()
	if err := a.CreateIndex(ctx, archive.IndexSpec{Name: "id", Table: "transactions", Key: codec.KeyDefinition{Function: "btc-txid", Column: "transaction"}}, nil); err != nil {
		t.Fatal(err)
	}
	if c, err := a.CheckIndex(ctx, "id", archive.CheckIndexOptions{}); err != nil || c.Status != archive.IndexWhole || c.Keys != 2 || c.Entries != 2 {
		t.Errorf("%+v, %v", c, err)
	}
	v, err := a.View()
	if err != nil {
		t.Fatal(err)
	}
	key, err := v.Key("id", id)
	v.Close()
	if err := errors.Join(err, a.Close()); err != nil {
		t.Fatal(err)
	}
	if err := reload(filepath.Join(dir, "index"), "id", []index.Entry{{Key: key, Row: 1}}); err != nil {
		t.Fatal(err)
	}
	a = open()
	var flaws []archive.IndexFlaw
	c, err := a.CheckIndex(ctx, "id", archive.CheckIndexOptions{Flaw: func(f archive.IndexFlaw) { flaws = append(flaws, f) }})
	if err != nil || c.NoEntry != 1 || len(flaws) != 1 || flaws[0].Row != 0 || flaws[0].Key != hex.EncodeToString(key) {
		t.Errorf("%+v, %v, %v", c, flaws, err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
}
