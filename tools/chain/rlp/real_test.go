package rlp_test

import (
	"bytes"
	"testing"

	"github.com/segstore/segstore/tools/chain"
	"github.com/segstore/segstore/tools/chain/chaintest"
	"github.com/segstore/segstore/tools/chain/ethereum"
	"github.com/segstore/segstore/tools/chain/rlp"
)

// Sums of the bytes of all values, counted by another program that reads RLP.
var realFiles = []struct {
	name                                         string
	first, blocks, transactions                  uint64
	headerBytes, transactionBytes, receiptsBytes int
}{
	{"fixture-small.rlps", 0, 55, 1638, 29831, 511389, 884454},
	{"bench-mainnet.rlps", 0, 85, 22715, 47168, 7530834, 11851169},
	{"early-headers.rlps", 1, 20999, 0, 11275252, 0, 0},
}

func sum(values [][]byte) (n int) {
	for _, v := range values {
		n += len(v)
	}
	return n
}

func TestRealIdentical(t *testing.T) {
	for _, want := range realFiles {
		f := chaintest.DataFile(t, "eth/"+want.name)
		m, report := chaintest.Import(t, rlp.Importer{}, f)
		headers := sum(m.Column(ethereum.BlocksTable, "header"))
		txs := sum(m.Column(ethereum.TransactionsTable, "transaction"))
		receipts := sum(m.Column(ethereum.ReceiptsTable, "receipt"))
		if headers != want.headerBytes || txs != want.transactionBytes || receipts != want.receiptsBytes {
			t.Errorf("%s: %d bytes of headers, %d of transactions, %d of receipts", want.name, headers, txs, receipts)
		}
		if m.FirstRow("blocks") != want.first || m.Rows("blocks") != want.blocks ||
			m.Rows("transactions") != want.transactions || m.Rows("receipts") != want.transactions {
			t.Errorf("%s: tables %+v", want.name, report.Tables)
		}
		if s := report.Sources[0]; s.Format != "rlps" || s.Restore != chain.Identical {
			t.Errorf("%s: %+v", want.name, s)
		}
		original := chaintest.ReadAll(t, f)
		out, exported := chaintest.Export(t, rlp.Exporter{}, m)
		if !bytes.Equal(out.Files[want.name], original) || exported.Files[0].Match != chain.Identical {
			t.Errorf("%s does not come back: %+v", want.name, exported.Files[0])
		}

		// The same blocks in geth's form, imported, and written again.
		geth, converted := chaintest.Export(t, rlp.Exporter{Form: ethereum.Geth}, m)
		e := converted.Files[0]
		if e.Match != chain.Converted {
			t.Errorf("%s to geth: %+v", want.name, e)
		}
		g, report := chaintest.Import(t, rlp.Importer{}, chaintest.BytesFile(e.File, geth.Files[e.File]))
		if report.Sources[0].Format != "geth" || ethereum.HasReceipts(g) {
			t.Errorf("%s in geth's form: %+v", want.name, report)
		}
		again, exported := chaintest.Export(t, rlp.Exporter{}, g)
		if !bytes.Equal(again.Files[e.File], geth.Files[e.File]) || exported.Files[0].Match != chain.Identical {
			t.Errorf("%s in geth's form does not come back: %+v", want.name, exported.Files[0])
		}
	}
}

// Files that geth itself exported, from the tests of go-ethereum: a short old chain with its genesis, and one with withdrawals
// and transactions of the types 0 to 4. Counted by another program that reads RLP.
func TestGethExports(t *testing.T) {
	for _, tc := range []struct {
		name                        string
		first, blocks, transactions uint64
	}{
		{"cmd/geth/testdata/blockchain.blocks", 0, 33, 32},
		{"cmd/devp2p/internal/ethtest/testdata/chain.rlp", 1, 600, 612},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := chaintest.ModuleFile(t, "github.com/ethereum/go-ethereum@v1.17.10/"+tc.name)
			m, report := chaintest.Import(t, rlp.Importer{}, f)
			if m.FirstRow("blocks") != tc.first || m.Rows("blocks") != tc.blocks || m.Rows("transactions") != tc.transactions {
				t.Errorf("%+v", report.Tables)
			}
			out, exported := chaintest.Export(t, rlp.Exporter{}, m)
			if e := exported.Files[0]; e.Match != chain.Identical || !bytes.Equal(out.Files[e.File], chaintest.ReadAll(t, f)) {
				t.Errorf("%+v", e)
			}
		})
	}
}
