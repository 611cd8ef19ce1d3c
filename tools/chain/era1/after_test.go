package era1_test

import (
	"strings"
	"testing"

	"github.com/segstore/segstore/tools/chain"
	"github.com/segstore/segstore/tools/chain/chaintest"
	"github.com/segstore/segstore/tools/chain/era1"
)

// The second file goes behind the first, and nothing else does.
func TestInParts(t *testing.T) {
	zero, one := chaintest.DataFile(t, "era1/mainnet-00000-5ec1ffb8.era1"), chaintest.DataFile(t, "era1/mainnet-00001-a5364e9a.era1")
	chaintest.InParts(t, era1.Importer{}, era1.Exporter{}, chain.ImportOptions{}, zero, one)
	m, _ := chaintest.Import(t, era1.Importer{}, one)
	for _, f := range []chain.File{zero, one, chaintest.DataFile(t, "era1/sepolia-00021-b8814b14.era1")} {
		_, err := chaintest.ImportAfter(t, m, era1.Importer{}, chain.ImportOptions{}, f)
		if err == nil || !strings.Contains(err.Error(), "at byte 8: expected block 16384, behind the last one stored: found block ") {
			t.Errorf("%s: %v", f.Name, err)
		}
	}
}
