package codec

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/segstore/segstore/dict"
)

// zstdCodec writes frames with content size and without checksum. All calls
// share one encoder and one decoder, since making them costs more than a small
// block does; each is made when first used and holds no goroutine.
type zstdCodec struct {
	maxDecoded int
	window     int // of the encoder
	encoder    func() (*zstd.Encoder, error)
	decoder    func() (*zstd.Decoder, error)
}

var _ Codec = (*zstdCodec)(nil)

const (
	// minWindow is the largest block of a frame: a smaller window would cut the
	// input into smaller blocks, each with its own tables.
	minWindow = 128 << 10

	// decodeSlack is how far behind the output the fast copies of the decoder may
	// write; without that much room it uses slower ones.
	decodeSlack = 32
)

func newZstd(s Spec, d *dict.Dict, o Options) (Codec, error) {
	if s.Dict && !s.TakesDict() {
		return nil, fmt.Errorf("codec: %s: no dictionary at level %d and above", s, minBestLevel)
	}
	level := zstd.EncoderLevelFromZstd(s.Level)
	c := &zstdCodec{maxDecoded: o.MaxDecoded, window: encoderWindow(level, o.Window, d)}
	c.encoder = sync.OnceValues(func() (*zstd.Encoder, error) {
		// The level first: it sets the window and, for fastest, the size of blocks.
		options := []zstd.EOption{
			zstd.WithEncoderLevel(level),
			zstd.WithWindowSize(c.window),
			zstd.WithEncoderConcurrency(o.Encoders),
			zstd.WithEncoderCRC(false),     // the segment's own sum covers the stored bytes
			zstd.WithSingleSegment(true),   // else frames below 256 bytes have no content size
			zstd.WithLowerEncoderMem(true), // no slower while blocks fit the window
			zstd.WithZeroFrames(true),
		}
		if d != nil && d.Kind() == dict.Zstd {
			options = append(options, zstd.WithEncoderDict(d.Bytes()))
		} else if d != nil {
			options = append(options, zstd.WithEncoderDictRaw(0, d.Bytes()))
		}
		return zstd.NewWriter(nil, options...)
	})
	c.decoder = sync.OnceValues(func() (*zstd.Decoder, error) {
		options := []zstd.DOption{
			zstd.WithDecoderConcurrency(o.Concurrency),
			zstd.WithDecodeAllCapLimit(true), // never more than the room we give
			zstd.WithDecoderMaxMemory(2 * MaxMaxDecoded),
			zstd.WithDecoderMaxWindow(MaxMaxDecoded), // costs nothing here: the output is the window
		}
		if d != nil && d.Kind() == dict.Zstd {
			options = append(options, zstd.WithDecoderDicts(d.Bytes()))
		} else if d != nil {
			options = append(options, zstd.WithDecoderDictRaw(0, d.Bytes()))
		}
		return zstd.NewReader(nil, options...)
	})
	return c, nil
}

// encoderWindow returns the smallest power of two that holds a block of size
// bytes and the dictionary before it, within what the level uses by itself.
func encoderWindow(level zstd.EncoderLevel, size int, d *dict.Dict) int {
	if d != nil {
		size += len(d.Bytes())
	}
	most := 8 << 20
	if level == zstd.SpeedFastest {
		most = 4 << 20
	}
	return 1 << bits.Len(uint(min(max(size, minWindow), most)-1))
}

// Encode implements Codec.
func (c *zstdCodec) Encode(dst, src []byte) (out []byte, err error) {
	if len(src) > MaxMaxDecoded {
		return dst, fmt.Errorf("codec: zstd: block of %d bytes, at most %d", len(src), MaxMaxDecoded)
	}
	e, err := c.encoder()
	if err != nil {
		return dst, fmt.Errorf("codec: zstd encoder: %w", err)
	}
	defer func() { // the library asserts; a foreign dictionary must not end the process
		if p := recover(); p != nil {
			out, err = dst, fmt.Errorf("codec: zstd encoder: panic: %v", p)
		}
	}()
	start := len(dst)
	out = e.EncodeAll(src, dst)
	if len(src) > c.window {
		out = withWindow(out, start, c.window)
	}
	return out, nil
}

// withWindow gives the single-segment frame at out[start:] a window descriptor
// (RFC 8878, 3.1.1.1.2): a block larger than the encoder's window need not be
// held in one piece to be decoded, and other decoders refuse large pieces.
func withWindow(out []byte, start, window int) []byte {
	const descriptor, singleSegment, minWindowLog = 4, 1 << 5, 10
	out[start+descriptor] &^= singleSegment
	return slices.Insert(out, start+descriptor+1, byte(bits.Len(uint(window-1))-minWindowLog)<<3)
}

// Decode implements Codec.
func (c *zstdCodec) Decode(dst, src []byte, size int) (out []byte, err error) {
	if size < 0 || size > c.maxDecoded {
		return dst, fmt.Errorf("%w: zstd: size %d not in 0..%d", ErrCorrupt, size, c.maxDecoded)
	}
	frame, err := parseFrame(src)
	if err != nil {
		return dst, fmt.Errorf("%w: zstd: %w", ErrCorrupt, err)
	}
	if frame.hasSize && frame.size != uint64(size) {
		return dst, fmt.Errorf("%w: zstd: frame of %d bytes, recorded %d", ErrCorrupt, frame.size, size)
	}
	if uint64(size) > frame.most {
		return dst, fmt.Errorf("%w: zstd: frame of at most %d bytes, recorded %d", ErrCorrupt, frame.most, size)
	}
	d, err := c.decoder()
	if err != nil {
		return dst, fmt.Errorf("codec: zstd decoder: %w", err)
	}
	if !proportionate(size, len(src)) && cap(dst)-len(dst) < size {
		return decodeGrowing(d, dst, frame.withoutSize(src), size)
	}
	dst = grow(dst, size+decodeSlack, size)
	return decodeInto(d, dst, src, size)
}

// proportionate reports whether n bytes of input justify reserving size bytes
// before any of it is decoded.
func proportionate(size, n int) bool { return size <= max(1<<20, 256*n) }

// grow returns dst with room for n more bytes if it has not room for least.
func grow(dst []byte, n, least int) []byte {
	if cap(dst)-len(dst) >= least {
		return dst
	}
	return slices.Grow(dst, n)
}

// decodeInto decodes src, a frame, behind dst, which has room for size bytes.
func decodeInto(d *zstd.Decoder, dst, src []byte, size int) ([]byte, error) {
	// The decoder gets a slice of its own, or it would count what is in dst
	// already against its limits, and take it for its history.
	room := min(cap(dst)-len(dst), size+decodeSlack)
	got, err := decodeAll(d, src, dst[len(dst):len(dst):len(dst)+room])
	if err != nil {
		return dst, fmt.Errorf("%w: zstd: %w", ErrCorrupt, err)
	}
	if len(got) != size {
		return dst, fmt.Errorf("%w: zstd: frame of %d bytes, recorded %d", ErrCorrupt, len(got), size)
	}
	if size > 0 && &got[0] != &dst[:len(dst)+1][len(dst)] { // moved: the decoder wanted more room while decoding
		return append(dst, got...), nil
	}
	return dst[:len(dst)+size], nil
}

// decodeGrowing decodes src, a frame without content size, into room that is
// doubled whenever decoding has filled it, so that what is allocated stays in
// proportion to what was decoded.
func decodeGrowing(d *zstd.Decoder, dst, src []byte, size int) ([]byte, error) {
	for room := max(1<<20, 256*len(src)); ; room *= 2 {
		room = min(room, size+decodeSlack)
		got, err := decodeAll(d, src, make([]byte, 0, room))
		switch {
		case err == nil && len(got) == size:
			return append(dst, got...), nil
		case err == nil:
			return dst, fmt.Errorf("%w: zstd: frame of %d bytes, recorded %d", ErrCorrupt, len(got), size)
		case room >= size+decodeSlack || room-len(got) > maxBlock+decodeSlack:
			return dst, fmt.Errorf("%w: zstd: %w", ErrCorrupt, err) // not for want of room
		}
	}
}

// decodeAll is d.DecodeAll with a panic turned into an error.
func decodeAll(d *zstd.Decoder, src, dst []byte) (out []byte, err error) {
	defer func() { // the library asserts; see Encode
		if p := recover(); p != nil {
			out, err = nil, fmt.Errorf("panic: %v", p)
		}
	}()
	out, err = d.DecodeAll(src, dst)
	if errors.Is(err, zstd.ErrUnknownDictionary) {
		return nil, errors.New("frame of another dictionary")
	}
	return out, err
}
