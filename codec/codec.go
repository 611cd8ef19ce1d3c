package codec

import (
	"errors"
	"fmt"
	"runtime"
	"strconv"

	"github.com/segstore/segstore/dict"
)

// ErrCorrupt is wrapped by every error about bytes that no encoder of this
// package wrote: a block that does not decode to its recorded size, streams
// that do not join to the recorded rows.
var ErrCorrupt = errors.New("codec: corrupt data")

// ID says how a block is compressed. Part of the format: add, never change.
type ID uint8

const (
	Raw  ID = 0 // stored as it is
	S2   ID = 1 // one S2 block of github.com/klauspost/compress/s2
	Zstd ID = 2 // one Zstandard frame, RFC 8878
)

// String returns the name of the codec: "raw", "s2" or "zstd".
func (id ID) String() string {
	switch id {
	case Raw:
		return "raw"
	case S2:
		return "s2"
	case Zstd:
		return "zstd"
	}
	return "codec(" + strconv.Itoa(int(id)) + ")"
}

// Codec compresses blocks and gives them back. It is safe for concurrent use,
// keeps no reference to its arguments and leaves no goroutine behind.
type Codec interface {
	// Encode appends the compressed form of src to dst and returns the result; on
	// error dst as it was.
	// The bytes depend on src and on what New was given, neither on Concurrency
	// nor on earlier calls. src and the free part of dst must not overlap.
	Encode(dst, src []byte) ([]byte, error)

	// Decode appends the size bytes that src decodes to, or returns dst as it
	// was and an error that wraps ErrCorrupt. size and src may be hostile: memory
	// is reserved ahead only in proportion to src, and no more than size bytes
	// are ever decoded. Where dst has room for size bytes nothing is allocated.
	// src and the free part of dst must not overlap.
	Decode(dst, src []byte, size int) ([]byte, error)
}

// Options bounds what a Codec uses. Zero fields mean the defaults.
type Options struct {
	// Concurrency is how many Encode, and how many Decode, calls run at once;
	// more wait. Each costs memory: about 0.4, 1.5, 5 and 35 MiB for an encoder of
	// level fastest, default, better and best, twice as much with a dictionary,
	// and the window; 0.2 MiB for a decoder. 1 to 1024, default GOMAXPROCS.
	Concurrency int

	// Encoders, if not 0, is how many Encode calls run at once instead, for those
	// who must bound the memory of many codecs.
	Encoders int

	// Window is the size in bytes of the largest block that will be encoded: the
	// encoder's buffers need not be larger. Larger blocks are still encoded, with
	// matches no farther apart than that. It is rounded up to a power of two and
	// bounded by the level's own window. Default 8 MiB.
	Window int

	// MaxDecoded is the largest size in bytes that Decode accepts. Default 256 MiB.
	MaxDecoded int
}

// MaxMaxDecoded is the largest value of Options.MaxDecoded, in bytes.
const MaxMaxDecoded = 1 << 30

func (o Options) withDefaults() Options {
	if o.Concurrency == 0 {
		o.Concurrency = runtime.GOMAXPROCS(0)
	}
	if o.Encoders == 0 {
		o.Encoders = o.Concurrency
	}
	if o.Window == 0 {
		o.Window = 8 << 20
	}
	if o.MaxDecoded == 0 {
		o.MaxDecoded = 256 << 20
	}
	return o
}

func (o Options) validate() error {
	switch {
	case o.Concurrency < 1 || o.Concurrency > 1<<10:
		return fmt.Errorf("codec: Concurrency %d not in 1..1024", o.Concurrency)
	case o.Encoders < 1 || o.Encoders > 1<<10:
		return fmt.Errorf("codec: Encoders %d not in 1..1024", o.Encoders)
	case o.Window < 1 || o.Window > MaxMaxDecoded:
		return fmt.Errorf("codec: Window %d not in 1..%d", o.Window, MaxMaxDecoded)
	case o.MaxDecoded < 1 || o.MaxDecoded > MaxMaxDecoded:
		return fmt.Errorf("codec: MaxDecoded %d not in 1..%d", o.MaxDecoded, MaxMaxDecoded)
	}
	return nil
}

// New returns the codec of a spec. d is nil if and only if s.Dict is false; it
// is kept. Nothing is allocated for encoding before the first Encode, nor for
// decoding before the first Decode.
//
// A dictionary with a level of 10 or above is refused: the encoder would take
// milliseconds for every block. The level does not matter for decoding, so a
// reader takes any level below that.
func New(s Spec, d *dict.Dict, o Options) (Codec, error) {
	s = s.normal()
	if err := s.Validate(); err != nil {
		return nil, err
	}
	if s.Dict && d == nil {
		return nil, fmt.Errorf("codec: %s needs a dictionary", s)
	}
	if !s.Dict && d != nil {
		return nil, fmt.Errorf("codec: %s takes no dictionary", s)
	}
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	switch s.ID {
	case S2:
		return s2Codec{maxDecoded: o.MaxDecoded}, nil
	case Zstd:
		return newZstd(s, d, o)
	}
	return rawCodec{maxDecoded: o.MaxDecoded}, nil
}
