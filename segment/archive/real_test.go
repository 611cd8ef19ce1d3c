package archive_test

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/segstore/segstore/codec"
	"github.com/segstore/segstore/codec/ethereum"
	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/segment/archive"
	"github.com/segstore/segstore/tools/chain/chaintest"
	"github.com/segstore/segstore/tools/chain/rlp"
)

// realTables returns blocks of Ethereum's mainnet with their transactions and receipts,
// and how many blocks these are.
func realTables(t testing.TB) (tables []testTable, blocks int) {
	t.Helper()
	p, err := codec.Profile(codec.DefaultProfile)
	if err != nil {
		t.Fatal(err)
	}
	m, _ := chaintest.Import(t, rlp.Importer{}, chaintest.DataFile(t, "eth/bench-mainnet.rlps"))
	for _, spec := range m.Tables() {
		tab := testTable{spec: archive.TableSpec{Name: spec.Name, Schema: spec.Schema, FirstRow: spec.FirstRow, Policy: p}}
		for n := range m.Rows(spec.Name) {
			tab.rows = append(tab.rows, m.Row(spec.Name, spec.FirstRow+n))
		}
		tables = append(tables, tab)
		if spec.Name == "blocks" {
			blocks = len(tab.rows)
		}
	}
	return tables, blocks
}

// emptied returns the tables without rows.
func emptied(tables []testTable) (all []testTable) {
	for _, tab := range tables {
		all = append(all, testTable{spec: tab.spec})
	}
	return all
}

// commitShare commits the ith of n shares of all rows.
func commitShare(t testing.TB, a *archive.Archive, tables []testTable, i, n int) {
	t.Helper()
	b := a.Batch()
	for _, tab := range sharesOf(tables, i, n) {
		if err := b.Append(tab.spec.Name, tab.rows...); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// sharesOf returns share i, of n, of each table's rows.
func sharesOf(tables []testTable, i, n int) (shares []testTable) {
	for _, tab := range tables {
		tab.rows = tab.rows[len(tab.rows)*i/n : len(tab.rows)*(i+1)/n]
		shares = append(shares, tab)
	}
	return shares
}

// importLive appends all rows, in as many commits as there are blocks, and seals them.
func importLive(t testing.TB, fs vfs.FS, dir string, tables []testTable, blocks int) archive.Info {
	t.Helper()
	mustBuild(t, fs, dir, archive.CreateOptions{}, emptied(tables))
	a := mustOpen(t, fs, dir, archive.Options{SealBytes: -1})
	for i := range blocks {
		commitShare(t, a, tables, i, blocks)
	}
	if err := a.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	info := a.Info()
	mustClose(t, a)
	return info
}

func rawBytes(tables []testTable) (n int64) {
	for _, tab := range tables {
		for _, row := range tab.rows {
			for _, v := range row {
				n += int64(len(v))
			}
		}
	}
	return n
}

// Real rows that were committed block by block and sealed take what a bulk import makes of
// them, within 0.5 %, in every table; and they are the same rows.
func TestSealedSize(t *testing.T) {
	if testing.Short() {
		t.Skip("compresses all real rows twice over")
	}
	tables, blocks := realTables(t)
	fs := vfs.NewMem()
	live, bulk := importLive(t, fs, "/live", tables, blocks), mustBuild(t, fs, "/bulk", archive.CreateOptions{}, tables)
	if live.Rows != bulk.Rows || live.RawBytes != bulk.RawBytes || live.StoredBytes == 0 {
		t.Fatalf("sealed %d rows of %d bytes, in bulk %d of %d", live.Rows, live.RawBytes, bulk.Rows, bulk.RawBytes)
	}
	for i, b := range bulk.Tables {
		l := live.Tables[i]
		t.Logf("%s: sealed %d bytes, in bulk %d", l.Table, l.StoredBytes, b.StoredBytes)
		if l.Table != b.Table || math.Abs(float64(l.StoredBytes)-float64(b.StoredBytes)) > 0.005*float64(b.StoredBytes) {
			t.Errorf("%s: sealed %d bytes, in bulk %d", l.Table, l.StoredBytes, b.StoredBytes)
		}
	}
	a := mustOpen(t, fs, "/live", archive.Options{ReadOnly: true})
	defer mustClose(t, a)
	if err := compareRows(a, tables, false); err != nil {
		t.Fatal(err)
	}
}

// realArchive is real rows in segments on the disk, with transactions found by hash, and
// nothing cached but by the system.
func realArchive(b *testing.B, profile string) (*archive.Archive, []segment.Row) {
	b.Helper()
	p, err := codec.Profile(profile)
	if err != nil {
		b.Fatal(err)
	}
	tables, _ := realTables(b)
	var rows []segment.Row
	for i := range tables {
		if tables[i].spec.Policy = p; tables[i].spec.Name == "transactions" {
			rows = tables[i].rows
		}
	}
	dir := filepath.Join(b.TempDir(), "chain")
	mustBuild(b, vfs.Default, dir, archive.CreateOptions{}, tables)
	a := mustOpen(b, vfs.Default, dir, archive.Options{CacheBytes: -1, KeyFunctions: ethereum.KeyFunctions()})
	if err := a.CreateIndex(b.Context(), archive.IndexSpec{Name: "hash", Table: "transactions", Key: key(b, "keccak256(transaction)")}, nil); err != nil {
		b.Fatal(err)
	}
	return a, rows
}
