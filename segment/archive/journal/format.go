package journal

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cespare/xxhash/v2"
)

// Version is the version of the format that this package writes.
const Version = 1

const (
	headMagic   = "\x89SEGLOG\n"
	recordMagic = "RCRD"

	headSize   = 64
	recordHead = 32
	recordTail = 8

	// MaxBody is the most bytes of a log's body, MaxRecord of one record.
	MaxBody   = 256 << 20
	MaxRecord = 512 << 20
)

var le = binary.LittleEndian

// What a caller may ask of an error with errors.Is.
var (
	ErrVersion = errors.New("journal: newer version")
	ErrDamaged = errors.New("journal: damaged") // the error is an *Error
	ErrTooLong = errors.New("journal: record too long")
	ErrTorn    = errors.New("journal: not whole") // of a head: the log's making was interrupted
)

// Error is damage, and its place.
type Error struct {
	Offset int64 // in the file
	Length int64 // of what cannot be read, 0 where nobody knows
	Err    error
}

// Error returns place and cause in one line.
func (e *Error) Error() string {
	return fmt.Sprintf("damaged at offset %d, %d bytes: %v", e.Offset, e.Length, e.Err)
}

// Unwrap returns ErrDamaged and the cause.
func (e *Error) Unwrap() []error { return []error{ErrDamaged, e.Err} }

// Head is what the head of a log says:
//
//	0:8 magic  8:4 version  12:4 zero  16:8 number  24:8 sequence number of the first record
//	32:8 end of the log before  40:8 length of the body  48:8 zero  56:8 xxh64 of 0:56
type Head struct {
	Number   uint64 // of the log, from 1
	Sequence uint64 // of its first record
	Previous int64  // up to where the log before this one counts; 0 where there is none
	Body     []byte // what the records need to be understood
}

func (h *Head) appendTo(dst []byte) []byte {
	var b [headSize]byte
	copy(b[:], headMagic)
	le.PutUint32(b[8:], Version)
	le.PutUint64(b[16:], h.Number)
	le.PutUint64(b[24:], h.Sequence)
	le.PutUint64(b[32:], uint64(h.Previous))
	le.PutUint64(b[40:], uint64(len(h.Body)))
	le.PutUint64(b[56:], xxhash.Sum64(b[:56]))
	dst = append(dst, b[:]...)
	dst = append(dst, h.Body...)
	return le.AppendUint64(dst, bodySum(h.Number, h.Body))
}

func bodySum(number uint64, body []byte) uint64 {
	var p [32]byte // one stripe of xxh64: nothing is buffered
	copy(p[:], headMagic)
	le.PutUint64(p[8:], number)
	var d xxhash.Digest
	d.Reset()
	d.Write(p[:])
	d.Write(body)
	return d.Sum64()
}

// decodeHead reads the fixed part of a head; n is the length of the body.
func decodeHead(b []byte) (h Head, n int64, err error) {
	if string(b[:8]) != headMagic {
		return h, 0, errors.New("not a log: no magic")
	}
	if got, want := xxhash.Sum64(b[:56]), le.Uint64(b[56:]); got != want {
		return h, 0, fmt.Errorf("checksum of the head is %016x, recorded %016x", got, want)
	}
	if v := le.Uint32(b[8:]); v != Version {
		return h, 0, fmt.Errorf("%w: log of version %d, this one reads %d", ErrVersion, v, Version)
	}
	h = Head{Number: le.Uint64(b[16:]), Sequence: le.Uint64(b[24:]), Previous: int64(le.Uint64(b[32:]))}
	length := le.Uint64(b[40:])
	switch {
	case le.Uint32(b[12:]) != 0 || le.Uint64(b[48:]) != 0:
		return h, 0, errors.New("reserved bytes are not zero")
	case h.Previous < 0 || h.Number == 0:
		return h, 0, fmt.Errorf("log %d, log before it of %d bytes", h.Number, h.Previous)
	case length > MaxBody:
		return h, 0, fmt.Errorf("body of %d bytes, at most %d", length, MaxBody)
	}
	return h, int64(length), nil
}

// Record is one record. Its bytes are valid until the next one is read.
type Record struct {
	Sequence uint64
	Kind     uint8
	Bytes    []byte
	Offset   int64 // of Bytes in the file
}

// A record's head is 0:4 magic, 4:4 length of the bytes, 8:8 sequence number, 16:1
// kind, 17:7 zero, 24:8 up to where the file was durable when the record was written.
func appendRecordHead(dst []byte, kind uint8, sequence uint64, durable int64, n int) []byte {
	var b [recordHead]byte
	copy(b[:], recordMagic)
	le.PutUint32(b[4:], uint32(n))
	le.PutUint64(b[8:], sequence)
	b[16] = kind
	le.PutUint64(b[24:], uint64(durable))
	return append(dst, b[:]...)
}

// recordSum is the checksum of a record that lies at offset of log number: over
// both, and head and bytes.
func recordSum(number uint64, offset int64, headAndBytes []byte) uint64 {
	var p [32]byte
	copy(p[:], recordMagic)
	le.PutUint64(p[8:], number)
	le.PutUint64(p[16:], uint64(offset))
	var d xxhash.Digest
	d.Reset()
	d.Write(p[:])
	d.Write(headAndBytes)
	return d.Sum64()
}
