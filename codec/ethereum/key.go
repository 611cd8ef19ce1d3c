package ethereum

import (
	"hash"
	"sync"

	"golang.org/x/crypto/sha3"

	"github.com/segstore/segstore/codec"
)

// Formats of columns whose values are known by their hash.
const (
	formatHeader      = "eth-header"
	formatTransaction = "eth-tx"
	formatUncles      = "eth-uncles" // by the ommers hash in the header
)

const hashBytes = 32

// KeyFunctions returns keccak256, whose keys are 32 bytes. Its Append never
// fails.
func KeyFunctions() []codec.KeyFunction {
	// A state is 200 bytes and made behind an interface: kept, not made each time.
	states := &sync.Pool{New: func() any { return sha3.NewLegacyKeccak256() }}
	return []codec.KeyFunction{{
		Name:    "keccak256",
		Formats: []string{formatHeader, formatTransaction, formatUncles},
		Append: func(dst, value []byte) ([]byte, error) {
			h := states.Get().(hash.Hash)
			h.Reset()
			_, _ = h.Write(value) // never fails
			dst = h.Sum(dst)
			states.Put(h)
			return dst, nil
		},
		Parse:  func(text string) ([]byte, error) { return codec.ParseHex(text, hashBytes) },
		Format: codec.FormatHex,
	}}
}
