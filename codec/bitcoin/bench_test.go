package bitcoin

import (
	"crypto/sha256"
	"testing"
)

// BenchmarkKeys pairs each key function with the bare double SHA-256 of the bytes
// that it hashes: what is over it is the reading of the transaction.
func BenchmarkKeys(b *testing.B) {
	segwit := unhex(b, segwitTx)
	t, err := parse(segwit)
	if err != nil {
		b.Fatal(err)
	}
	stripped := append(append(append([]byte{}, segwit[:versionBytes]...), segwit[t.inputs:t.witness]...), segwit[len(segwit)-lockBytes:]...)
	for _, c := range []struct {
		name, function string
		value, hashed  []byte
	}{
		{"header", "sha256d", unhex(b, genesisHeader), unhex(b, genesisHeader)},
		{"txid", "btc-txid", unhex(b, genesisTx), unhex(b, genesisTx)},
		{"txid-segwit", "btc-txid", segwit, stripped},
		{"wtxid", "btc-wtxid", segwit, segwit},
	} {
		f, dst := function(b, c.function), make([]byte, 0, sha256.Size)
		b.Run(c.name+"/ours", func(b *testing.B) {
			b.SetBytes(int64(len(c.value)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := f.Append(dst, c.value); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(c.name+"/bare", func(b *testing.B) {
			b.SetBytes(int64(len(c.value)))
			b.ReportAllocs()
			for b.Loop() {
				once := sha256.Sum256(c.hashed)
				twice := sha256.Sum256(once[:])
				_ = append(dst, twice[:]...)
			}
		})
	}
}
