package codec

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/klauspost/compress/s2"
)

// rawCodec stores blocks as they are.
type rawCodec struct{ maxDecoded int }

var _ Codec = rawCodec{}

// Encode implements Codec.
func (rawCodec) Encode(dst, src []byte) ([]byte, error) { return append(dst, src...), nil }

// Decode implements Codec.
func (c rawCodec) Decode(dst, src []byte, size int) ([]byte, error) {
	if size != len(src) || size > c.maxDecoded {
		return dst, fmt.Errorf("%w: raw: %d bytes stored, recorded %d, at most %d", ErrCorrupt, len(src), size, c.maxDecoded)
	}
	return append(dst, src...), nil
}

// s2Codec writes S2 blocks without framing, as s2.Encode does.
type s2Codec struct{ maxDecoded int }

var _ Codec = s2Codec{}

// Encode implements Codec.
func (s2Codec) Encode(dst, src []byte) ([]byte, error) {
	if len(src) > MaxMaxDecoded {
		return dst, fmt.Errorf("codec: s2: block of %d bytes, at most %d", len(src), MaxMaxDecoded)
	}
	dst = slices.Grow(dst, s2.MaxEncodedLen(len(src)))
	n := len(s2.Encode(dst[len(dst):cap(dst)], src))
	return dst[:len(dst)+n], nil
}

// Decode implements Codec.
func (c s2Codec) Decode(dst, src []byte, size int) ([]byte, error) {
	if size < 0 || size > c.maxDecoded {
		return dst, fmt.Errorf("%w: s2: size %d not in 0..%d", ErrCorrupt, size, c.maxDecoded)
	}
	n, err := s2.DecodedLen(src)
	if err != nil {
		return dst, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if n != size {
		return dst, fmt.Errorf("%w: s2: block of %d bytes, recorded %d", ErrCorrupt, n, size)
	}
	if !proportionate(size, len(src)) && s2Len(src) != uint64(size) {
		return dst, fmt.Errorf("%w: s2: block does not hold the %d bytes it claims", ErrCorrupt, size)
	}
	dst = slices.Grow(dst, size)
	if _, err := s2.Decode(dst[len(dst):len(dst)+size], src); err != nil {
		return dst, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return dst[:len(dst)+size], nil
}

// s2Len returns the number of bytes that the elements of an S2 block produce,
// without producing them: what its length at the front claims must be allocated
// at once, so a claim out of proportion is checked first. 0 where an element is
// cut short.
func s2Len(src []byte) (total uint64) {
	_, n := binary.Uvarint(src)
	rest := src[max(n, 0):]
	for len(rest) > 0 {
		tag := rest[0]
		head, stored, length := 1, uint64(0), uint64(tag>>2)+1
		extra := 0 // bytes of a length, little-endian, and what is added to it
		base := uint64(1)
		switch tag & 3 {
		case 0: // literal
			if tag>>2 >= 60 {
				extra = int(tag>>2) - 59
			}
		case 1: // copy with 11 bits of offset; offset 0 repeats the last one
			head, length, base = 2, uint64(tag>>2&7)+4, 0
			if len(rest) > 1 && tag&0xe0 == 0 && rest[1] == 0 && tag>>2&7 >= 5 {
				extra = int(tag>>2&7) - 4
				base = [...]uint64{4 + 4, 1<<8 + 4, 1<<16 + 4}[extra-1]
			}
		case 2:
			head = 3
		case 3:
			head = 5
		}
		if len(rest) < head+extra {
			return 0
		}
		if extra > 0 {
			length = base
			for i, b := range rest[head : head+extra] {
				length += uint64(b) << (8 * i)
			}
		}
		if tag&3 == 0 {
			stored = length
		}
		if stored > uint64(len(rest)-head-extra) {
			return 0
		}
		rest = rest[head+extra+int(stored):]
		total += length
	}
	return total
}
