// Package wire appends and reads the binary records of a segment file.
//
// Integers are little-endian; counts and lengths are unsigned LEB128 varints as
// in encoding/binary, at most ten bytes and always in their shortest form, so
// that a record has exactly one encoding. A byte string is its uvarint length
// and its bytes.
//
// Writing is appending to a slice. Reading goes through a Cursor, which keeps
// its first error: after it every read returns a zero value, so that a parser
// reads as its layout does and checks once at the end:
//
//	c := wire.NewCursor(b)
//	first, rows := c.Uint64(), c.Uvarint()
//	lengths := make([]uint32, 0, c.Count(maxBlocks, 1)) // bounded by what is left
//	for range cap(lengths) {
//		lengths = append(lengths, c.Uint32())
//	}
//	if err := c.Close(); err != nil { // also when bytes are left over
//		return err
//	}
//
// Nothing here trusts a length: it is checked against the caller's maximum and
// against the bytes left before anything is made of it. The package allocates
// only for errors and for String.
package wire
