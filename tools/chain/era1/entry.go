package era1

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/segstore/segstore/tools/chain"
)

// entryType is the type of an entry of an e2store file. Part of the format.
type entryType uint16

const (
	typeVersion     entryType = 0x3265
	typeHeader      entryType = 0x03
	typeBody        entryType = 0x04
	typeReceipts    entryType = 0x05
	typeDifficulty  entryType = 0x06
	typeAccumulator entryType = 0x07
	typeIndex       entryType = 0x3266
)

// String returns the type in hex, and its name where it has one.
func (t entryType) String() string {
	switch t { // constants: this is asked for at every entry
	case typeVersion:
		return "entry type 0x3265 (version)"
	case typeHeader:
		return "entry type 0x0003 (compressed header)"
	case typeBody:
		return "entry type 0x0004 (compressed body)"
	case typeReceipts:
		return "entry type 0x0005 (compressed receipts)"
	case typeDifficulty:
		return "entry type 0x0006 (total difficulty)"
	case typeAccumulator:
		return "entry type 0x0007 (accumulator)"
	case typeIndex:
		return "entry type 0x3266 (block index)"
	}
	return fmt.Sprintf("entry type 0x%04x", uint16(t))
}

// ofBlock reports whether entries of the type belong to a block.
func (t entryType) ofBlock() bool { return t >= typeHeader && t <= typeDifficulty }

const (
	entryHeader     = 8    // bytes before an entry's data: type (2), length (4), two zero bytes; little-endian
	maxBlocks       = 8192 // of a file: the accumulator's limit
	accumulatorSize = 32
	difficultySize  = 32
	maxTail         = 16 << 20 // bytes of other entries and accumulator, after the last block
)

func appendEntry(dst []byte, t entryType, data []byte) []byte {
	return append(appendEntryHeader(dst, t, len(data)), data...)
}

func appendEntryHeader(dst []byte, t entryType, n int) []byte {
	dst = binary.LittleEndian.AppendUint16(dst, uint16(t))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(n))
	return append(dst, 0, 0)
}

// entry is the header of an entry of a file.
type entry struct {
	offset int64 // of its header
	kind   entryType
	size   int // of its data
}

// nextEntry reads the header of the next entry, where want is expected; its data come next and are as long as is said, where
// the size of the file is known.
func nextEntry(in *chain.Input, want string) (entry, error) {
	e := entry{offset: in.Offset()}
	b, err := in.Peek(entryHeader)
	switch {
	case err != nil:
		return e, err
	case len(b) < entryHeader:
		return e, in.Fail(e.offset, want, fmt.Errorf("%w, at byte %d", chain.ErrTruncated, e.offset+int64(len(b))))
	}
	e.kind = entryType(binary.LittleEndian.Uint16(b))
	n, reserved := binary.LittleEndian.Uint32(b[2:]), binary.LittleEndian.Uint16(b[6:])
	switch left := in.Left() - entryHeader; {
	case reserved != 0:
		return e, in.Fail(e.offset, want, fmt.Errorf("%v: reserved bytes are 0x%04x, not 0", e.kind, reserved))
	case n > math.MaxInt32:
		return e, in.Fail(e.offset, want, fmt.Errorf("%v of %d bytes", e.kind, n))
	case left >= 0 && int64(n) > left:
		return e, in.Fail(e.offset+entryHeader, fmt.Sprintf("%v of %d bytes", e.kind, n), fmt.Errorf("%w, at byte %d", chain.ErrTruncated, e.offset+entryHeader+left))
	}
	e.size = int(n)
	return e, in.Skip(entryHeader, want)
}

// expect reads the header of the next entry, which must be of kind t.
func expect(in *chain.Input, t entryType) (entry, error) {
	e, err := nextEntry(in, t.String())
	if err == nil && e.kind != t {
		err = in.Fail(e.offset, t.String(), fmt.Errorf("%v", e.kind))
	}
	return e, err
}
