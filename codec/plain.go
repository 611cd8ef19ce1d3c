package codec

import (
	"fmt"
	"slices"
)

// plain is plain/1: values of any length.
//
//	lengths  empty where all values have one length: that of the other stream,
//	         divided by the rows. Else the lengths in W bytes each, W the fewest
//	         that hold the longest, little-endian but byte by byte: the lowest
//	         byte of every length, then the next one of every length, …
//	bytes    the values, one after another
//
// Nothing else is in the streams: W is the size of lengths divided by the rows.
// In planes, bytes that are alike stand together (most high bytes are zero), and
// joining takes no branch that depends on a length.
type plain struct{}

var _ Encoding = plain{}

// maxLengthBytes is the largest W.
const maxLengthBytes = 4

// Name implements Encoding.
func (plain) Name() string { return "plain/1" }

// Streams implements Encoding.
func (plain) Streams() []string { return []string{"lengths", "bytes"} }

// Split implements Encoding.
func (plain) Split(streams [][]byte, v *Values) ([][]byte, error) {
	if err := v.check(); err != nil {
		return nil, fmt.Errorf("codec: plain/1: %w", err)
	}
	streams = resize(streams, 2)
	streams[1] = append(streams[1], v.Data...)
	width := lengthBytes(v.Ends)
	if width == 0 {
		return streams, nil
	}
	n := len(v.Ends)
	planes := slices.Grow(streams[0], width*n)[:width*n]
	for w := range width {
		plane, start := planes[w*n:][:n], uint32(0)
		for i, end := range v.Ends {
			plane[i] = byte((end - start) >> (8 * w))
			start = end
		}
	}
	streams[0] = planes
	return streams, nil
}

// lengthBytes returns how many bytes the lengths take, 0 where all are equal.
func lengthBytes(ends []uint32) int {
	if len(ends) == 0 {
		return 0
	}
	longest, equal, start := ends[0], true, uint32(0)
	for _, end := range ends {
		n := end - start
		start = end
		equal = equal && n == ends[0]
		longest = max(longest, n)
	}
	width := 0
	for ; !equal && longest > 0; longest >>= 8 {
		width++
	}
	return width
}

// Join implements Encoding. v.Data aliases the second stream.
func (plain) Join(v *Values, streams [][]byte, rows int) error {
	if err := checkJoin("plain/1", streams, 2, rows); err != nil {
		return err
	}
	lengths, data := streams[0], streams[1]
	if uint64(len(data)) > maxDataBytes {
		return fmt.Errorf("%w: plain/1: %d bytes, at most %d", ErrCorrupt, len(data), uint64(maxDataBytes))
	}
	if len(lengths)%rows != 0 || len(lengths)/rows > maxLengthBytes {
		return fmt.Errorf("%w: plain/1: %d bytes of lengths for %d rows", ErrCorrupt, len(lengths), rows)
	}
	ends := slices.Grow(v.Ends[:0], rows)[:rows]
	sum := uint64(0) // of at most MaxRows lengths below 4 GiB: no overflow
	switch len(lengths) / rows {
	case 0:
		n := len(data) / rows
		for i := range ends {
			sum += uint64(n)
			ends[i] = uint32(sum)
		}
	case 1:
		sum = sum1(ends, lengths)
	case 2:
		sum = sum2(ends, lengths)
	default:
		for i := range ends {
			for at, shift := i, 0; at < len(lengths); at, shift = at+rows, shift+8 {
				sum += uint64(lengths[at]) << shift
			}
			ends[i] = uint32(sum)
		}
	}
	// The ends ascend, so where the last one is right none is out of range, and
	// none was cut to 32 bits.
	if sum != uint64(len(data)) {
		return fmt.Errorf("%w: plain/1: lengths of %d rows add up to %d, %d bytes there", ErrCorrupt, rows, sum, len(data))
	}
	v.Data, v.Ends = data[:len(data):len(data)], ends
	return nil
}

// sum1 sets ends to the running sum of the bytes in lengths.
func sum1(ends []uint32, lengths []byte) uint64 {
	lengths = lengths[:len(ends)]
	sum := uint64(0)
	for i := range ends {
		sum += uint64(lengths[i])
		ends[i] = uint32(sum)
	}
	return sum
}

// sum2 does so with lengths of two planes.
func sum2(ends []uint32, lengths []byte) uint64 {
	low, high := lengths[:len(ends)], lengths[len(ends):]
	high = high[:len(ends)]
	sum := uint64(0)
	for i := range ends {
		sum += uint64(low[i]) | uint64(high[i])<<8
		ends[i] = uint32(sum)
	}
	return sum
}
