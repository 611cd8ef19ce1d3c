package rlp_test

import (
	"testing"

	"github.com/segstore/segstore/tools/chain/chaintest"
	"github.com/segstore/segstore/tools/chain/rlp"
)

var benchFiles = []string{"eth/bench-mainnet.rlps", "eth/early-headers.rlps"}

func BenchmarkImport(b *testing.B) { chaintest.BenchImport(b, rlp.Importer{}, benchFiles...) }

func BenchmarkExport(b *testing.B) {
	chaintest.BenchExport(b, rlp.Importer{}, rlp.Exporter{}, benchFiles...)
}
