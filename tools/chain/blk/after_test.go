package blk

import (
	"errors"
	"testing"

	"github.com/segstore/segstore/tools/chain"
	"github.com/segstore/segstore/tools/chain/chaintest"
)

// Files go one behind the other, in any order, with key file and raw blocks.
func TestInParts(t *testing.T) {
	key := Key{1, 2, 3, 4, 5, 6, 7, 8}
	file := func(name string, b []byte) chain.File { return chaintest.BytesFile(name, b) }
	chaintest.InParts(t, Importer{Key: &key}, Exporter{}, chain.ImportOptions{},
		file("blk00001.dat", obfuscate(framed(mainnet, blockOne(t)), key)),
		file(KeyFile, key[:]),
		file("blk00000.dat", obfuscate(join(framed(mainnet, genesis(t)), zeros(100)), key)))
	chaintest.InParts(t, Importer{}, Exporter{}, chain.ImportOptions{},
		chaintest.DataFile(t, "btc/mainnet-large.dat"), chaintest.DataFile(t, "btc/block300025.raw"), chaintest.DataFile(t, "btc/blk_0_to_14131.dat"))
}

// What an import that was cut short has left is refused, unless gaps are allowed.
func TestAfterGap(t *testing.T) {
	one, two := chaintest.BytesFile("a.raw", genesis(t)), chaintest.BytesFile("b.raw", blockOne(t))
	m, _ := chaintest.Import(t, Importer{}, one, two)
	m.Cut(chain.SourcesTable, 1)
	_, err := chaintest.ImportAfter(t, m, Importer{}, chain.ImportOptions{}, two)
	var gap *chain.GapError
	if !errors.As(err, &gap) || gap.First != 1 || gap.End != 2 || gap.Ends[BlocksTable] != 1 || gap.Ends[TransactionsTable] != 1 || len(gap.Ends) != 2 {
		t.Fatalf("%v: %+v", err, gap)
	}
	if r, err := chaintest.ImportAfter(t, m, Importer{}, chain.ImportOptions{AllowGap: true}, two); err != nil || r.Sources[0].FirstBlock != 2 {
		t.Fatal(r, err)
	}
	m.Cut(TransactionsTable, 1)
	if _, err := chaintest.ImportAfter(t, m, Importer{}, chain.ImportOptions{AllowGap: true}, two); !errors.Is(err, chain.ErrTables) {
		t.Error(err)
	}
}
