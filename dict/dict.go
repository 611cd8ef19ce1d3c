package dict

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"

	"github.com/klauspost/compress/zstd"
)

// Kind is the form of a dictionary. Part of the format: add, never change.
type Kind uint8

const (
	Zstd       Kind = 1 // RFC 8878, section 5: magic, id, entropy tables, repeat offsets, content
	RawContent Kind = 2 // content alone
)

// String returns "zstd", "raw", or the number of an unknown kind.
func (k Kind) String() string {
	switch k {
	case Zstd:
		return "zstd"
	case RawContent:
		return "raw"
	}
	return "kind(" + strconv.Itoa(int(k)) + ")"
}

// MarshalText returns the name of the kind.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads the name of a kind.
func (k *Kind) UnmarshalText(text []byte) error {
	for _, known := range []Kind{Zstd, RawContent} {
		if string(text) == known.String() {
			*k = known
			return nil
		}
	}
	return fmt.Errorf("dict: kind %q, want zstd or raw", text)
}

// Sizes a dictionary may have, in bytes. Below 8 bytes zstd ignores a dictionary without saying so.
const (
	MinBytes = 8
	MaxBytes = 1 << 20
)

// ErrInvalid is wrapped by every error of New and Parse.
var ErrInvalid = errors.New("invalid dictionary")

// magic begins every dictionary of kind Zstd: EC30A437 in little-endian (RFC 8878, section 5).
const magic = 0xEC30A437

// Dict is a dictionary: its kind and its bytes. It is immutable and safe for concurrent use.
type Dict struct {
	kind     Kind
	bytes    []byte
	id       [32]byte
	zstdID   uint32
	fallback string
}

// New returns the dictionary made of b, which it takes over: the caller must not change b after. b is 8 bytes to 1 MiB.
// A Zstd dictionary must load in the compressor; RawContent must not begin with the magic of one, because other
// programs would take it for one. Any input is safe: errors wrap ErrInvalid.
func New(kind Kind, b []byte) (*Dict, error) {
	if len(b) < MinBytes || len(b) > MaxBytes {
		return nil, fmt.Errorf("dict: %w: %d bytes, want %d to %d", ErrInvalid, len(b), MinBytes, MaxBytes)
	}
	d := &Dict{kind: kind, bytes: b, id: sha256.Sum256(b)}
	switch kind {
	case Zstd:
		id, err := inspect(b)
		if err != nil {
			return nil, fmt.Errorf("dict: %w: %w", ErrInvalid, err)
		}
		d.zstdID = id
	case RawContent:
		if hasMagic(b) {
			return nil, fmt.Errorf("dict: %w: raw content begins with the magic of a zstd dictionary", ErrInvalid)
		}
	default:
		return nil, fmt.Errorf("dict: %w: %v", ErrInvalid, kind)
	}
	return d, nil
}

// Parse is New for bytes of unknown kind: Zstd if they begin with its magic, else RawContent, as `zstd -D` decides.
func Parse(b []byte) (*Dict, error) {
	if hasMagic(b) {
		return New(Zstd, b)
	}
	return New(RawContent, b)
}

// ID returns the SHA-256 of Bytes: the name of the dictionary.
func (d *Dict) ID() [32]byte { return d.id }

// Bytes returns the dictionary as it is stored. The caller must not change it.
func (d *Dict) Bytes() []byte { return d.bytes }

// Kind returns the form of the dictionary.
func (d *Dict) Kind() Kind { return d.kind }

// ZstdID returns the id that frames compressed with the dictionary carry: 1 for what this package trains (one byte a
// frame), an imported dictionary's own, 0 (no byte) for RawContent. It does not identify the dictionary: ID does.
func (d *Dict) ZstdID() uint32 { return d.zstdID }

// Fallback returns why Train kept RawContent where it meant to make a Zstd dictionary; empty for all others.
func (d *Dict) Fallback() string { return d.fallback }

// String returns kind, size and the first digits of the ID: "zstd 65536 B 1f0c93ab…".
func (d *Dict) String() string {
	return fmt.Sprintf("%v %d B %x…", d.kind, len(d.bytes), d.id[:4])
}

func hasMagic(b []byte) bool {
	return len(b) >= 4 && binary.LittleEndian.Uint32(b) == magic
}

// inspect loads a Zstd dictionary as the compressor will and returns its id. What it allocates is bounded by len(b).
func inspect(b []byte) (id uint32, err error) {
	err = guard(func() error {
		d, err := zstd.InspectDictionary(b)
		if err != nil {
			return err
		}
		id = d.ID()
		return nil
	})
	return id, err
}

// guard runs f and returns a panic of the compressor as an error: its dictionary code has had several.
func guard(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return f()
}
