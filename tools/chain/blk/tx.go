package blk

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// place is an error inside a block: where, what was expected, what was found.
type place struct {
	off  int // from the start of the block
	want string
	err  error
}

// Error returns the place in the block, what was expected and what was found.
func (p *place) Error() string {
	return fmt.Sprintf("at byte %d: expected %s: %v", p.off, p.want, p.err)
}

// Unwrap returns what was found.
func (p *place) Unwrap() error { return p.err }

var (
	errShort    = errors.New("the block ends here")
	errOverlong = errors.New("not in its shortest form")
	errNoBlock  = errors.New("there is no block in the file")
	errKeySize  = errors.New("a key is 8 bytes")
)

// cursor reads a block from front to back and keeps its first error, after which nothing is left.
type cursor struct {
	b   []byte
	off int
	err *place
}

func (c *cursor) fail(off int, want string, err error) {
	if c.err == nil {
		c.err = &place{off, want, err}
		c.b = c.b[:c.off]
	}
}

func (c *cursor) left() int { return len(c.b) - c.off }

func (c *cursor) skip(n int, want string) {
	if n > c.left() {
		c.fail(c.off, want, errShort)
		return
	}
	c.off += n
}

// compact reads a compact size, in its shortest form as Core demands.
func (c *cursor) compact(want string) uint64 {
	b := c.b[c.off:]
	if len(b) == 0 {
		c.fail(c.off, want, errShort)
		return 0
	}
	var v, least uint64
	var n int
	switch b[0] {
	default:
		c.off++
		return uint64(b[0])
	case 0xfd:
		n, least = 3, 0xfd
	case 0xfe:
		n, least = 5, 1<<16
	case 0xff:
		n, least = 9, 1<<32
	}
	if len(b) < n {
		c.fail(c.off, want, errShort)
		return 0
	}
	switch n {
	case 3:
		v = uint64(binary.LittleEndian.Uint16(b[1:]))
	case 5:
		v = uint64(binary.LittleEndian.Uint32(b[1:]))
	case 9:
		v = binary.LittleEndian.Uint64(b[1:])
	}
	if v < least {
		c.fail(c.off, want, fmt.Errorf("%x is %w", b[:n], errOverlong))
		return 0
	}
	c.off += n
	return v
}

// count reads how many items of at least size bytes follow; never more than the bytes left can hold.
func (c *cursor) count(size int, want string) int {
	off := c.off
	n := c.compact(want)
	if n > uint64(c.left()/size) {
		c.fail(off, want, fmt.Errorf("%d of at least %d bytes with %d bytes left", n, size, c.left()))
		return 0
	}
	return int(n)
}

// tx says where the parts of a transaction lie in its block.
type tx struct {
	start, end int
	inputs     int // number
	outputs    int // offset of the outputs' count
	witness    int // offset of the witnesses, which end 4 bytes before end; 0 where it has none
}

const (
	inputBytes  = 32 + 4 + 1 + 4 // outpoint, empty script, sequence
	outputBytes = 8 + 1          // value, empty script
)

// transaction reads one transaction (BIP 144).
func (c *cursor) transaction() (t tx) {
	t.start = c.off
	c.skip(4, "a transaction's version")
	off := c.off
	t.inputs = c.count(inputBytes, "a transaction's number of inputs")
	segwit := false
	if t.inputs == 0 && c.err == nil {
		// No input: the marker of the extended form, unless the byte that then is the flag is zero, which is an
		// empty transaction's number of outputs.
		switch flag := c.b[c.off:]; {
		case len(flag) == 0:
			c.fail(c.off, "a transaction's flag", errShort)
		case flag[0] == 0:
		case flag[0] == 1:
			segwit = true
			c.off++
			off = c.off
			t.inputs = c.count(inputBytes, "a transaction's number of inputs")
		default:
			c.fail(c.off, "a transaction's flag 01", fmt.Errorf("flag %02x", flag[0]))
		}
	}
	for range t.inputs {
		c.skip(36, "an input's outpoint")
		c.skip(c.count(1, "the length of an input's script"), "an input's script")
		c.skip(4, "an input's sequence")
	}
	t.outputs = c.off
	for range c.count(outputBytes, "a transaction's number of outputs") {
		c.skip(8, "an output's value")
		c.skip(c.count(1, "the length of an output's script"), "an output's script")
	}
	if segwit {
		t.witness = c.off
		items := 0
		for range t.inputs {
			n := c.count(1, "an input's number of witness items")
			for range n {
				c.skip(c.count(1, "the length of a witness item"), "a witness item")
			}
			items += n
		}
		if items == 0 { // as Core: there is a form without witness, and only that is right
			c.fail(off-2, "a transaction without marker and flag", errors.New("it has no witness"))
		}
	}
	c.skip(4, "a transaction's lock time")
	t.end = c.off
	return t
}
