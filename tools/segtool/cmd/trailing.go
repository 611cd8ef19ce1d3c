package cmd

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"

	"github.com/cespare/xxhash/v2"
)

// What a segment's footer begins with, and its length (segment/FORMAT.md).
const (
	footerMagic = "SEGEND\r\n"
	footerBytes = 128
)

// endWindow is how much of a file is searched at once.
const endWindow = 1 << 20

// segmentEnd returns how long the segment is that r begins with, where bytes follow it:
// padding of a disk's blocks, or the newline of an editor. It is size where the file
// ends with a footer, or where there is none: then nothing says more.
func segmentEnd(ctx context.Context, r io.ReaderAt, size int64) (int64, error) {
	buf := make([]byte, endWindow)
	for hi := size; hi >= footerBytes; {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		lo := max(0, hi-endWindow)
		b := buf[:hi-lo]
		if _, err := r.ReadAt(b, lo); err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		for at := len(b) - footerBytes; at >= 0; at-- {
			at = bytes.LastIndex(b[:at+len(footerMagic)], []byte(footerMagic))
			if at < 0 {
				break
			}
			if isFooter(b[at:at+footerBytes], lo+int64(at)) {
				return lo + int64(at) + footerBytes, nil
			}
		}
		if lo == 0 {
			break
		}
		hi = lo + footerBytes - 1 // a footer may lie across
	}
	return size, nil
}

// isFooter reports whether b is the footer of a segment in which it lies at an offset: a
// segment within a segment has another one.
func isFooter(b []byte, offset int64) bool {
	le := binary.LittleEndian
	return le.Uint64(b[120:]) == xxhash.Sum64(b[:120]) && le.Uint64(b[64:])+le.Uint64(b[72:]) == uint64(offset)
}
