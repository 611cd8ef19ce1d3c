package bitcoin

import (
	"crypto/sha256"
	"fmt"
	"hash"
	"sync"

	"github.com/segstore/segstore/codec"
)

// Formats of columns whose values are known by their hash.
const (
	formatHeader      = "btc-header"
	formatTransaction = "btc-tx"
)

// KeyFunctions returns sha256d, btc-txid and btc-wtxid, whose keys are 32 bytes.
//
// sha256d and btc-wtxid are the double SHA-256 of values of any bytes and never
// fail. btc-txid reads the transaction: one that is not what Core would accept
// (cut short, with bytes behind it, with a length not in its shortest form, with
// marker and flag but no witness) has no key, and the *SyntaxError says where.
func KeyFunctions() []codec.KeyFunction {
	hashers := &sync.Pool{New: func() any { return &hasher{sha256: sha256.New()} }}
	return []codec.KeyFunction{
		keyFunction("sha256d", formatHeader, appendDouble),
		keyFunction("btc-txid", formatTransaction, func(dst, value []byte) ([]byte, error) {
			t, err := parse(value)
			if err != nil {
				return dst, fmt.Errorf("%w: %w", codec.ErrNoKey, err)
			}
			if !t.segwit {
				return appendDouble(dst, value)
			}
			h := hashers.Get().(*hasher)
			dst = h.appendID(dst, value, t)
			hashers.Put(h)
			return dst, nil
		}),
		keyFunction("btc-wtxid", formatTransaction, appendDouble),
	}
}

func keyFunction(name, format string, f func(dst, value []byte) ([]byte, error)) codec.KeyFunction {
	return codec.KeyFunction{
		Name:    name,
		Formats: []string{format},
		Append:  f,
		Parse:   func(text string) ([]byte, error) { return codec.ParseReversedHex(text, sha256.Size) },
		Format:  codec.FormatReversedHex,
	}
}

// appendDouble appends the SHA-256 of the SHA-256 of value.
func appendDouble(dst, value []byte) ([]byte, error) {
	once := sha256.Sum256(value)
	twice := sha256.Sum256(once[:])
	return append(dst, twice[:]...), nil
}

// hasher hashes a transaction in parts. What is given to a hash.Hash would be
// allocated each time, were it not kept.
type hasher struct {
	sha256 hash.Hash
	sum    [sha256.Size]byte
}

// appendID appends the id of a transaction that has a witness.
func (h *hasher) appendID(dst, value []byte, t transaction) []byte {
	h.sha256.Reset()
	for _, part := range [...][]byte{
		value[:versionBytes],
		value[t.inputs:t.witness],
		value[len(value)-lockBytes:],
	} {
		_, _ = h.sha256.Write(part) // never fails
	}
	twice := sha256.Sum256(h.sha256.Sum(h.sum[:0]))
	return append(dst, twice[:]...)
}
