package segment

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cespare/xxhash/v2"
	"github.com/segstore/segstore/segment/merkle"
)

// Version is the version of the format that this package writes.
const Version = 1

const (
	headerMagic = "\x89SEG\r\n\x1a\n" // a byte above 127 and line ends: text-mode transfers are noticed
	footerMagic = "SEGEND\r\n"
	headerSize  = 64
	footerSize  = 128
)

var (
	errMagic    = errors.New("no magic: not a segment, or cut short")
	errZero     = errors.New("reserved bytes are not zero")
	le          = binary.LittleEndian
	errTooSmall = errors.New("not a segment: shorter than header and footer")
)

// ID names the encoded form of a segment: table, schema, first row, policy and
// dictionaries, not the rows. Checksums of a segment's parts cover it, so that a
// part of another segment does not pass for one of this.
type ID [16]byte

// String returns the ID as 32 lower-case hex digits.
func (id ID) String() string { return fmt.Sprintf("%x", id[:]) }

// features are bits that say what else a file needs or has.
type features struct {
	required  uint32 // a reader that does not know a bit must refuse
	ignorable uint32 // a reader that does not know a bit may go on
}

// check refuses required bits that this version does not know: it knows none.
func (f features) check(version uint32) error {
	if version != Version {
		return fmt.Errorf("%w: format version %d, this one reads %d", ErrVersion, version, Version)
	}
	if f.required != 0 {
		return fmt.Errorf("%w: required features %#x, this one knows none", ErrVersion, f.required)
	}
	return nil
}

// header is the first 64 bytes of a segment, little-endian:
//
//	 0:8   magic               8:12  version
//	12:16  required features  16:20  ignorable features
//	20:24  zero               24:40  ID
//	40:48  first row          48:56  bytes of the front records, which follow
//	56:64  xxh64 of 0:56
type header struct {
	features
	id       ID
	firstRow uint64
	front    uint64
}

func (h *header) appendTo(dst []byte) []byte {
	b := append(dst, make([]byte, headerSize)...)
	p := b[len(dst):]
	copy(p, headerMagic)
	le.PutUint32(p[8:], Version)
	le.PutUint32(p[12:], h.required)
	le.PutUint32(p[16:], h.ignorable)
	copy(p[24:], h.id[:])
	le.PutUint64(p[40:], h.firstRow)
	le.PutUint64(p[48:], h.front)
	le.PutUint64(p[56:], xxhash.Sum64(p[:56]))
	return b
}

// decode reads the 64 bytes b. The checksum comes first: a mismatch is
// corruption, a match with an unknown version is ErrVersion.
func (h *header) decode(b []byte) error {
	if string(b[:8]) != headerMagic {
		return errMagic
	}
	if got, want := xxhash.Sum64(b[:56]), le.Uint64(b[56:]); got != want {
		return &sumError{got, want}
	}
	h.features = features{le.Uint32(b[12:]), le.Uint32(b[16:])}
	if err := h.check(le.Uint32(b[8:])); err != nil {
		return err
	}
	if le.Uint32(b[20:]) != 0 {
		return errZero
	}
	h.id = ID(b[24:40])
	h.firstRow = le.Uint64(b[40:])
	h.front = le.Uint64(b[48:])
	return nil
}

// footer is the last 128 bytes of a segment, little-endian:
//
//	 0:8   magic               8:12  version
//	12:16  required features  16:20  ignorable features
//	20:24  zero               24:40  ID
//	40:48  first row          48:56  rows
//	56:64  bytes of the front records
//	64:72  directory offset   72:80  directory length
//	80:88  directory xxh64    88:120 content root
//	120:128 xxh64 of 0:120
type footer struct {
	features
	id        ID
	firstRow  uint64
	rows      uint64
	front     uint64
	dirOffset uint64
	dirLength uint64
	dirSum    uint64
	root      merkle.Hash
}

func (f *footer) appendTo(dst []byte) []byte {
	b := append(dst, make([]byte, footerSize)...)
	p := b[len(dst):]
	copy(p, footerMagic)
	le.PutUint32(p[8:], Version)
	le.PutUint32(p[12:], f.required)
	le.PutUint32(p[16:], f.ignorable)
	copy(p[24:], f.id[:])
	le.PutUint64(p[40:], f.firstRow)
	le.PutUint64(p[48:], f.rows)
	le.PutUint64(p[56:], f.front)
	le.PutUint64(p[64:], f.dirOffset)
	le.PutUint64(p[72:], f.dirLength)
	le.PutUint64(p[80:], f.dirSum)
	copy(p[88:], f.root[:])
	le.PutUint64(p[120:], xxhash.Sum64(p[:120]))
	return b
}

// decode reads the last 128 bytes of a file of size bytes and checks that the
// sections it names can tile the file.
func (f *footer) decode(b []byte, size int64) error {
	if string(b[:8]) != footerMagic {
		return errMagic
	}
	if got, want := xxhash.Sum64(b[:120]), le.Uint64(b[120:]); got != want {
		return &sumError{got, want}
	}
	f.features = features{le.Uint32(b[12:]), le.Uint32(b[16:])}
	if err := f.check(le.Uint32(b[8:])); err != nil {
		return err
	}
	if le.Uint32(b[20:]) != 0 {
		return errZero
	}
	f.id = ID(b[24:40])
	f.firstRow = le.Uint64(b[40:])
	f.rows = le.Uint64(b[48:])
	f.front = le.Uint64(b[56:])
	f.dirOffset = le.Uint64(b[64:])
	f.dirLength = le.Uint64(b[72:])
	f.dirSum = le.Uint64(b[80:])
	f.root = merkle.Hash(b[88:120])
	end := uint64(size) - footerSize
	switch {
	case f.rows == 0 || f.firstRow+f.rows < f.firstRow:
		return fmt.Errorf("rows %d from %d", f.rows, f.firstRow)
	case f.dirOffset > end || f.dirLength != end-f.dirOffset:
		return fmt.Errorf("directory at %d+%d does not end at the footer, %d", f.dirOffset, f.dirLength, end)
	case f.dirLength > maxDirectoryBytes:
		return fmt.Errorf("directory of %d bytes, at most %d", f.dirLength, maxDirectoryBytes)
	case f.front > maxFrontBytes || headerSize+f.front > f.dirOffset:
		return fmt.Errorf("front records of %d bytes before a directory at %d", f.front, f.dirOffset)
	}
	return nil
}
