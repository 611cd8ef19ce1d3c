package segment

import (
	"encoding/hex"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/segstore/segstore/codec"
	"github.com/segstore/segstore/dict"
	"github.com/segstore/segstore/segment/merkle"
)

// Info is what a segment is: its identity, size and roots.
type Info struct {
	Table       string      `json:"table"`
	Schema      Schema      `json:"schema"`
	FirstRow    uint64      `json:"first_row"`
	Rows        uint64      `json:"rows"`
	Chunks      int         `json:"chunks"`
	RawBytes    uint64      `json:"raw_bytes"`    // of the values
	StoredBytes int64       `json:"stored_bytes"` // of the file
	ID          ID          `json:"id"`
	ContentRoot merkle.Hash `json:"content_root"`
	Checksum    Checksum    `json:"checksum,omitzero"` // xxh64 of the file; zero where nobody has read the whole file
	Policy      string      `json:"policy"`            // canonical text
	Encoder     string      `json:"encoder"`
}

// Checksum is the xxh64 of a file, as `xxhsum -H1` prints it.
type Checksum uint64

// String returns 16 lower-case hex digits.
func (c Checksum) String() string { return fmt.Sprintf("%016x", uint64(c)) }

// MarshalText returns 16 lower-case hex digits.
func (c Checksum) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText reads 16 hex digits.
func (c *Checksum) UnmarshalText(b []byte) error {
	var v uint64
	if len(b) != 16 {
		return fmt.Errorf("segment: checksum %q is not 16 hex digits", b)
	}
	for _, d := range b {
		switch {
		case d >= '0' && d <= '9':
			v = v<<4 | uint64(d-'0')
		case d >= 'a' && d <= 'f':
			v = v<<4 | uint64(d-'a'+10)
		case d >= 'A' && d <= 'F':
			v = v<<4 | uint64(d-'A'+10)
		default:
			return fmt.Errorf("segment: checksum %q is not 16 hex digits", b)
		}
	}
	*c = Checksum(v)
	return nil
}

// MarshalText returns the ID as 32 lower-case hex digits.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText reads 32 hex digits.
func (id *ID) UnmarshalText(b []byte) error {
	var v ID
	if n, err := hex.Decode(v[:], b[:min(len(b), 2*len(v))]); err != nil || n != len(v) || len(b) != 2*len(v) {
		return fmt.Errorf("segment: ID %q is not 32 hex digits", b)
	}
	*id = v
	return nil
}

// assembler lays the sections of one segment one after another.
type assembler struct {
	w       io.Writer
	sum     xxhash.Digest
	buf     []byte // of one chunk, or several small ones
	written int64

	writing time.Duration // in w

	header header
	dir    directory
	coder  *coder
	tally  []blockTally
}

const writeBytes = 1 << 20 // written at once, or one chunk where that is more

// newAssembler starts a segment: header and front records.
func newAssembler(w io.Writer, f front, firstRow uint64, policy string, o coderOptions) (*assembler, error) {
	if err := f.layout.check(f.schema, len(f.dictionaries)); err != nil {
		return nil, fmt.Errorf("segment: %w", err)
	}
	id := f.identify(firstRow, policy)
	c, err := newCoder(id, f.schema, f.layout, f.dictionaries, o)
	if err != nil {
		return nil, err
	}
	a := &assembler{w: w, coder: c, tally: make([]blockTally, c.blocks)}
	a.dir = directory{front: f, policy: policy, encoder: codec.EncoderVersion()}
	for _, d := range f.dictionaries {
		a.dir.dictionaryIDs = append(a.dir.dictionaryIDs, d.ID())
	}
	for i := range c.columns {
		cs := ColumnStats{Column: c.columns[i].name}
		for _, s := range c.columns[i].enc.Streams() {
			cs.Streams = append(cs.Streams, StreamStats{Stream: s})
		}
		cs.Blocks = make([]BlockStats, len(c.columns[i].blocks))
		a.dir.columns = append(a.dir.columns, cs)
	}
	a.sum.Reset()
	var records []byte
	for _, r := range f.records() {
		records = r.appendTo(records, id)
	}
	if len(records) > maxFrontBytes {
		return nil, fmt.Errorf("segment: front records of %d bytes, at most %d", len(records), maxFrontBytes)
	}
	a.header = header{id: id, firstRow: firstRow, front: uint64(len(records))}
	a.buf = a.header.appendTo(a.buf)
	a.buf = append(a.buf, records...)
	a.dir.chunks = newChunkTable(c.blocks, firstRow, int64(len(a.buf)))
	return a, nil
}

func (a *assembler) flush() error {
	if len(a.buf) == 0 {
		return nil
	}
	err := a.write(a.buf)
	a.buf = trim(a.buf)[:0]
	return err
}

func (a *assembler) write(b []byte) error {
	a.sum.Write(b)
	began := time.Now()
	n, err := a.w.Write(b)
	a.writing += time.Since(began)
	a.written += int64(n)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	return err
}

// chunk adds an encoded chunk, the next in order.
func (a *assembler) chunk(j *chunkJob) error {
	var sum uint64
	a.buf, sum = j.appendFrame(a.buf, a.header.id)
	giant := len(j.out) > maxKept // written from where it lies
	if !giant {
		a.buf = append(a.buf, j.out...)
	}
	a.dir.chunks.add(j.rows, j.lens, sum)
	for i, t := range j.tally {
		a.tally[i].add(t)
	}
	k := 0
	for i := range a.dir.columns {
		c := &a.dir.columns[i]
		c.RawBytes += j.column[i]
		for s := range c.Streams {
			c.Streams[s].RawBytes += j.sizes[k]
			k++
		}
	}
	if giant || len(a.buf) >= writeBytes {
		if err := a.flush(); err != nil {
			return err
		}
	}
	if giant {
		return a.write(j.out)
	}
	return nil
}

// finish writes directory and footer.
func (a *assembler) finish(runs []merkle.Hash, root merkle.Hash) (Info, error) {
	d := &a.dir
	d.runs = runs
	if len(d.trials) > maxTrialsText { // for people to read: the first lines will do
		d.trials = d.trials[:strings.LastIndexByte(d.trials[:maxTrialsText], '\n')+1]
	}
	for i := range d.columns {
		for b := range d.columns[i].Blocks {
			t := &a.tally[a.coder.columns[i].base+b]
			d.columns[i].Blocks[b] = BlockStats{RawBytes: uint64(t.raw), StoredBytes: uint64(t.stored), Blocks: uint64(t.blocks), KeptRaw: uint64(t.kept)}
		}
	}
	d.copied = len(d.dictionaries) > 0 && d.dictionaryBytes()*100 < d.chunks.end()
	plain := d.appendTo(nil)
	if len(plain) > maxDirectoryBytes {
		return Info{}, fmt.Errorf("segment: directory of %d bytes, at most %d: use larger chunks, fewer rows or less metadata", len(plain), maxDirectoryBytes)
	}
	packed, err := packDirectory(plain)
	if err != nil {
		return Info{}, err
	}
	f := footer{
		id: a.header.id, firstRow: a.header.firstRow, rows: d.chunks.endRow() - a.header.firstRow, front: a.header.front,
		dirOffset: uint64(d.chunks.end()), dirLength: uint64(len(packed)), dirSum: directorySum(a.header.id, packed), root: root,
	}
	if f.dirLength > maxDirectoryBytes {
		return Info{}, fmt.Errorf("segment: directory of %d bytes, at most %d: use larger chunks or fewer rows", f.dirLength, maxDirectoryBytes)
	}
	a.buf = f.appendTo(append(a.buf, packed...))
	if err := a.flush(); err != nil {
		return Info{}, err
	}
	info := d.info(&f)
	info.StoredBytes = a.written
	info.Checksum = Checksum(a.sum.Sum64())
	return info, nil
}

// info returns what directory and footer say; StoredBytes and Checksum are left out.
func (d *directory) info(f *footer) Info {
	i := Info{
		Table: d.table, Schema: d.schema, FirstRow: f.firstRow, Rows: f.rows, Chunks: d.chunks.len(),
		ID: f.id, ContentRoot: f.root, Policy: d.policy, Encoder: d.encoder,
	}
	for _, c := range d.columns {
		i.RawBytes += c.RawBytes
	}
	return i
}

// planLayout resolves a policy for a schema. dictionaries has the dictionary of each
// block that has one, by the block's number in the chunk.
func planLayout(s Schema, p codec.Policy, encodings []codec.Encoding, chosen map[int]*dict.Dict) (Layout, []*dict.Dict, error) {
	var l Layout
	var dictionaries []*dict.Dict
	number := 0
	for _, col := range s.Columns {
		rule := p.Rule(col.Name, col.Kind.String(), col.Format)
		enc, err := ruleEncoding(rule, col.Kind, encodings)
		if err != nil {
			return l, nil, fmt.Errorf("segment: column %q: %w", col.Name, err)
		}
		cl := ColumnLayout{Encoding: enc.Name()}
		groups := []int{len(enc.Streams())}
		if rule.Group == codec.GroupStream {
			groups = make([]int, len(enc.Streams()))
			for i := range groups {
				groups[i] = 1
			}
		}
		for _, n := range groups {
			b := BlockLayout{Streams: n, Spec: rule.Without(), Dictionary: -1}
			if d := chosen[number]; d != nil && rule.Spec.Dict {
				b.Spec, b.Dictionary = rule.Spec, len(dictionaries)
				dictionaries = append(dictionaries, d)
			}
			cl.Blocks = append(cl.Blocks, b)
			number++
		}
		l.Columns = append(l.Columns, cl)
	}
	return l, dictionaries, nil
}
