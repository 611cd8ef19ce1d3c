package blk

import (
	"bytes"
	"fmt"

	"github.com/segstore/segstore/codec/wire"
)

// A gap record holds the bytes of a file that belong to no block, as runs one after another: a uvarint, length<<2|kind,
// and for the kind runBytes the bytes. Zeros, up to 16 MiB of them after the last block, take a few bytes so.
const (
	runZero   = 0 // zeros, as they lie: reserved by Core
	runHidden = 1 // zeros that were obfuscated: the key again and again
	runBytes  = 2 // other bytes, as they lie
)

// minZeroRun is the shortest run of zeros among other bytes that is worth a run of its own.
const minZeroRun = 16

func appendRun(dst []byte, kind, n int) []byte {
	if n == 0 {
		return dst
	}
	return wire.AppendUvarint(dst, uint64(n)<<2|uint64(kind))
}

// appendBytes appends b, as it lies, to a gap record.
func appendBytes(dst, b []byte) []byte {
	for len(b) > 0 {
		plain, zeros := splitZeros(b)
		if plain > 0 {
			dst = append(appendRun(dst, runBytes, plain), b[:plain]...)
		}
		dst = appendRun(dst, runZero, zeros)
		b = b[plain+zeros:]
	}
	return dst
}

// splitZeros returns how many bytes come before the first long run of zeros, and how long that is.
func splitZeros(b []byte) (plain, zeros int) {
	var run [minZeroRun]byte
	if plain = bytes.Index(b, run[:]); plain < 0 {
		return len(b), 0
	}
	return plain, leading(b[plain:])
}

// leading returns how many zeros b begins with.
func leading(b []byte) int {
	n := 0
	for n < len(b) && b[n] == 0 {
		n++
	}
	return n
}

// maxRun is the longest run of a record that is believed: no file is longer.
const maxRun = 1 << 40

// gapRuns calls emit for each run of a gap record; b is nil for zeros.
func gapRuns(record []byte, emit func(kind int, n int64, b []byte) error) error {
	c := wire.NewCursor(record)
	for c.Len() > 0 {
		v := c.Uvarint()
		kind, n := int(v&3), int64(v>>2)
		var b []byte
		switch {
		case c.Err() != nil:
		case kind > runBytes || n == 0 || n > maxRun:
			c.Fail(fmt.Errorf("run of kind %d and %d bytes", kind, n))
		case kind == runBytes:
			if n > int64(c.Len()) {
				c.Fail(fmt.Errorf("%w: run of %d bytes, %d left", wire.ErrShort, n, c.Len()))
			} else {
				b = c.Raw(int(n))
			}
		}
		if err := c.Err(); err != nil {
			return fmt.Errorf("blk: framing: %w", err)
		}
		if err := emit(kind, n, b); err != nil {
			return err
		}
	}
	return nil
}
