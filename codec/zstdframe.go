package codec

import (
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// maxBlock is the most bytes a block of a frame decodes to (RFC 8878, 3.1.1.2.3).
const maxBlock = 128 << 10

// frameInfo is what the headers of a frame and its blocks say.
type frameInfo struct {
	size    uint64 // decoded bytes, if hasSize
	hasSize bool
	most    uint64 // no more than this can be decoded
	dictID  uint32
	sum     bool // a checksum follows the blocks
	header  int  // bytes before the first block
}

var errTrailing = errors.New("bytes after the frame")

// parseFrame walks the headers of src, which must be exactly one frame: what
// follows a frame would be decoded as another one.
func parseFrame(src []byte) (frameInfo, error) {
	var h zstd.Header
	if err := h.Decode(src); err != nil {
		return frameInfo{}, fmt.Errorf("frame header: %w", err)
	}
	if h.Skippable {
		return frameInfo{}, errors.New("skippable frame")
	}
	f := frameInfo{
		size: h.FrameContentSize, hasSize: h.HasFCS,
		dictID: h.DictionaryID, sum: h.HasCheckSum, header: h.HeaderSize,
	}
	for pos, last := f.header, false; ; {
		left := len(src) - pos
		if last {
			if want := checksumSize(f.sum); left != want {
				return f, fmt.Errorf("%w: %d, expected %d", errTrailing, left, want)
			}
			return f, nil
		}
		if left < 3 {
			return f, errors.New("block header: frame ends early")
		}
		// Block header (3.1.1.2): 1 bit last, 2 bits type, 21 bits size.
		bh := uint32(src[pos]) | uint32(src[pos+1])<<8 | uint32(src[pos+2])<<16
		n := int(bh >> 3)
		last = bh&1 != 0
		stored := n
		switch bh >> 1 & 3 {
		case 0: // raw
			f.most += uint64(n)
		case 1: // one byte, n times
			f.most += uint64(n)
			stored = 1
		case 2: // compressed
			f.most += maxBlock
		case 3:
			return f, errors.New("block header: reserved type")
		}
		if stored > left-3 {
			return f, fmt.Errorf("block of %d bytes, %d left", stored, left-3)
		}
		pos += 3 + stored
	}
}

func checksumSize(sum bool) int {
	if sum {
		return 4
	}
	return 0
}

// withoutSize returns a copy of src, the frame that f describes, without its
// content size, by which the decoder would allocate. Its window is the largest,
// which costs nothing where the output is in one piece.
func (f frameInfo) withoutSize(src []byte) []byte {
	h := zstd.Header{WindowSize: MaxMaxDecoded, DictionaryID: f.dictID, HasCheckSum: f.sum}
	out, _ := h.AppendTo(make([]byte, 0, zstd.HeaderMaxSize+len(src))) // errs never
	return append(out, src[f.header:]...)
}
