package synth

import (
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
)

// dice is the generator's source of randomness. Nothing but integers, so that it rolls alike everywhere.
type dice struct {
	src *rand.ChaCha8
}

func newDice(seed uint64) dice {
	key := [32]byte{}
	copy(key[8:], "segstore synth")
	binary.LittleEndian.PutUint64(key[:], seed)
	return dice{rand.NewChaCha8(key)}
}

// below returns a number in [0, n).
func (d dice) below(n uint64) uint64 {
	hi, _ := bits.Mul64(d.src.Uint64(), n)
	return hi
}

// chance is true n times out of a thousand.
func (d dice) chance(n uint64) bool { return d.below(1000) < n }

// fill fills b with random bytes.
func (d dice) fill(b []byte) {
	for len(b) >= 8 {
		binary.LittleEndian.PutUint64(b, d.src.Uint64())
		b = b[8:]
	}
	if len(b) > 0 {
		var last [8]byte
		binary.LittleEndian.PutUint64(last[:], d.src.Uint64())
		copy(b, last[:])
	}
}

// random appends n random bytes.
func (d dice) random(dst []byte, n int) []byte {
	start := len(dst)
	dst = append(dst, make([]byte, n)...)
	d.fill(dst[start:])
	return dst
}

// ranks draws numbers in [0, n) of which the i-th comes up in proportion to 1/(i+flat): Zipf's law, the flatter the larger
// flat is.
type ranks []uint16

const rankSlots = 1 << 16

func newRanks(n, flat int) ranks {
	weight := func(i int) uint64 { return (1 << 40) / uint64(i+flat) }
	total := uint64(0)
	for i := range n {
		total += weight(i)
	}
	r := make(ranks, rankSlots)
	i, sum := 0, weight(0)
	for slot := range r {
		for sum*rankSlots < total*uint64(slot) && i < n-1 { // sum < 2^47
			i++
			sum += weight(i)
		}
		r[slot] = uint16(i)
	}
	return r
}

func (r ranks) draw(d dice) int { return int(r[d.src.Uint64()%rankSlots]) }
