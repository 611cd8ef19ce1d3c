package synth

import (
	"hash"

	"golang.org/x/crypto/sha3"
)

const bloomBytes = 256

// bloomBits are the three bits of one item in a bloom filter: numbers from 0 to 2047 (yellow paper, section 4.3.1).
type bloomBits [3]uint16

// bloom is the bloom filter of logs.
type bloom [bloomBytes]byte

func (f *bloom) add(b bloomBits) {
	for _, n := range b {
		f[bloomBytes-1-n/8] |= 1 << (n % 8)
	}
}

func (f *bloom) merge(o *bloom) {
	for i := range f {
		f[i] |= o[i]
	}
}

// keccak computes Keccak-256. For one goroutine.
type keccak struct {
	h   hash.Hash
	sum [32]byte
}

func newKeccak() *keccak { return &keccak{h: sha3.NewLegacyKeccak256()} }

func (k *keccak) hash(b []byte) [32]byte {
	k.h.Reset()
	k.h.Write(b) // never fails
	k.h.Sum(k.sum[:0])
	return k.sum
}

// bits returns the bits of an item.
func (k *keccak) bits(item []byte) bloomBits {
	h := k.hash(item)
	var b bloomBits
	for i := range b {
		b[i] = (uint16(h[2*i])<<8 | uint16(h[2*i+1])) & 2047
	}
	return b
}
