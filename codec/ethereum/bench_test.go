package ethereum

import (
	"fmt"
	"testing"

	"golang.org/x/crypto/sha3"
)

// BenchmarkKeccak256 pairs the key function with the bare hash, for a plain
// transfer, a header and a contract call of many arguments.
func BenchmarkKeccak256(b *testing.B) {
	f := keccak256(b)
	for _, size := range []int{110, 550, 5000} {
		value, dst := make([]byte, size), make([]byte, 0, hashBytes)
		b.Run(fmt.Sprintf("size=%d/ours", size), func(b *testing.B) {
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := f.Append(dst, value); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("size=%d/bare", size), func(b *testing.B) {
			h := sha3.NewLegacyKeccak256()
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				h.Reset()
				h.Write(value)
				h.Sum(dst)
			}
		})
	}
}
