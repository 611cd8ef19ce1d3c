package segment

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"slices"

	"github.com/cespare/xxhash/v2"
	"github.com/segstore/segstore/codec"
	"github.com/segstore/segstore/codec/wire"
)

const (
	frameMagic   = "CHNK"
	minFrame     = len(frameMagic) + 2 + 8
	minBlock     = 1 + 1 + 8
	maxChunkRows = 1 << 16
	maxChunks    = 1 << 28
	maxRoom      = 2 * maxBlock                  // bytes of all blocks of a chunk before compression
	maxBlock     = MaxRowBytes + maxChunkRows*16 // bytes of a block before compression: a row, or a chunk of many
)

// chunkTable says where the chunks of a segment are and what they hold: 24
// bytes of memory a chunk and 4 a block.
type chunkTable struct {
	blocks int      // blocks a chunk
	first  []uint64 // first row of each chunk, and one past the last row
	offset []int64  // place of each chunk's frame, and one past the last chunk
	lens   []uint32 // stored bytes of each block of each chunk, 0 where all its streams are empty
	sums   []uint64 // checksum of each frame
}

func newChunkTable(blocks int, firstRow uint64, offset int64) *chunkTable {
	return &chunkTable{blocks: blocks, first: []uint64{firstRow}, offset: []int64{offset}}
}

// grow makes room for n chunks: a table that grows by itself takes twice its memory.
func (t *chunkTable) grow(n int) {
	t.first, t.offset = slices.Grow(t.first, n), slices.Grow(t.offset, n)
	t.lens, t.sums = slices.Grow(t.lens, n*t.blocks), slices.Grow(t.sums, n)
}

func (t *chunkTable) len() int               { return len(t.sums) }
func (t *chunkTable) rows(i int) int         { return int(t.first[i+1] - t.first[i]) }
func (t *chunkTable) endRow() uint64         { return t.first[len(t.first)-1] }
func (t *chunkTable) end() int64             { return t.offset[len(t.offset)-1] }
func (t *chunkTable) lengths(i int) []uint32 { return t.lens[i*t.blocks : (i+1)*t.blocks] }

// place returns where chunk i's blocks from to to-1 lie.
func (t *chunkTable) place(i, from, to int) (off int64, n int) {
	l := t.lengths(i)
	off = t.offset[i+1]
	for _, v := range l[from:] {
		off -= int64(v)
	}
	for _, v := range l[from:to] {
		n += int(v)
	}
	return off, n
}

// find returns the chunk that holds row.
func (t *chunkTable) find(row uint64) int {
	lo, hi := 0, t.len()-1
	for lo < hi {
		mid := int(uint(lo+hi+1) / 2)
		if t.first[mid] <= row {
			lo = mid
		} else {
			hi = mid - 1
		}
	}
	return lo
}

// within returns one past the last chunk from i on that ends within limit bytes of
// i's frame; at least i+1.
func (t *chunkTable) within(i, limit int) int {
	most := t.offset[i] + int64(limit)
	for i++; i < t.len() && t.offset[i+1] <= most; i++ {
	}
	return i
}

// memory returns about the bytes that chunk i takes in memory: stored, and of a
// single row, which may be a giant that compresses well, before compression.
func (t *chunkTable) memory(r io.ReaderAt, i int) (int, error) {
	off, n := t.place(i, 0, t.blocks)
	if t.rows(i) > 1 {
		return n, nil
	}
	size := n
	var head [1 + binary.MaxVarintLen32]byte
	for _, stored := range t.lengths(i) {
		if int(stored) >= minBlock {
			h := head[:min(len(head), int(stored)-8)]
			if err := readFull(r, h, off); err != nil {
				return 0, err
			}
			raw, _ := binary.Uvarint(h[1:]) // checked when the block is decoded
			size += int(min(raw, maxBlock))
		}
		off += int64(stored)
	}
	return size, nil
}

// add appends the chunk that follows the last one.
func (t *chunkTable) add(rows int, lens []uint32, sum uint64) {
	first := t.endRow()
	size := int64(frameSize(first, rows, lens))
	for _, n := range lens {
		size += int64(n)
	}
	t.first = append(t.first, first+uint64(rows))
	t.offset = append(t.offset, t.end()+size)
	t.lens = append(t.lens, lens...)
	t.sums = append(t.sums, sum)
}

// appendFrame appends the head of a chunk: magic, first row, rows, the length of
// each block (uvarints), and the checksum. The directory repeats all of it.
func appendFrame(dst []byte, first uint64, rows int, lens []uint32, sum uint64) []byte {
	dst = appendFrameHead(dst, first, rows, lens)
	return wire.AppendUint64(dst, sum)
}

func appendFrameHead(dst []byte, first uint64, rows int, lens []uint32) []byte {
	dst = append(dst, frameMagic...)
	dst = wire.AppendUvarint(dst, first)
	dst = wire.AppendUvarint(dst, uint64(rows))
	for _, n := range lens {
		dst = wire.AppendUvarint(dst, uint64(n))
	}
	return dst
}

func frameSize(first uint64, rows int, lens []uint32) int {
	n := len(frameMagic) + uvarintSize(first) + uvarintSize(uint64(rows)) + 8
	for _, l := range lens {
		n += uvarintSize(uint64(l))
	}
	return n
}

func uvarintSize(v uint64) int { return (bits.Len64(v|1) + 6) / 7 }

// frameSum is the checksum of a frame: xxh64 over ID, the frame before its checksum,
// and the checksum of each block that is there; blocks are those of lens, one behind
// another. What is hashed is gathered in dst, which is returned to be used again.
func frameSum(dst []byte, id ID, head []byte, lens []uint32, blocks []byte) (uint64, []byte) {
	dst = append(append(dst[:0], id[:]...), head...)
	end := 0
	for _, n := range lens {
		if end += int(n); n >= minBlock {
			dst = append(dst, blocks[end-8:end]...)
		}
	}
	return xxhash.Sum64(dst), dst
}

// frame is a frame as it was read.
type frame struct {
	first uint64
	rows  int
	lens  []uint32 // of the blocks
	size  int      // bytes of the frame itself
	sum   uint64
}

var errFrame = errors.New("not a frame: no magic")

// checkLengths checks the stored bytes of a chunk's blocks: what it holds is limited,
// and no block is longer than what it holds by more than its head and checksum.
func checkLengths(lens []uint32) error {
	total := uint64(0)
	for _, n := range lens {
		total += uint64(n)
	}
	if most := uint64(maxRoom + len(lens)*(minBlock+16)); total > most {
		return fmt.Errorf("chunk of %d stored bytes, at most %d", total, most)
	}
	return nil
}

// decodeFrame reads the frame at the start of b, which may go on beyond it; lens,
// one a block, takes the lengths.
func decodeFrame(b []byte, lens []uint32) (frame, error) {
	c := wire.NewCursor(b)
	if m := c.Raw(len(frameMagic)); string(m) != frameMagic {
		return frame{}, errFrame
	}
	f := frame{first: c.Uvarint(), rows: c.Count(maxChunkRows, 0), lens: lens}
	for i := range f.lens {
		f.lens[i] = uint32(c.Count(maxBlock+minBlock+16, 0))
	}
	f.sum = c.Uint64()
	f.size = c.Offset()
	if err := c.Err(); err != nil {
		return frame{}, err
	}
	if f.rows == 0 || f.first+uint64(f.rows) < f.first {
		return frame{}, fmt.Errorf("frame of %d rows from %d", f.rows, f.first)
	}
	return f, checkLengths(f.lens)
}

// maxFrameSize is the most bytes a frame of a layout can have.
func maxFrameSize(blocks int) int { return len(frameMagic) + 10 + 3 + 5*blocks + 8 }

// A block, as it is stored:
//
//	0:1 codec    uvarint bytes before compression    stored bytes    xxh64
//
// Before compression it is the uvarint lengths of all its streams but the last,
// then the streams. A block whose streams are all empty is not stored.
//
// blockSum is its checksum: xxh64 over ID, column (4 bytes), block of the column
// (4), first row of the chunk (8), and the block before its checksum.
func blockSum(id ID, column, block int, first uint64, b []byte) uint64 {
	var p [32]byte // one stripe of xxh64: nothing is buffered
	copy(p[:], id[:])
	le.PutUint32(p[16:], uint32(column))
	le.PutUint32(p[20:], uint32(block))
	le.PutUint64(p[24:], first)
	var d xxhash.Digest
	d.Reset()
	d.Write(p[:])
	d.Write(b)
	return d.Sum64()
}

// checkBlock checks a block's length and checksum.
func checkBlock(id ID, column, block int, first uint64, b []byte) error {
	if len(b) < minBlock {
		return fmt.Errorf("block of %d bytes, at least %d", len(b), minBlock)
	}
	n := len(b) - 8
	if got, want := blockSum(id, column, block, first, b[:n]), le.Uint64(b[n:]); got != want {
		return &sumError{got, want}
	}
	return nil
}

// parseBlock takes a checked block apart.
func parseBlock(b []byte, limit int) (id codec.ID, rawLen int, stored []byte, err error) {
	c := wire.NewCursor(b[:len(b)-8])
	id = codec.ID(c.Uint8())
	n := c.Uvarint()
	stored = c.Raw(c.Len())
	switch {
	case c.Err() != nil:
		return 0, 0, nil, c.Err()
	case n == 0 || n > uint64(limit):
		return 0, 0, nil, fmt.Errorf("block of %d bytes before compression, not in 1..%d", n, limit)
	case id == codec.Raw && uint64(len(stored)) != n:
		return 0, 0, nil, fmt.Errorf("raw block holds %d bytes, recorded are %d", len(stored), n)
	}
	return id, int(n), stored, nil
}
