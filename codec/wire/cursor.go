package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
)

// What can be wrong with a record. A Cursor's error wraps one of these, or what
// its user passed to Fail.
var (
	ErrShort    = errors.New("record ends early")
	ErrTrailing = errors.New("bytes left over")
	ErrLimit    = errors.New("above the limit")
	ErrOverflow = errors.New("varint does not fit 64 bits")
	ErrOverlong = errors.New("varint is not in its shortest form")
)

// Error says where in a record, and in what, reading stopped.
type Error struct {
	Offset int    // bytes from the start of the record to the item
	What   string // the item: "uvarint", "bytes", …; empty from Fail
	Err    error  // the cause, never nil
}

// Error returns the place and the cause in one line.
func (e *Error) Error() string {
	if e.What == "" {
		return fmt.Sprintf("wire: at %d: %v", e.Offset, e.Err)
	}
	return fmt.Sprintf("wire: %s at %d: %v", e.What, e.Offset, e.Err)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Cursor reads one record from front to back and keeps its first error. After
// an error nothing is left and every read returns zero or nil. It is for one
// goroutine. A Cursor never writes to the record.
type Cursor struct {
	b   []byte // the record; cut at off by the first error, so that later reads come up short
	off int
	err error
}

// NewCursor returns a cursor at the start of b. It stays on the caller's stack.
func NewCursor(b []byte) *Cursor { return &Cursor{b: b} }

// Len returns the number of bytes left; 0 after an error.
func (c *Cursor) Len() int { return len(c.b) - c.off }

// Offset returns the number of bytes read; after an error, where it is.
func (c *Cursor) Offset() int { return c.off }

// Err returns the first error, an *Error, or nil.
func (c *Cursor) Err() error { return c.err }

// Close returns the first error, or ErrTrailing where bytes are left.
func (c *Cursor) Close() error {
	if c.err == nil && c.off < len(c.b) {
		c.fail("record", fmt.Errorf("%w: %d", ErrTrailing, len(c.b)-c.off))
	}
	return c.err
}

// Fail makes err the cursor's error where it has none yet: for a value that was
// read well and means nothing. A nil err is ignored.
func (c *Cursor) Fail(err error) {
	if err != nil {
		c.fail("", err)
	}
}

func (c *Cursor) fail(what string, err error) {
	if c.err == nil {
		c.err = &Error{Offset: c.off, What: what, Err: err}
		c.b = c.b[:c.off]
	}
}

func (c *Cursor) short(what string, need int) {
	if c.err == nil { // build the message once only
		c.fail(what, fmt.Errorf("%w: %d bytes left of %d", ErrShort, c.Len(), need))
	}
}

// Uint8 reads one byte.
func (c *Cursor) Uint8() uint8 {
	if c.Len() < 1 {
		c.short("uint8", 1)
		return 0
	}
	v := c.b[c.off]
	c.off++
	return v
}

// Uint16 reads two bytes, little-endian.
func (c *Cursor) Uint16() uint16 {
	if c.Len() < 2 {
		c.short("uint16", 2)
		return 0
	}
	v := binary.LittleEndian.Uint16(c.b[c.off:])
	c.off += 2
	return v
}

// Uint32 reads four bytes, little-endian.
func (c *Cursor) Uint32() uint32 {
	if c.Len() < 4 {
		c.short("uint32", 4)
		return 0
	}
	v := binary.LittleEndian.Uint32(c.b[c.off:])
	c.off += 4
	return v
}

// Uint64 reads eight bytes, little-endian.
func (c *Cursor) Uint64() uint64 {
	if c.Len() < 8 {
		c.short("uint64", 8)
		return 0
	}
	v := binary.LittleEndian.Uint64(c.b[c.off:])
	c.off += 8
	return v
}

// Uvarint reads an unsigned varint in its shortest form.
func (c *Cursor) Uvarint() uint64 {
	if c.off < len(c.b) && c.b[c.off] < 0x80 { // most are one byte
		v := c.b[c.off]
		c.off++
		return uint64(v)
	}
	return c.uvarint()
}

func (c *Cursor) uvarint() uint64 {
	v, n := binary.Uvarint(c.b[c.off:])
	switch {
	case n == 0:
		c.short("uvarint", c.Len()+1)
		return 0
	case n < 0:
		c.fail("uvarint", ErrOverflow)
		return 0
	case n > 1 && c.b[c.off+n-1] == 0:
		c.fail("uvarint", ErrOverlong)
		return 0
	}
	c.off += n
	return v
}

// Raw returns the next n bytes, which alias the record; nil after an error. A
// negative n is an error.
func (c *Cursor) Raw(n int) []byte { return c.raw("bytes", n) }

func (c *Cursor) raw(what string, n int) []byte {
	if n < 0 || n > c.Len() {
		c.short(what, n)
		return nil
	}
	if c.err != nil {
		return nil
	}
	b := c.b[c.off : c.off+n : c.off+n] // full: an append by the caller must not write into the record
	c.off += n
	return b
}

// Bytes reads a uvarint length of at most limit and returns that many bytes,
// which alias the record; nil after an error.
func (c *Cursor) Bytes(limit int) []byte { return c.raw("bytes", c.count("length", limit, 1)) }

// String reads like Bytes, and copies.
func (c *Cursor) String(limit int) string {
	return string(c.raw("string", c.count("length", limit, 1)))
}

// Count reads a uvarint that says how many items follow. It must be at most
// limit, and so many items of at least minSize bytes each must fit into the
// bytes left; 0 after an error. So it is safe to allocate by.
func (c *Cursor) Count(limit, minSize int) int { return c.count("count", limit, minSize) }

func (c *Cursor) count(what string, limit, minSize int) int {
	start := c.off
	n := c.Uvarint()
	if n > uint64(max(limit, 0)) {
		c.off = start // the item's own place, not the place after it
		c.fail(what, fmt.Errorf("%w: %d, at most %d", ErrLimit, n, limit))
		return 0
	}
	hi, need := bits.Mul64(n, uint64(max(minSize, 0)))
	if hi != 0 || need > uint64(c.Len()) {
		left := c.Len()
		c.off = start
		c.fail(what, fmt.Errorf("%w: %d of at least %d bytes, %d bytes left", ErrShort, n, minSize, left))
		return 0
	}
	return int(n)
}
