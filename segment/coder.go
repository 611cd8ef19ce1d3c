package segment

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/segstore/segstore/codec"
	"github.com/segstore/segstore/codec/wire"
	"github.com/segstore/segstore/dict"
)

// coder turns the columns of chunks into blocks and back, under one layout. It
// is safe for concurrent use; scratch memory is the caller's.
type coder struct {
	id      ID
	columns []columnCoder
	blocks  int // of a chunk, all columns
	limit   int // most bytes of a block before compression
}

// room returns the most bytes that all blocks of a chunk may have before
// compression: the format's limit, whatever a reader's own.
func (c *coder) room() int { return maxRoom }

type columnCoder struct {
	name    string
	enc     codec.Encoding
	streams int
	base    int // its first block's number in the chunk
	blocks  []blockCoder
}

type blockCoder struct {
	spec    codec.Spec
	codec   codec.Codec
	streams int
}

// coderOptions are the options that Reader and Writer share.
type coderOptions struct {
	encodings   []codec.Encoding // beside codec.Encodings()
	concurrency int
	window      int
	limit       int
}

func newCoder(id ID, s Schema, l Layout, dictionaries []*dict.Dict, o coderOptions) (*coder, error) {
	c := &coder{id: id, limit: o.limit, columns: make([]columnCoder, len(l.Columns))}
	type key struct {
		spec codec.Spec
		dict int
	}
	shared := map[key]codec.Codec{}
	for _, cl := range l.Columns {
		for _, bl := range cl.Blocks {
			shared[key{bl.Spec, bl.Dictionary}] = nil
		}
	}
	for i, cl := range l.Columns {
		enc, err := findEncoding(cl.Encoding, o.encodings)
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", s.Columns[i].Name, err)
		}
		cc := columnCoder{name: s.Columns[i].Name, enc: enc, base: c.blocks}
		for _, bl := range cl.Blocks {
			k := key{bl.Spec, bl.Dictionary}
			if shared[k] == nil {
				var d *dict.Dict
				if bl.Dictionary >= 0 {
					d = dictionaries[bl.Dictionary]
				}
				shared[k], err = codec.New(bl.Spec, d, codec.Options{
					Concurrency: o.concurrency, Encoders: encoders(bl.Spec, o.concurrency, len(shared)), Window: o.window, MaxDecoded: o.limit,
				})
				if err != nil {
					return nil, fmt.Errorf("column %q: %w", cc.name, err)
				}
			}
			cc.blocks = append(cc.blocks, blockCoder{bl.Spec, shared[k], bl.Streams})
			cc.streams += bl.Streams
		}
		if n := len(enc.Streams()); n != cc.streams {
			return nil, fmt.Errorf("column %q: encoding %s has %d streams, the layout %d", cc.name, enc.Name(), n, cc.streams)
		}
		c.blocks += len(cc.blocks)
		c.columns[i] = cc
	}
	return c, nil
}

// encoderMemory is about the most bytes that all encoders of a segment take; a codec has
// one of them at least.
const encoderMemory = 160 << 20

// encoders returns how many encoders a codec may have in memory, of so many codecs
// that a segment has, where workers would use them: those of the slow levels take
// much, and all are made at once. Workers beyond that wait for one.
func encoders(s codec.Spec, workers, codecs int) int {
	size := 3 << 20 // with the tables of a dictionary
	switch s.Encoder() {
	case "better":
		size = 12 << 20
	case "best":
		size = 35 << 20
	}
	return max(min(workers, encoderMemory/(size*codecs)), 1)
}

func findEncoding(name string, more []codec.Encoding) (codec.Encoding, error) {
	for _, list := range [][]codec.Encoding{codec.Encodings(), more} {
		if i := slices.IndexFunc(list, func(e codec.Encoding) bool { return e.Name() == name }); i >= 0 {
			return list[i], nil
		}
	}
	return nil, fmt.Errorf("%w: encoding %q", ErrVersion, name)
}

// ruleEncoding returns the encoding that a rule names, with or without its version,
// or that of the kind where it names none.
func ruleEncoding(r codec.Rule, k Kind, more []codec.Encoding) (codec.Encoding, error) {
	name := r.Encoding
	if name == "" {
		name = map[Kind]string{Bytes: "plain", Fixed: "fixed", Uint: "uint"}[k]
	}
	if strings.Contains(name, "/") {
		return findEncoding(name, more)
	}
	for _, list := range [][]codec.Encoding{codec.Encodings(), more} {
		for _, e := range slices.Backward(list) { // newer versions come later
			if n, _, _ := strings.Cut(e.Name(), "/"); n == name {
				return e, nil
			}
		}
	}
	return nil, fmt.Errorf("%w: encoding %q", ErrVersion, name)
}

// joinStreams appends a block's bytes before compression: stream lengths, streams.
// Where all streams are empty it appends nothing.
func joinStreams(dst []byte, streams [][]byte) []byte {
	if joinedSize(streams) == 0 {
		return dst
	}
	for _, s := range streams[:len(streams)-1] {
		dst = wire.AppendUvarint(dst, uint64(len(s)))
	}
	for _, s := range streams {
		dst = append(dst, s...)
	}
	return dst
}

// joinedSize returns how many bytes joinStreams appends.
func joinedSize(streams [][]byte) (n int) {
	total := 0
	for i, s := range streams {
		total += len(s)
		if i < len(streams)-1 {
			n += uvarintSize(uint64(len(s)))
		}
	}
	if total == 0 {
		return 0
	}
	return n + total
}

var errAllEmpty = errors.New("block with nothing but empty streams")

// splitStreams appends the n streams that raw holds to streams; they alias raw.
func splitStreams(streams [][]byte, raw []byte, n int) ([][]byte, error) {
	if len(raw) == 0 {
		for range n {
			streams = append(streams, nil)
		}
		return streams, nil
	}
	c := wire.NewCursor(raw)
	var lens [maxStreams]int
	for i := range n - 1 {
		lens[i] = c.Count(len(raw), 1)
	}
	if c.Err() == nil && c.Len() == 0 {
		return streams, errAllEmpty // not canonical: would have been left out
	}
	for i := range n - 1 {
		streams = append(streams, c.Raw(lens[i]))
	}
	return append(streams, c.Raw(c.Len())), c.Err()
}

// columnBuf is the memory for one column of one chunk.
type columnBuf struct {
	raw     [][]byte // a block each, before compression
	streams [][]byte
	values  codec.Values
}

// trim gives large buffers back, so that one giant row does not stay in memory.
func (b *columnBuf) trim() {
	for i := range b.raw {
		b.raw[i] = trim(b.raw[i])
	}
	b.values.Buf = trim(b.values.Buf)
	if cap(b.values.Data) > maxKept {
		b.values.Data = nil
	}
	clear(b.streams[:cap(b.streams)]) // small ones too: they may alias a large block
}

const maxKept = 4 << 20 // a buffer above this is not kept for the next chunk

func trim(b []byte) []byte {
	if cap(b) > maxKept {
		return nil
	}
	return b
}

// openBlock checks a stored block and takes it apart; it may hold at most room
// bytes before compression.
func (c *coder) openBlock(b []byte, column, block int, first uint64, room int) (id codec.ID, n int, stored []byte, err error) {
	if err := checkBlock(c.id, column, block, first, b); err != nil {
		return 0, 0, nil, err
	}
	id, n, stored, err = parseBlock(b, min(maxBlock, room))
	if err != nil {
		return 0, 0, nil, err
	}
	if n > c.limit {
		return 0, 0, nil, fmt.Errorf("%w: block of %d bytes before compression, at most %d", ErrLimit, n, c.limit)
	}
	if spec := c.columns[column].blocks[block].spec; id != codec.Raw && id != spec.ID {
		return 0, 0, nil, fmt.Errorf("block is %s, its layout says %s", id, spec)
	}
	return id, n, stored, nil
}

// inflate appends the n bytes that stored decodes to.
func (c *coder) inflate(dst, stored []byte, n, column, block int) ([]byte, error) {
	if need := len(dst) + n; need > cap(dst) && n <= 1<<20 {
		dst = append(make([]byte, 0, need+need/4+64), dst...)
	}
	return c.columns[column].blocks[block].codec.Decode(dst, stored, n)
}

// decodeBlock checks a stored block and appends what it holds to dst, at most room
// bytes. An empty b is a block that is not stored.
func (c *coder) decodeBlock(dst, b []byte, column, block int, first uint64, room int) ([]byte, error) {
	if len(b) == 0 {
		return dst, nil
	}
	id, n, stored, err := c.openBlock(b, column, block, first, room)
	switch {
	case err != nil:
		return dst, err
	case id == codec.Raw:
		return append(dst, stored...), nil
	}
	return c.inflate(dst, stored, n, column, block)
}

// decodeColumn decodes one column of a chunk from its blocks, which lie one after
// another in b with the lengths lens. The values alias buf, or b where a block is
// raw. room is what the chunk's blocks may still decode to; what these do is taken
// off.
func (c *coder) decodeColumn(buf *columnBuf, column int, first uint64, rows int, b []byte, lens []uint32, room *int) (block int, err error) {
	cc := &c.columns[column]
	buf.streams = buf.streams[:0]
	for i := range cc.blocks {
		var raw []byte
		if n := int(lens[i]); n > 0 {
			id, size, stored, err := c.openBlock(b[:n:n], column, i, first, *room)
			if err != nil {
				return i, err
			}
			if raw = stored; id != codec.Raw {
				if raw, err = c.inflate(buf.block(i)[:0], stored, size, column, i); err != nil {
					return i, err
				}
				buf.raw[i] = raw
			}
			b = b[n:]
		}
		*room -= len(raw)
		buf.streams, err = splitStreams(buf.streams, raw, cc.blocks[i].streams)
		if err != nil {
			return i, err
		}
	}
	return 0, cc.enc.Join(&buf.values, buf.streams, rows)
}

// checkValues checks decoded values against the column's kind: what the encoding
// gives back is foreign bytes still.
func checkValues(col *Column, v *codec.Values, rows int) error {
	if v.Len() != rows {
		return fmt.Errorf("%d values for %d rows", v.Len(), rows)
	}
	width := 0
	switch col.Kind {
	case Fixed:
		width = col.Width
	case Uint:
		width = 8
	default:
		return nil
	}
	if len(v.Data) != rows*width {
		return fmt.Errorf("%d bytes for %d values of %d", len(v.Data), rows, width)
	}
	for i, e := range v.Ends {
		if int(e) != (i+1)*width {
			return fmt.Errorf("value %d is not %d bytes", i, width)
		}
	}
	return nil
}
