//go:build !race

package bitcoin

import (
	"crypto/sha256"
	"testing"
)

func TestNoAllocation(t *testing.T) {
	dst := make([]byte, 0, sha256.Size)
	for _, c := range []struct{ function, value string }{
		{"sha256d", genesisHeader}, {"btc-txid", genesisTx}, {"btc-txid", segwitTx}, {"btc-wtxid", segwitTx},
	} {
		f, value := function(t, c.function), unhex(t, c.value)
		if n := testing.AllocsPerRun(1000, func() { _, _ = f.Append(dst, value) }); n != 0 {
			t.Errorf("%s: %v allocations a call", c.function, n)
		}
	}
}
