package segment

import (
	"fmt"

	"github.com/segstore/segstore/codec"
	"github.com/segstore/segstore/codec/wire"
)

// Layout is how a segment's columns are encoded. Chunk bounds are in the directory.
type Layout struct {
	Columns []ColumnLayout `json:"columns"` // as many as the schema has
}

// ColumnLayout is how one column is encoded.
type ColumnLayout struct {
	Encoding string        `json:"encoding"` // name with version: "plain/1"
	Blocks   []BlockLayout `json:"blocks"`   // of each chunk, in order
}

// BlockLayout is how one block of a column's chunks is written.
type BlockLayout struct {
	Streams    int        `json:"streams"`    // how many of the encoding's streams, in order
	Spec       codec.Spec `json:"codec"`      // blocks that would not shrink are raw all the same
	Dictionary int        `json:"dictionary"` // index of the segment's dictionary, -1 for none
}

const (
	maxStreams      = 256  // of an encoding
	maxBlocks       = 4096 // of a chunk
	maxEncodingName = 64
	maxSpecText     = 32
)

// blocks returns the number of blocks of a chunk.
func (l Layout) blocks() (n int) {
	for _, c := range l.Columns {
		n += len(c.Blocks)
	}
	return n
}

// appendTo appends: columns; for each its encoding and number of blocks; for each
// of those streams, spec text, and dictionary index plus one.
func (l Layout) appendTo(dst []byte) []byte {
	dst = wire.AppendUvarint(dst, uint64(len(l.Columns)))
	for _, c := range l.Columns {
		dst = wire.AppendString(dst, c.Encoding)
		dst = wire.AppendUvarint(dst, uint64(len(c.Blocks)))
		for _, b := range c.Blocks {
			dst = wire.AppendUvarint(dst, uint64(b.Streams))
			dst = wire.AppendString(dst, b.Spec.String())
			dst = wire.AppendUvarint(dst, uint64(b.Dictionary+1))
		}
	}
	return dst
}

func decodeLayout(b []byte) (Layout, error) {
	c := wire.NewCursor(b)
	l := Layout{Columns: make([]ColumnLayout, 0, c.Count(MaxColumns, 2))}
	for range cap(l.Columns) {
		col := ColumnLayout{Encoding: c.String(maxEncodingName)}
		col.Blocks = make([]BlockLayout, 0, c.Count(maxStreams, 3))
		for range cap(col.Blocks) {
			bl := BlockLayout{Streams: int(min(c.Uvarint(), maxStreams+1))}
			text := c.String(maxSpecText)
			bl.Dictionary = int(min(c.Uvarint(), maxDictionaries+1)) - 1
			if c.Err() != nil {
				break
			}
			spec, err := codec.ParseSpec(text)
			if err != nil {
				return Layout{}, fmt.Errorf("%w: %w", ErrVersion, err)
			}
			if spec.String() != text {
				return Layout{}, fmt.Errorf("codec %q, which is written %q", text, spec)
			}
			bl.Spec = spec
			col.Blocks = append(col.Blocks, bl)
		}
		l.Columns = append(l.Columns, col)
	}
	return l, c.Close()
}

// check holds the layout against the schema and the number of dictionaries.
func (l Layout) check(s Schema, dictionaries int) error {
	if len(l.Columns) != len(s.Columns) {
		return fmt.Errorf("layout of %d columns for a schema of %d", len(l.Columns), len(s.Columns))
	}
	if n := l.blocks(); n > maxBlocks {
		return fmt.Errorf("layout of %d blocks a chunk, at most %d", n, maxBlocks)
	}
	if dictionaries > maxDictionaries {
		return fmt.Errorf("%d dictionaries, at most %d", dictionaries, maxDictionaries)
	}
	used := make([]bool, dictionaries)
	for i, c := range l.Columns {
		if n := len(c.Encoding); n < 1 || n > maxEncodingName {
			return fmt.Errorf("column %q: encoding %q has %d bytes, not in 1..%d", s.Columns[i].Name, c.Encoding, n, maxEncodingName)
		}
		streams := 0
		for j, b := range c.Blocks {
			if b.Streams < 1 || b.Streams > maxStreams {
				return fmt.Errorf("column %q, block %d: %d streams", s.Columns[i].Name, j, b.Streams)
			}
			streams += b.Streams
			if b.Dictionary >= dictionaries || b.Spec.Dict != (b.Dictionary >= 0) || b.Spec.Dict && !b.Spec.TakesDict() {
				return fmt.Errorf("column %q, block %d: %s with dictionary %d of %d", s.Columns[i].Name, j, b.Spec, b.Dictionary, dictionaries)
			}
			if b.Dictionary >= 0 {
				used[b.Dictionary] = true
			}
		}
		if streams < 1 || streams > maxStreams {
			return fmt.Errorf("column %q: %d streams", s.Columns[i].Name, streams)
		}
	}
	for i, u := range used {
		if !u {
			return fmt.Errorf("dictionary %d is not used", i)
		}
	}
	return nil
}
