package bitcoin

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// What can be wrong with a transaction; a *SyntaxError wraps one of them.
var (
	ErrShort    = errors.New("the transaction ends")
	ErrOverlong = errors.New("not in its shortest form")
	ErrFlag     = errors.New("wrong marker and flag")
	ErrTrailing = errors.New("bytes follow the transaction")
)

// SyntaxError says where bytes are not a transaction.
type SyntaxError struct {
	Offset int    // in the transaction
	Want   string // what was expected
	Err    error
}

// Error returns offset, what was expected, and what was found.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("bitcoin: at byte %d: expected %s: %v", e.Offset, e.Want, e.Err)
}

// Unwrap returns the cause.
func (e *SyntaxError) Unwrap() error { return e.Err }

const (
	versionBytes  = 4
	lockBytes     = 4
	outpointBytes = 32 + 4
	sequenceBytes = 4
	amountBytes   = 8

	leastInput  = outpointBytes + 1 + sequenceBytes // its script empty
	leastOutput = amountBytes + 1                   // its script empty
)

// transaction says where the parts of one lie.
//
//	version 4 | marker 00, flag 01 | inputs | outputs | witness | lock time 4
//
// Marker, flag and witness are there or not together (BIP 144).
type transaction struct {
	segwit  bool
	inputs  int // offset of the number of inputs
	witness int // offset behind the outputs
}

// parse finds the parts of the one transaction that b is. It allocates nothing
// unless it fails, and takes time in proportion to b.
func parse(b []byte) (transaction, error) {
	c := cursor{b: b}
	t := c.transaction()
	if c.err == nil && c.left() > 0 {
		c.fail(c.off, "the end of the transaction", fmt.Errorf("%w: %d of them", ErrTrailing, c.left()))
	}
	if c.err != nil {
		return transaction{}, c.err
	}
	return t, nil
}

func (c *cursor) transaction() (t transaction) {
	c.skip(versionBytes, "a version")
	t.inputs = c.off
	inputs := c.count(leastInput, "the number of inputs")
	if inputs == 0 && c.err == nil {
		// A marker then, unless the flag is zero, which is the number of outputs of a
		// transaction that has neither: Core reads it so.
		flag := c.left() > 0 && c.b[c.off] != 0
		if flag && c.b[c.off] != 1 {
			c.fail(c.off, "the flag 01", fmt.Errorf("%w: flag %02x", ErrFlag, c.b[c.off]))
		}
		if t.segwit = flag && c.err == nil; t.segwit {
			c.off++
			t.inputs = c.off
			inputs = c.count(leastInput, "the number of inputs")
		}
	}
	for range inputs {
		c.skip(outpointBytes, "an outpoint")
		c.skipBytes("the length of an input's script", "an input's script")
		c.skip(sequenceBytes, "a sequence")
	}
	for range c.count(leastOutput, "the number of outputs") {
		c.skip(amountBytes, "an amount")
		c.skipBytes("the length of an output's script", "an output's script")
	}
	t.witness = c.off
	if t.segwit {
		items := 0
		for range inputs {
			n := c.count(1, "the number of an input's witness items")
			items += n
			for range n {
				c.skipBytes("the length of a witness item", "a witness item")
			}
		}
		if items == 0 { // there is a shorter form, and only that is right
			c.fail(versionBytes, "no marker and flag", fmt.Errorf("%w: no input has a witness", ErrFlag))
		}
	}
	c.skip(lockBytes, "a lock time")
	return t
}

// cursor reads bytes from front to back and keeps its first error, after which
// nothing is left.
type cursor struct {
	b   []byte
	off int
	err *SyntaxError
}

func (c *cursor) fail(off int, want string, err error) {
	if c.err == nil {
		c.err = &SyntaxError{Offset: off, Want: want, Err: err}
		c.b = c.b[:c.off]
	}
}

func (c *cursor) left() int { return len(c.b) - c.off }

func (c *cursor) skip(n int, want string) {
	if n > c.left() {
		c.fail(c.off, want, fmt.Errorf("%w: %d bytes, expected %d", ErrShort, c.left(), n))
		return
	}
	c.off += n
}

// skipBytes skips a length and as many bytes.
func (c *cursor) skipBytes(length, want string) {
	c.skip(c.count(1, length), want)
}

// count reads how many items of at least size bytes follow: never more than the
// bytes left can hold, so that loops over them are bounded.
func (c *cursor) count(size int, want string) int {
	off := c.off
	n := c.compact(want)
	if n > uint64(c.left()/size) {
		c.fail(off, want, fmt.Errorf("%w: %d, with %d bytes left", ErrShort, n, c.left()))
		return 0
	}
	return int(n)
}

// compact reads a compact size: a byte, or fd, fe, ff and 2, 4, 8 bytes
// little-endian.
func (c *cursor) compact(want string) uint64 {
	at := c.off
	b := c.b[at:]
	if len(b) > 0 && b[0] < 0xfd {
		c.off++
		return uint64(b[0])
	}
	var n, least uint64
	switch {
	case len(b) >= 3 && b[0] == 0xfd:
		n, least = uint64(binary.LittleEndian.Uint16(b[1:])), 0xfd
		c.off += 3
	case len(b) >= 5 && b[0] == 0xfe:
		n, least = uint64(binary.LittleEndian.Uint32(b[1:])), 1<<16
		c.off += 5
	case len(b) >= 9 && b[0] == 0xff:
		n, least = binary.LittleEndian.Uint64(b[1:]), 1<<32
		c.off += 9
	default:
		c.fail(at, want, ErrShort)
		return 0
	}
	if n < least {
		c.fail(at, want, fmt.Errorf("%x is %w", c.b[at:c.off], ErrOverlong))
		return 0
	}
	return n
}
