package segment

import (
	"fmt"
	"maps"
	"slices"

	"github.com/cespare/xxhash/v2"
	"github.com/segstore/segstore/codec"
	"github.com/segstore/segstore/codec/wire"
	"github.com/segstore/segstore/dict"
	"github.com/segstore/segstore/segment/merkle"
)

const (
	maxDirectoryBytes = 512 << 20
	maxPolicyText     = 64 << 10
	maxTrialsText     = 1 << 20
	maxEncoderText    = 256
	maxMetadata       = 1024     // entries
	maxMetadataKey    = 256      // bytes
	maxMetadataValue  = 16 << 20 // bytes
	plainDirectory    = 4 << 10  // directories up to this are not compressed
)

// directory is the last section but the footer: all that a reader needs to know.
type directory struct {
	front                    // the front records again; dictionaries only where copied
	dictionaryIDs [][32]byte // SHA-256 of each dictionary
	copied        bool       // whether the dictionaries are here too
	policy        string     // canonical text
	trials        string     // byte counts that dictionaries were chosen by
	encoder       string     // who wrote the blocks: name and version
	chunks        *chunkTable
	runs          []merkle.Hash // node of each run of 256 rows
	columns       []ColumnStats
	metadata      map[string][]byte
}

// ColumnStats is what a column takes. Bytes that belong to no column (frames,
// directory, dictionaries) are not in it.
type ColumnStats struct {
	Column      string        `json:"column"`
	RawBytes    uint64        `json:"raw_bytes"`    // of the values
	StoredBytes uint64        `json:"stored_bytes"` // of the blocks, with their heads and checksums
	Streams     []StreamStats `json:"streams"`
	Blocks      []BlockStats  `json:"blocks"`
}

// StreamStats is what a stream takes before compression.
type StreamStats struct {
	Stream   string `json:"stream"`
	RawBytes uint64 `json:"raw_bytes"`
}

// BlockStats is what the blocks of one place in a column's layout take.
type BlockStats struct {
	Streams     []string   `json:"streams"`
	Codec       codec.Spec `json:"codec"`
	Dictionary  int        `json:"dictionary"`   // index of the segment's dictionary, -1 for none
	RawBytes    uint64     `json:"raw_bytes"`    // before compression
	StoredBytes uint64     `json:"stored_bytes"` // with heads and checksums
	Blocks      uint64     `json:"blocks"`       // that are stored
	KeptRaw     uint64     `json:"kept_raw"`     // of those raw because they would not shrink
}

// appendTo appends the directory before compression:
//
//	string table, bytes schema, bytes layout
//	count of dictionaries, 32 bytes SHA-256 each, byte copied; where 1: for each a byte kind, bytes
//	string policy, string trials, string encoder
//	count of chunks; for each: rows, stored bytes of each block; then for each: 8 bytes frame checksum
//	the nodes of the runs, 32 bytes each
//	for each column: bytes of its values; bytes of each stream; for each block: bytes before
//	compression, stored bytes, blocks, blocks kept raw
//	count of metadata; for each, ascending: string key, bytes value
//
// Numbers are uvarints; strings and bytes have a uvarint length before them.
func (d *directory) appendTo(dst []byte) []byte {
	dst = wire.AppendString(dst, d.table)
	dst = wire.AppendBytes(dst, d.schema.appendTo(nil))
	dst = wire.AppendBytes(dst, d.layout.appendTo(nil))
	dst = wire.AppendUvarint(dst, uint64(len(d.dictionaryIDs)))
	for _, id := range d.dictionaryIDs {
		dst = append(dst, id[:]...)
	}
	if !d.copied {
		dst = append(dst, 0)
	} else {
		dst = append(dst, 1)
		for _, x := range d.dictionaries {
			dst = append(dst, byte(x.Kind()))
			dst = wire.AppendBytes(dst, x.Bytes())
		}
	}
	dst = wire.AppendString(dst, d.policy)
	dst = wire.AppendString(dst, d.trials)
	dst = wire.AppendString(dst, d.encoder)
	dst = wire.AppendUvarint(dst, uint64(d.chunks.len()))
	for i := range d.chunks.len() {
		dst = wire.AppendUvarint(dst, uint64(d.chunks.rows(i)))
		for _, n := range d.chunks.lengths(i) {
			dst = wire.AppendUvarint(dst, uint64(n))
		}
	}
	for _, s := range d.chunks.sums {
		dst = wire.AppendUint64(dst, s)
	}
	for i := range d.runs {
		dst = append(dst, d.runs[i][:]...)
	}
	for _, c := range d.columns {
		dst = wire.AppendUvarint(dst, c.RawBytes)
		for _, s := range c.Streams {
			dst = wire.AppendUvarint(dst, s.RawBytes)
		}
		for _, b := range c.Blocks {
			for _, v := range []uint64{b.RawBytes, b.StoredBytes, b.Blocks, b.KeptRaw} {
				dst = wire.AppendUvarint(dst, v)
			}
		}
	}
	dst = wire.AppendUvarint(dst, uint64(len(d.metadata)))
	for _, k := range slices.Sorted(maps.Keys(d.metadata)) {
		dst = wire.AppendString(dst, k)
		dst = wire.AppendBytes(dst, d.metadata[k])
	}
	return dst
}

// decodeDirectory reads what appendTo wrote, for a file with this footer.
func decodeDirectory(b []byte, f *footer, encodings []codec.Encoding) (*directory, error) {
	c := wire.NewCursor(b)
	d := &directory{}
	d.table = c.String(MaxNameBytes)
	schema, layout := c.Bytes(len(b)), c.Bytes(len(b))
	d.dictionaryIDs = make([][32]byte, c.Count(maxDictionaries, 32))
	for i := range d.dictionaryIDs {
		copy(d.dictionaryIDs[i][:], c.Raw(32))
	}
	d.copied = flag(c)
	if err := c.Err(); err != nil {
		return nil, err
	}
	if d.copied {
		for range d.dictionaryIDs {
			x, err := newDictionary(c.Uint8(), slices.Clone(c.Bytes(dict.MaxBytes)))
			if c.Err() != nil {
				return nil, c.Err()
			}
			if err != nil {
				return nil, err
			}
			d.dictionaries = append(d.dictionaries, x)
		}
		if err := d.matchDictionaries(); err != nil {
			return nil, err
		}
	}
	var err error
	if err = ValidateName(d.table); err != nil {
		return nil, err
	}
	if d.schema, err = decodeSchema(schema); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	if d.layout, err = decodeLayout(layout); err != nil {
		return nil, fmt.Errorf("layout: %w", err)
	}
	if err = d.layout.check(d.schema, len(d.dictionaryIDs)); err != nil {
		return nil, fmt.Errorf("layout: %w", err)
	}
	d.policy = c.String(maxPolicyText)
	d.trials = c.String(maxTrialsText)
	d.encoder = c.String(maxEncoderText)
	if err = d.decodeChunks(c, f); err != nil {
		return nil, err
	}
	runs := merkle.RunsOf(f.rows)
	if runs > uint64(c.Len()/len(merkle.Hash{})) {
		return nil, fmt.Errorf("%d nodes for %d rows do not fit", runs, f.rows)
	}
	d.runs = make([]merkle.Hash, runs)
	for i := range d.runs {
		copy(d.runs[i][:], c.Raw(len(d.runs[i])))
	}
	if err = d.decodeStats(c, encodings); err != nil {
		return nil, err
	}
	d.decodeMetadata(c)
	if err = c.Close(); err != nil {
		return nil, err
	}
	root, err := merkle.RootOfRuns(d.runs, f.rows)
	if err == nil && root != f.root {
		err = fmt.Errorf("root of the nodes is %s, content root in the footer %s", root, f.root)
	}
	return d, err
}

func flag(c *wire.Cursor) bool {
	v := c.Uint8()
	if v > 1 {
		c.Fail(fmt.Errorf("flag is %d", v))
	}
	return v == 1
}

// matchDictionaries holds the dictionaries against their SHA-256.
func (d *directory) matchDictionaries() error {
	if len(d.dictionaries) != len(d.dictionaryIDs) {
		return fmt.Errorf("%d dictionaries, the directory names %d", len(d.dictionaries), len(d.dictionaryIDs))
	}
	for i, x := range d.dictionaries {
		if x == nil {
			return fmt.Errorf("dictionary %d is damaged", i)
		}
		if x.ID() != d.dictionaryIDs[i] {
			return fmt.Errorf("dictionary %d is %x, the directory names %x", i, x.ID(), d.dictionaryIDs[i])
		}
	}
	return nil
}

func (d *directory) decodeChunks(c *wire.Cursor, f *footer) error {
	blocks := d.layout.blocks()
	n := c.Count(maxChunks, 1+blocks+8)
	if room := f.dirOffset - headerSize - f.front; uint64(n) > room/uint64(minFrame+blocks) { // a directory may be packed small
		return fmt.Errorf("%d chunks of %d blocks in %d bytes", n, blocks, room)
	}
	t := newChunkTable(blocks, f.firstRow, int64(headerSize+f.front))
	t.grow(n)
	lens := make([]uint32, blocks)
	for range n {
		rows := c.Count(maxChunkRows, 0)
		for i := range lens {
			lens[i] = uint32(c.Count(maxBlock+minBlock+16, 0))
		}
		if c.Err() == nil && (rows == 0 || f.firstRow+f.rows-t.endRow() < uint64(rows)) {
			return fmt.Errorf("chunk %d has %d rows, %d are left", t.len(), rows, f.firstRow+f.rows-t.endRow())
		}
		if err := checkLengths(lens); err != nil {
			return fmt.Errorf("chunk %d: %w", t.len(), err)
		}
		t.add(rows, lens, 0)
	}
	for i := range n {
		t.sums[i] = c.Uint64()
	}
	d.chunks = t
	switch {
	case c.Err() != nil:
		return c.Err()
	case t.endRow() != f.firstRow+f.rows:
		return fmt.Errorf("chunks end at row %d, the segment at %d", t.endRow(), f.firstRow+f.rows)
	case t.end() != int64(f.dirOffset):
		return fmt.Errorf("chunks end at %d, the directory starts at %d", t.end(), f.dirOffset)
	}
	return nil
}

func (d *directory) decodeStats(c *wire.Cursor, encodings []codec.Encoding) error {
	for i, cl := range d.layout.Columns {
		cs := ColumnStats{Column: d.schema.Columns[i].Name, RawBytes: c.Uvarint()}
		enc, err := findEncoding(cl.Encoding, encodings)
		if err != nil {
			return fmt.Errorf("column %q: %w", cs.Column, err)
		}
		names := enc.Streams()
		for _, name := range names {
			cs.Streams = append(cs.Streams, StreamStats{name, c.Uvarint()})
		}
		for _, bl := range cl.Blocks {
			if bl.Streams > len(names) {
				return fmt.Errorf("column %q: layout has more streams than encoding %s", cs.Column, cl.Encoding)
			}
			b := BlockStats{Streams: names[:bl.Streams:bl.Streams], Codec: bl.Spec, Dictionary: bl.Dictionary}
			names = names[bl.Streams:]
			b.RawBytes, b.StoredBytes, b.Blocks, b.KeptRaw = c.Uvarint(), c.Uvarint(), c.Uvarint(), c.Uvarint()
			cs.StoredBytes += b.StoredBytes
			cs.Blocks = append(cs.Blocks, b)
		}
		if len(names) != 0 {
			return fmt.Errorf("column %q: layout has fewer streams than encoding %s", cs.Column, cl.Encoding)
		}
		d.columns = append(d.columns, cs)
	}
	return c.Err()
}

func (d *directory) decodeMetadata(c *wire.Cursor) {
	n := c.Count(maxMetadata, 2)
	last := ""
	for i := range n {
		k := c.String(maxMetadataKey)
		v := c.Bytes(maxMetadataValue)
		if i > 0 && k <= last {
			c.Fail(fmt.Errorf("metadata key %q does not ascend", k))
		}
		if c.Err() != nil {
			return
		}
		if d.metadata == nil {
			d.metadata = map[string][]byte{}
		}
		last, d.metadata[k] = k, slices.Clone(v)
	}
}

// packDirectory compresses a directory where that pays: codec, uvarint length
// before compression, the bytes. One that would pack out of proportion is left as
// it is, for what it claims must be reserved by those who open the file.
func packDirectory(b []byte) ([]byte, error) {
	id, out := codec.Raw, []byte(nil)
	head := wire.AppendUvarint([]byte{byte(codec.Raw)}, uint64(len(b)))
	if len(b) > plainDirectory {
		z, err := codec.New(codec.Spec{ID: codec.Zstd, Level: codec.DefaultLevel}, nil, codec.Options{Concurrency: 1, MaxDecoded: maxDirectoryBytes})
		if err != nil {
			return nil, err
		}
		if out, id, err = codec.EncodeBlock(z, codec.Zstd, head, b); err != nil {
			return nil, err
		}
	}
	if out == nil || len(b) > mostUnpacked(len(out)-len(head)) {
		id, out = codec.Raw, append(head, b...)
	}
	out[0] = byte(id)
	return out, nil
}

// mostUnpacked returns the most bytes that a directory stored in n may have.
func mostUnpacked(n int) int { return max(1<<20, 256*n) }

func unpackDirectory(b []byte) ([]byte, error) {
	c := wire.NewCursor(b)
	id := codec.ID(c.Uint8())
	n := c.Count(maxDirectoryBytes, 0)
	body := c.Raw(c.Len())
	switch {
	case c.Err() != nil:
		return nil, c.Err()
	case id == codec.Raw && len(body) == n:
		return body, nil
	case id == codec.Raw:
		return nil, fmt.Errorf("directory of %d bytes, recorded are %d", len(body), n)
	case id != codec.Zstd:
		return nil, fmt.Errorf("%w: directory compressed with %s", ErrVersion, id)
	case n > mostUnpacked(len(body)):
		return nil, fmt.Errorf("directory of %d bytes in %d", n, len(body))
	}
	z, err := codec.New(codec.Spec{ID: codec.Zstd, Level: codec.DefaultLevel}, nil, codec.Options{Concurrency: 1, MaxDecoded: maxDirectoryBytes})
	if err != nil {
		return nil, err
	}
	return z.Decode(nil, body, n)
}

func directorySum(id ID, b []byte) uint64 {
	var d xxhash.Digest
	d.Reset()
	d.Write(id[:])
	d.Write(b)
	return d.Sum64()
}
