package segment

import (
	"errors"
	"fmt"

	"github.com/segstore/segstore/codec"
	"github.com/segstore/segstore/dict"
)

// ErrBlock is what asking for a chunk or block that is not there returns.
var ErrBlock = errors.New("segment: no such block")

// BlockInfo says what one stored block is.
type BlockInfo struct {
	Place                     // of the block with its head and checksum
	Codec       codec.Spec    `json:"codec"`        // that this block is stored with: raw where it would not shrink
	Dictionary  int           `json:"dictionary"`   // index of the dictionary that it needs, -1 for none
	RawBytes    int           `json:"raw_bytes"`    // before compression
	StoredBytes int           `json:"stored_bytes"` // compressed, without head and checksum
	Streams     []StreamStats `json:"streams"`      // in the order in which they lie in the raw bytes, after the uvarint lengths of all but the last
}

// Block returns one block of a column in a chunk, both numbered from 0: as it is
// stored, without its head and checksum (a zstd frame, where the codec is zstd,
// that any zstd decodes with the dictionary), and before compression. Its
// checksum has been checked. Both are empty where the block is not stored because
// all its streams are empty.
//
// The caller owns what is returned. ErrColumn and ErrBlock where there is no such
// block, a *CorruptionError where it is damaged.
func (r *Reader) Block(column string, chunk, block int) (stored, raw []byte, info BlockInfo, err error) {
	c := r.dir.schema.Index(column)
	if c < 0 {
		return nil, nil, info, r.noColumn(column)
	}
	t, cc := r.dir.chunks, &r.coder.columns[c]
	switch {
	case chunk < 0 || chunk >= t.len():
		return nil, nil, info, fmt.Errorf("%w: chunk %d, there are 0 to %d", ErrBlock, chunk, t.len()-1)
	case block < 0 || block >= len(cc.blocks):
		return nil, nil, info, fmt.Errorf("%w: block %d of column %q, it has 0 to %d", ErrBlock, block, column, len(cc.blocks)-1)
	}
	off, n := t.place(chunk, cc.base+block, cc.base+block+1)
	info = BlockInfo{
		Place: Place{
			File: r.o.Name, Section: SectionBlock, Column: column, Chunk: chunk, Block: block,
			FirstRow: t.first[chunk], Rows: uint64(t.rows(chunk)), Offset: off, Length: int64(n),
		},
		Codec: cc.blocks[block].spec, Dictionary: -1,
	}
	b := make([]byte, n)
	if err := readFull(r.r, b, off); err != nil {
		return nil, nil, info, r.inFile(err)
	}
	var streams [][]byte
	raw, err = r.coder.decodeBlock(nil, b, c, block, t.first[chunk], r.coder.limit)
	if err == nil {
		streams, err = splitStreams(nil, raw, cc.blocks[block].streams)
	}
	if err != nil {
		return nil, nil, info, r.blockError(chunk, c, block, err)
	}
	for i, s := range r.dir.columns[c].Blocks[block].Streams {
		info.Streams = append(info.Streams, StreamStats{Stream: s, RawBytes: uint64(len(streams[i]))})
	}
	if n > 0 {
		id, _, body, err := parseBlock(b, r.coder.limit)
		if err != nil {
			return nil, nil, info, r.blockError(chunk, c, block, err)
		}
		stored = body
		if id == codec.Raw {
			info.Codec = codec.Spec{ID: codec.Raw}
		}
	}
	if info.Codec.Dict {
		info.Dictionary = r.dir.layout.Columns[c].Blocks[block].Dictionary
	}
	info.RawBytes, info.StoredBytes = len(raw), len(stored)
	return stored, raw, info, nil
}

// Dictionary returns a dictionary by its index, as Layout and Stats give it; nil
// where there is none.
func (r *Reader) Dictionary(i int) *dict.Dict {
	if i < 0 || i >= len(r.dir.dictionaries) {
		return nil
	}
	return r.dir.dictionaries[i]
}
