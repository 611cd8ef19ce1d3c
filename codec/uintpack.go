package codec

import (
	"encoding/binary"
	"math/bits"

	"github.com/segstore/segstore/codec/wire"
)

// uintGroup is how many numbers share a smallest number and a width. 64 of them
// always end at a whole byte.
const uintGroup = 64

// group is the numbers of a group, above the smallest.
type group struct {
	numbers  [uintGroup]uint64
	n        int
	smallest uint64 // of the numbers as int64
	width    int
}

// load takes up to 64 numbers from the front of data, 8 bytes each, or their
// differences to the number before, which is prev for the first; and returns the
// data left and the last number.
func (g *group) load(data []byte, prev uint64, mode byte) ([]byte, uint64) {
	g.n = min(uintGroup, len(data)/8)
	smallest := int64(1<<63 - 1)
	for i := range g.numbers[:g.n] {
		x := binary.LittleEndian.Uint64(data[8*i:])
		if mode == uintDeltas {
			x, prev = x-prev, x
		}
		g.numbers[i] = x
		smallest = min(smallest, int64(x))
	}
	all := uint64(0)
	for i := range g.numbers[:g.n] {
		g.numbers[i] -= uint64(smallest)
		all |= g.numbers[i]
	}
	g.smallest, g.width = uint64(smallest), bits.Len64(all)
	return data[8*g.n:], prev
}

func (g *group) packedBytes() int { return (g.n*g.width + 7) / 8 }

// start returns what is packed of data: deltas begin with the second number.
func start(data []byte, mode byte) (rest []byte, prev uint64) {
	if mode == uintDeltas {
		return data[8:], binary.LittleEndian.Uint64(data)
	}
	return data, 0
}

// packedLen returns the number of bytes that appendPacked appends.
func packedLen(data []byte, mode byte) int {
	var g group
	n := 0
	for rest, prev := start(data, mode); len(rest) > 0; {
		rest, prev = g.load(rest, prev, mode)
		n += uvarintLen(zigzag(g.smallest)) + 1 + g.packedBytes()
	}
	return n
}

// appendPacked appends the groups of data's numbers.
func appendPacked(dst, data []byte, mode byte) []byte {
	var g group
	for rest, prev := start(data, mode); len(rest) > 0; {
		rest, prev = g.load(rest, prev, mode)
		dst = wire.AppendUvarint(dst, zigzag(g.smallest))
		dst = append(dst, byte(g.width))
		word, used := uint64(0), 0 // bits not yet written
		for _, x := range g.numbers[:g.n] {
			word |= x << used
			if used += g.width; used >= 64 {
				dst = binary.LittleEndian.AppendUint64(dst, word)
				used -= 64
				word = x >> (g.width - used) // 0 when all of x was written
			}
		}
		for ; used > 0; used -= 8 {
			dst = append(dst, byte(word))
			word >>= 8
		}
	}
	return dst
}

// packedGroup is the bits of a group, and bytes behind them to read words from.
type packedGroup [8*uintGroup + 8]byte

// unpack fills data, 8 bytes a number, from the groups at the cursor; prev is
// the number before data, for deltas. Errors are left in the cursor.
func unpack(data []byte, c *wire.Cursor, prev uint64, mode byte) {
	var packed packedGroup
	var numbers [uintGroup]uint64
	for len(data) > 0 {
		n := min(uintGroup, len(data)/8)
		smallest := uint64(varint(c))
		width := int(c.Uint8())
		if width > 64 {
			c.Fail(errWidth)
		}
		b := c.Raw((n*width + 7) / 8)
		if c.Err() != nil {
			return
		}
		copy(packed[:], b) // what is left from the group before is masked off
		packed.unpack(numbers[:n], uint(width))
		group := data[:8*n]
		data = data[8*n:]
		if mode != uintDeltas {
			for i, x := range numbers[:n] {
				binary.LittleEndian.PutUint64(group[8*i:], smallest+x)
			}
			continue
		}
		for i, x := range numbers[:n] {
			prev += smallest + x
			binary.LittleEndian.PutUint64(group[8*i:], prev)
		}
	}
}

// unpack sets each of at most 64 numbers to the next width bits.
func (p *packedGroup) unpack(numbers []uint64, width uint) {
	const inside = 8*uintGroup - 1 // where a word starts: says so to the compiler
	mask := uint64(1)<<width - 1   // all ones for 64
	at := uint(0)
	if width <= 57 { // then a number is inside one word, wherever it starts in a byte
		for i := range numbers {
			word := p[at>>3&inside:]
			numbers[i] = binary.LittleEndian.Uint64(word[:8]) >> (at & 7) & mask
			at += width
		}
		return
	}
	for i := range numbers {
		word, shift := p[at>>3&inside:], at&7
		x := binary.LittleEndian.Uint64(word[:8])>>shift | uint64(word[8])<<(64-shift)
		numbers[i] = x & mask
		at += width
	}
}
