package era1_test

import (
	"testing"

	"github.com/segstore/segstore/tools/chain/chaintest"
	"github.com/segstore/segstore/tools/chain/era1"
)

var benchFiles = []string{"era1/mainnet-00000-5ec1ffb8.era1", "era1/sepolia-00021-b8814b14.era1"}

func BenchmarkImport(b *testing.B) { chaintest.BenchImport(b, era1.Importer{}, benchFiles...) }

func BenchmarkExport(b *testing.B) {
	chaintest.BenchExport(b, era1.Importer{}, era1.Exporter{}, benchFiles...)
}
