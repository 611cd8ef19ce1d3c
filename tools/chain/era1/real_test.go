package era1_test

import (
	"bytes"
	"testing"

	"github.com/segstore/segstore/tools/chain"
	"github.com/segstore/segstore/tools/chain/chaintest"
	"github.com/segstore/segstore/tools/chain/era1"
	"github.com/segstore/segstore/tools/chain/ethereum"
)

var realFiles = []string{"mainnet-00000-5ec1ffb8.era1", "mainnet-00001-a5364e9a.era1", "sepolia-00021-b8814b14.era1"}

// Every real file comes back as it was, alone; so do two of one chain that share an archive, whose blocks then have
// their numbers as row numbers.
func TestRealIdentical(t *testing.T) {
	for _, tc := range []struct {
		files         []string
		first, blocks uint64
		transactions  uint64
	}{
		{realFiles[:1], 0, 8192, 0},
		{realFiles[1:2], 8192, 8192, 0},
		{realFiles[2:3], 21 * 8192, 8192, 93},
		{realFiles[:2], 0, 16384, 0},
		{[]string{realFiles[0], realFiles[2]}, 0, 16384, 93},
	} {
		var files []chain.File
		for _, name := range tc.files {
			files = append(files, chaintest.DataFile(t, "era1/"+name))
		}
		m, report := chaintest.Import(t, era1.Importer{}, files...)
		if m.FirstRow("blocks") != tc.first || m.Rows("blocks") != tc.blocks || m.Rows("transactions") != tc.transactions ||
			m.Rows("receipts") != tc.transactions || m.FirstRow("transactions") != 0 {
			t.Errorf("%v: tables %+v", tc.files, report.Tables)
		}
		out, exported := chaintest.Export(t, era1.Exporter{}, m)
		for i, name := range tc.files {
			if !bytes.Equal(out.Files[name], chaintest.ReadAll(t, files[i])) {
				t.Errorf("%v: %s is not what it was", tc.files, name)
			}
			if e := exported.Files[i]; e.Match != chain.Identical || e.File != name || report.Sources[i].Restore != chain.Identical {
				t.Errorf("%v: reports %+v, %+v", tc.files, e, report.Sources[i])
			}
		}
	}
}

// Genesis of mainnet: its number, and the difficulty that everybody knows, 17,179,869,184.
func TestRealGenesis(t *testing.T) {
	m, _ := chaintest.Import(t, era1.Importer{}, chaintest.DataFile(t, "era1/"+realFiles[0]))
	td := m.Column(ethereum.BlocksTable, "total_difficulty")[0]
	want := make([]byte, 32)
	want[4] = 4 // 4 << 32
	if !bytes.Equal(td, want) {
		t.Errorf("total difficulty of genesis: %x", td)
	}
	for n, row := range m.Column(ethereum.BlocksTable, "number") {
		if row[0] != byte(n) || row[1] != byte(n>>8) {
			t.Fatalf("row %d is block %x", n, row)
		}
	}
}

// The first file of Sepolia, from the tests of go-ethereum.
func TestSepoliaGenesis(t *testing.T) {
	f := chaintest.ModuleFile(t, "github.com/ethereum/go-ethereum@v1.17.10/core/rawdb/eradb/testdata/sepolia-00000-643a00f7.era1")
	m, report := chaintest.Import(t, era1.Importer{}, f)
	if m.FirstRow("blocks") != 0 || m.Rows("blocks") != 8192 {
		t.Errorf("%+v", report.Tables)
	}
	out, exported := chaintest.Export(t, era1.Exporter{}, m)
	if e := exported.Files[0]; e.Match != chain.Identical || !bytes.Equal(out.Files[e.File], chaintest.ReadAll(t, f)) {
		t.Errorf("%+v", e)
	}
}
