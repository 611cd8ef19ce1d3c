package codec

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/segstore/segstore/codec/wire"
)

// uints is uint/1: values of 8 bytes that are numbers, little-endian. The only
// stream is empty where all are zero; else its first byte says what follows:
//
//	0 raw      the values as they are
//	1 linear   uvarint first, varint step: number i is first + i*step
//	2 values   the numbers, packed
//	3 deltas   uvarint first, then the differences between neighbours, packed
//
// Packed numbers come in groups of 64, the last one of what is left. A group is
// its smallest number (varint: zigzag, as in encoding/binary), a byte W of
// 0..64, and what each number is above the smallest in W bits, the first in the
// lowest bits of the first byte, filled up with zero bits to a whole byte. So
// one outlier costs its own group only. All sums are modulo 2^64.
type uints struct{}

var _ Encoding = uints{}

const (
	uintRaw    = 0
	uintLinear = 1
	uintValues = 2
	uintDeltas = 3
)

var errWidth = errors.New("bit width above 64")

// Name implements Encoding.
func (uints) Name() string { return "uint/1" }

// Streams implements Encoding.
func (uints) Streams() []string { return []string{"numbers"} }

// Split implements Encoding. Values that have not 8 bytes are an error.
func (uints) Split(streams [][]byte, v *Values) ([][]byte, error) {
	if err := v.check(); err != nil {
		return nil, fmt.Errorf("codec: uint/1: %w", err)
	}
	if i, _ := v.firstOther(); i > 0 || len(v.Ends) > 0 && v.Ends[0] != 8 {
		i = max(i, 0)
		return nil, fmt.Errorf("codec: uint/1: value %d has %d bytes, expected 8", i, len(v.At(i)))
	}
	streams = resize(streams, 1)
	streams[0] = appendUints(streams[0], v.Data)
	return streams, nil
}

// appendUints appends the stream of the numbers in data, by the smallest way.
func appendUints(dst, data []byte) []byte {
	rows := len(data) / 8
	if rows == 0 {
		return dst
	}
	first := binary.LittleEndian.Uint64(data)
	step := uint64(0)
	if rows > 1 {
		step = binary.LittleEndian.Uint64(data[8:]) - first
	}
	if isLinear(data, first, step) {
		if first == 0 && step == 0 {
			return dst
		}
		start := len(dst)
		dst = wire.AppendUvarint(append(dst, uintLinear), first)
		dst = binary.AppendVarint(dst, int64(step))
		if len(dst)-start <= 1+len(data) {
			return dst
		}
		dst = dst[:start] // one or two large numbers
	}
	values := packedLen(data, uintValues)
	deltas := packedLen(data, uintDeltas) + uvarintLen(first)
	switch {
	case min(values, deltas) >= len(data):
		return append(append(dst, uintRaw), data...)
	case deltas < values:
		return appendPacked(wire.AppendUvarint(append(dst, uintDeltas), first), data, uintDeltas)
	}
	return appendPacked(append(dst, uintValues), data, uintValues)
}

func isLinear(data []byte, first, step uint64) bool {
	for ; len(data) >= 8; data = data[8:] {
		if binary.LittleEndian.Uint64(data) != first {
			return false
		}
		first += step
	}
	return true
}

// Join implements Encoding. v.Data aliases the stream where it is raw, else
// v.Buf.
func (uints) Join(v *Values, streams [][]byte, rows int) error {
	if err := checkJoin("uint/1", streams, 1, rows); err != nil {
		return err
	}
	if s := streams[0]; len(s) > 0 && s[0] == uintRaw {
		if len(s)-1 != 8*rows {
			return fmt.Errorf("%w: uint/1: %d raw bytes for %d rows", ErrCorrupt, len(s)-1, rows)
		}
		v.Data = s[1:len(s):len(s)]
		v.setEnds(rows, 8)
		return nil
	}
	v.Buf = slices.Grow(v.Buf[:0], 8*rows)[:8*rows]
	if err := joinUints(v.Buf, streams[0]); err != nil {
		return fmt.Errorf("%w: uint/1: %w", ErrCorrupt, err)
	}
	v.Data = v.Buf
	v.setEnds(rows, 8)
	return nil
}

// joinUints fills data with the numbers of a stream that is not raw.
func joinUints(data, stream []byte) error {
	if len(stream) == 0 {
		clear(data)
		return nil
	}
	c := wire.NewCursor(stream)
	switch mode := c.Uint8(); mode {
	case uintLinear:
		number, step := c.Uvarint(), uint64(varint(c))
		for ; len(data) >= 8; data = data[8:] {
			binary.LittleEndian.PutUint64(data, number)
			number += step
		}
	case uintValues:
		unpack(data, c, 0, uintValues)
	case uintDeltas:
		first := c.Uvarint()
		binary.LittleEndian.PutUint64(data, first)
		unpack(data[8:], c, first, uintDeltas)
	default:
		c.Fail(fmt.Errorf("unknown mode %d", mode))
	}
	return c.Close()
}

// varint reads what binary.AppendVarint writes.
func varint(c *wire.Cursor) int64 {
	u := c.Uvarint()
	return int64(u>>1) ^ -int64(u&1)
}

func uvarintLen(v uint64) int {
	n := 1
	for ; v >= 0x80; v >>= 7 {
		n++
	}
	return n
}

func zigzag(v uint64) uint64 { return v<<1 ^ uint64(int64(v)>>63) }
