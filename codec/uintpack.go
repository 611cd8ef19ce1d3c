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

// unpack fills data, 8 bytes a number, from the groups at the cursor; prev is
// the number before data, for deltas. Errors are left in the cursor.
func unpack(data []byte, c *wire.Cursor, prev uint64, mode byte) {
	var padded [8*uintGroup + 8]byte
	for len(data) > 0 {
		n := min(uintGroup, len(data)/8)
		smallest := uint64(varint(c))
		width := int(c.Uint8())
		if width > 64 {
			c.Fail(errWidth)
		}
		packed := c.Raw((n*width + 7) / 8)
		if c.Err() != nil {
			return
		}
		// Every number is read as a word of 8 bytes, the last one's is padded.
		b := padded[:]
		copy(b, packed)
		clear(b[len(packed) : len(packed)+8])
		if mode == uintDeltas {
			prev = unpackDeltas(data[:8*n], b, smallest, prev, width)
		} else {
			unpackValues(data[:8*n], b, smallest, width)
		}
		data = data[8*n:]
	}
}

// bitsAt returns width bits from bit number at on; b has 8 bytes more than the
// bits need.
func bitsAt(b []byte, at, width int, mask uint64) uint64 {
	i, shift := at>>3, at&7
	word := binary.LittleEndian.Uint64(b[i:]) >> shift
	if shift+width > 64 {
		word |= uint64(b[i+8]) << (64 - shift)
	}
	return word & mask
}

func unpackValues(data, b []byte, smallest uint64, width int) {
	mask := ^uint64(0) >> (64 - width)
	for at := 0; len(data) >= 8; data, at = data[8:], at+width {
		binary.LittleEndian.PutUint64(data, smallest+bitsAt(b, at, width, mask))
	}
}

func unpackDeltas(data, b []byte, smallest, number uint64, width int) uint64 {
	mask := ^uint64(0) >> (64 - width)
	for at := 0; len(data) >= 8; data, at = data[8:], at+width {
		number += smallest + bitsAt(b, at, width, mask)
		binary.LittleEndian.PutUint64(data, number)
	}
	return number
}
