package segment

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/segstore/segstore/codec"
	"github.com/segstore/segstore/codec/wire"
	"github.com/segstore/segstore/segment/merkle"
)

// chunkJob is one chunk on its way into a segment, with all the memory that
// takes. It is used again for a later chunk.
type chunkJob struct {
	stage // its size is the bytes of the values, all columns
	first uint64
	rows  int
	raw   int // bytes of the blocks before compression

	values []codec.Values // the rows, a column each; set by the one who fills the job
	chunk  int            // or the number of the source's chunk, when recompressing within its bounds
	in     []byte         // that chunk's blocks
	hash   bool           // compute leaves
	leaves []merkle.Hash

	out    []byte   // the blocks as they will lie in the file
	hashed []byte   // what the frame's checksum is over
	lens   []uint32 // of each block
	tally  []blockTally
	sizes  []uint64 // bytes of each stream of each column, before compression
	column []uint64 // bytes of the values of each column

	split  columnBuf // streams and blocks from Split
	check  columnBuf // the same read back
	hasher merkle.Hasher
	row    Row
}

// blockTally counts what became of one block of a chunk, or of all chunks.
type blockTally struct {
	raw, stored int64 // bytes before compression, and as they lie with head and checksum
	blocks      int64 // that are stored
	kept        int64 // of those raw because they would not shrink
	copied      int64 // of those taken over as they were
	encoded     int64 // bytes before compression of those that were not
	encode      time.Duration
	decode      time.Duration // of what was encoded, to compare
	source      time.Duration // decoding what was there before
}

func (t *blockTally) add(o blockTally) {
	t.raw += o.raw
	t.stored += o.stored
	t.blocks += o.blocks
	t.kept += o.kept
	t.copied += o.copied
	t.encoded += o.encoded
	t.encode += o.encode
	t.decode += o.decode
	t.source += o.source
}

func (c *coder) newJob() *chunkJob {
	j := &chunkJob{
		values: make([]codec.Values, len(c.columns)),
		column: make([]uint64, len(c.columns)),
		lens:   make([]uint32, c.blocks),
		tally:  make([]blockTally, c.blocks),
		row:    make(Row, len(c.columns)),
	}
	for i := range c.columns {
		j.sizes = append(j.sizes, make([]uint64, c.columns[i].streams)...)
	}
	return j
}

// reset makes the job empty, for a chunk that starts at row first.
func (j *chunkJob) reset(first uint64) {
	j.first, j.rows, j.size, j.raw = first, 0, 0, 0
	for i := range j.values {
		j.values[i].Reset()
	}
	j.out = j.out[:0]
	clear(j.tally)
	clear(j.sizes)
	clear(j.column)
	j.leaves = j.leaves[:0]
}

// trim gives large buffers back: the job waits for its next chunk, and a giant row
// must not stay in the memory of each.
func (j *chunkJob) trim() {
	for i := range j.values {
		if cap(j.values[i].Data) > maxKept {
			j.values[i].Data = nil
		}
	}
	j.out, j.in = trim(j.out), trim(j.in)
	streams := j.split.streams // these are Split's own, and alias nothing
	j.split.streams = nil
	j.split.trim()
	for i := range streams {
		streams[i] = trim(streams[i])
	}
	j.split.streams = streams
	j.check.trim()
}

// append adds a copy of a row that fits the schema.
func (j *chunkJob) append(row Row, size int) {
	for i, v := range row {
		j.values[i].Append(v)
	}
	j.rows++
	j.size += size
}

var errNotLossless = errors.New("segment: encoded chunk does not decode to what went in")

// encode fills out, lens and the tallies from the values, reads all of it back,
// and compares: a codec or encoding that loses a byte is found before the byte
// is lost.
func (c *coder) encode(j *chunkJob) error {
	if j.hash {
		j.hashRows()
	}
	stream := 0
	for i := range c.columns {
		cc, v := &c.columns[i], &j.values[i]
		j.column[i] = uint64(len(v.Data))
		var err error
		if j.split.streams, err = cc.enc.Split(j.split.streams, v); err != nil {
			return fmt.Errorf("segment: column %q, rows from %d: %w", cc.name, j.first, err)
		}
		streams := j.split.streams
		if len(streams) != cc.streams {
			return fmt.Errorf("segment: column %q: encoding %s split into %d streams, not %d", cc.name, cc.enc.Name(), len(streams), cc.streams)
		}
		j.check.streams = j.check.streams[:0]
		for b := range cc.blocks {
			n := cc.blocks[b].streams
			for k, s := range streams[:n] {
				j.sizes[stream+k] = uint64(len(s))
			}
			stream += n
			check, err := c.encodeStreams(j, i, b, streams[:n])
			if err != nil {
				return err
			}
			streams = streams[n:]
			if j.check.streams, err = splitStreams(j.check.streams, check, n); err != nil {
				return fmt.Errorf("%w: column %q, rows from %d: %w", errNotLossless, cc.name, j.first, err)
			}
		}
		if err := cc.enc.Join(&j.check.values, j.check.streams, j.rows); err != nil {
			return fmt.Errorf("%w: column %q, rows from %d: %w", errNotLossless, cc.name, j.first, err)
		}
		if !j.check.values.Equal(v) {
			return fmt.Errorf("%w: column %q, rows from %d, encoding %s", errNotLossless, cc.name, j.first, cc.enc.Name())
		}
	}
	return nil
}

// block returns the buffer for block b.
func (b *columnBuf) block(i int) []byte {
	for len(b.raw) <= i {
		b.raw = append(b.raw, nil)
	}
	return b.raw[i]
}

// encodeStreams appends the block of some streams to j.out, and returns what is read
// back, which is valid until the next chunk.
func (c *coder) encodeStreams(j *chunkJob, column, block int, streams [][]byte) (check []byte, err error) {
	if c.columns[column].blocks[block].spec.ID == codec.Raw {
		return c.storeRaw(j, column, block, streams)
	}
	raw := joinStreams(j.split.block(block)[:0], streams)
	j.split.raw[block] = raw
	if len(raw) > maxKept {
		clear(streams) // they are in raw: a giant need not be in memory once more
	}
	if err := c.encodeBlock(j, column, block, raw); err != nil {
		return nil, err
	}
	return j.check.raw[block], nil
}

// storeRaw is encodeStreams for what is not compressed: nothing but a copy, which the
// caller compares.
func (c *coder) storeRaw(j *chunkJob, column, block int, streams [][]byte) (check []byte, err error) {
	size := joinedSize(streams)
	start, ok, err := c.begin(j, column, block, size)
	if !ok {
		return nil, err
	}
	body := len(j.out)
	j.out = joinStreams(j.out, streams)
	check = j.out[body:]
	c.seal(j, column, block, start)
	t := &j.tally[c.columns[column].base+block]
	t.raw, t.encoded = int64(size), int64(size)
	return check, nil
}

// begin begins a block of j.out that has size bytes before compression; ok is false where
// there is none to write.
func (c *coder) begin(j *chunkJob, column, block, size int) (start int, ok bool, err error) {
	cc := &c.columns[column]
	if size == 0 {
		j.lens[cc.base+block] = 0
		return 0, false, nil
	}
	if j.raw += size; size > c.limit || j.raw > c.room() {
		return 0, false, fmt.Errorf("segment: column %q, rows from %d: block of %d bytes before compression, at most %d; of its chunk so far %d, at most %d",
			cc.name, j.first, size, c.limit, j.raw, c.room())
	}
	start = len(j.out)
	j.out = append(j.out, byte(codec.Raw))
	j.out = wire.AppendUvarint(j.out, uint64(size))
	return start, true, nil
}

// encodeBlock appends the block that holds raw to j.out, decodes it again into
// j.check, and compares.
func (c *coder) encodeBlock(j *chunkJob, column, block int, raw []byte) error {
	cc := &c.columns[column]
	bc := &cc.blocks[block]
	t := &j.tally[cc.base+block]
	check := j.check.block(block)[:0]
	j.check.raw[block] = check
	start, ok, err := c.begin(j, column, block, len(raw))
	if !ok {
		return err
	}
	body := len(j.out)
	began := time.Now()
	out, used, err := codec.EncodeBlock(bc.codec, bc.spec.ID, j.out, raw)
	if err != nil {
		return fmt.Errorf("segment: column %q, rows from %d: %w", cc.name, j.first, err)
	}
	t.encode = time.Since(began)
	j.out = out
	j.out[start] = byte(used)
	if used != codec.Raw {
		began = time.Now()
		check, err = bc.codec.Decode(check, j.out[body:], len(raw))
		t.decode += time.Since(began)
		if err == nil && !bytes.Equal(check, raw) {
			err = errors.New("other bytes came back")
		}
		if err != nil {
			return fmt.Errorf("%w: column %q, rows from %d, %s: %w", errNotLossless, cc.name, j.first, bc.spec, err)
		}
	} else {
		check = append(check, j.out[body:]...)
	}
	j.check.raw[block] = check
	c.seal(j, column, block, start)
	t.raw, t.encoded = int64(len(raw)), int64(len(raw))
	if used == codec.Raw && bc.spec.ID != codec.Raw {
		t.kept = 1
	}
	return nil
}

// seal appends the checksum of the block that starts at start of j.out.
func (c *coder) seal(j *chunkJob, column, block, start int) {
	j.out = wire.AppendUint64(j.out, blockSum(c.id, column, block, j.first, j.out[start:]))
	n := len(j.out) - start
	k := c.columns[column].base + block
	j.lens[k] = uint32(n)
	j.tally[k].stored, j.tally[k].blocks = int64(n), 1
}

// appendFrame appends the frame of the encoded chunk, and returns its checksum too.
func (j *chunkJob) appendFrame(dst []byte, id ID) ([]byte, uint64) {
	start := len(dst)
	dst = appendFrameHead(dst, j.first, j.rows, j.lens)
	var sum uint64
	sum, j.hashed = frameSum(j.hashed, id, dst[start:], j.lens, j.out)
	return le.AppendUint64(dst, sum), sum
}

// hashRows computes the leaf of every row.
func (j *chunkJob) hashRows() {
	j.leaves = j.leaves[:0]
	for n := range j.rows {
		for i := range j.values {
			j.row[i] = j.values[i].At(n)
		}
		j.leaves = append(j.leaves, j.hasher.Leaf(j.row))
	}
}
