package era1

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"

	"github.com/segstore/segstore/codec/wire"
	"github.com/segstore/segstore/tools/chain"
)

// extra is what the table sources keeps of a file beyond the common columns: uvarint version 1; a byte that is 1 where this
// package's encoder gives the file's bytes back, else 0; the SHA-256 of the content.
type extra struct {
	reproducible bool
	content      chain.Sum
}

const extraVersion = 1

func (x *extra) append(dst []byte) []byte {
	dst = append(wire.AppendUvarint(dst, extraVersion), 0)
	if x.reproducible {
		dst[len(dst)-1] = 1
	}
	return append(dst, x.content[:]...)
}

func (x *extra) parse(b []byte) error {
	c := wire.NewCursor(b)
	if v := c.Uvarint(); c.Err() == nil && v != extraVersion {
		return fmt.Errorf("era1: sources: extra: version %d, not %d", v, extraVersion)
	}
	flag := c.Uint8()
	if flag > 1 {
		c.Fail(fmt.Errorf("flag %d is not 0 or 1", flag))
	}
	x.reproducible = flag == 1
	copy(x.content[:], c.Raw(len(x.content)))
	if err := c.Close(); err != nil {
		return fmt.Errorf("era1: sources: extra: %w", err)
	}
	return nil
}

// content hashes what a file says, however it was compressed: of each entry the type (2 bytes, little-endian), the length of its
// decompressed data (8 bytes) and those data; of the block index the first number and the count only, since its offsets follow
// from the lengths of the entries.
type content struct {
	h       hash.Hash
	scratch [10]byte
}

func newContent() content { return content{h: sha256.New()} }

func (c *content) add(t entryType, data []byte) {
	binary.LittleEndian.PutUint16(c.scratch[:], uint16(t))
	binary.LittleEndian.PutUint64(c.scratch[2:], uint64(len(data)))
	c.h.Write(c.scratch[:])
	c.h.Write(data)
}

func (c *content) index(first, blocks uint64) {
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:], first)
	binary.LittleEndian.PutUint64(b[8:], blocks)
	c.add(typeIndex, b[:])
}

func (c *content) sum() chain.Sum { return chain.Sum(c.h.Sum(nil)) }
