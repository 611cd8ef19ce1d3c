package codec

import (
	"fmt"
	"slices"
)

// fixed is fixed/1: values of one length, one after another in the only stream.
type fixed struct{}

var _ Encoding = fixed{}

// Name implements Encoding.
func (fixed) Name() string { return "fixed/1" }

// Streams implements Encoding.
func (fixed) Streams() []string { return []string{"bytes"} }

// Split implements Encoding. Values of different lengths are an error.
func (fixed) Split(streams [][]byte, v *Values) ([][]byte, error) {
	if err := v.check(); err != nil {
		return nil, fmt.Errorf("codec: fixed/1: %w", err)
	}
	if i, width := v.firstOther(); i >= 0 {
		return nil, fmt.Errorf("codec: fixed/1: value %d has %d bytes, expected %d", i, len(v.At(i)), width)
	}
	streams = resize(streams, 1)
	streams[0] = append(streams[0], v.Data...)
	return streams, nil
}

// Join implements Encoding. v.Data aliases the stream.
func (fixed) Join(v *Values, streams [][]byte, rows int) error {
	if err := checkJoin("fixed/1", streams, 1, rows); err != nil {
		return err
	}
	data := streams[0]
	if len(data)%rows != 0 || uint64(len(data)) > maxDataBytes {
		return fmt.Errorf("%w: fixed/1: %d bytes for %d rows", ErrCorrupt, len(data), rows)
	}
	v.Data = data[:len(data):len(data)]
	v.setEnds(rows, len(data)/rows)
	return nil
}

// setEnds sets the ends of rows values of width bytes.
func (v *Values) setEnds(rows, width int) {
	v.Ends = slices.Grow(v.Ends[:0], rows)[:rows]
	for i := range v.Ends {
		v.Ends[i] = uint32((i + 1) * width)
	}
}

// firstOther returns the first value that is not as long as value 0, and the
// length of that; -1 where there is none.
func (v *Values) firstOther() (i, width int) {
	if len(v.Ends) == 0 {
		return -1, 0
	}
	first := v.Ends[0]
	for i, end := range v.Ends {
		if uint64(end) != uint64(first)*uint64(i+1) {
			return i, int(first)
		}
	}
	return -1, int(first)
}
