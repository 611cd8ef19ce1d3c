// Package era1 reads and writes era1 files: up to 8192 Ethereum blocks before the merge, with receipts and total difficulty.
//
//	era1  := version | block* | other entries* | accumulator | block index
//	block := compressed header | compressed body | compressed receipts | total difficulty
//
// Each is an entry of the e2store container; compressed means RLP in the snappy framing format. The block index holds the
// number of the first block, for each block the place of its header relative to the start of the index, and their count.
//
// Other encoders of snappy give other bytes. An import encodes each entry again, as geth does, and remembers whether all came out
// as they were: then an export is identical. Else it has equal content (and a block index that fits), which export proves by a
// digest of the content taken at import.
//
// Accumulator and unknown entries after the blocks are kept as they are. The accumulator is not checked against the blocks.
package era1

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/segstore/segstore/tools/chain"
	"github.com/segstore/segstore/tools/chain/ethereum"
)

// Importer reads era1 files.
type Importer struct{}

var _ chain.Importer = Importer{}

// Import walks the files once to learn whether their blocks follow each other, then reads them into rows.
func (Importer) Import(ctx context.Context, files []chain.File, sink chain.Sink, o chain.ImportOptions) (chain.Report, error) {
	if len(files) == 0 {
		return chain.Report{}, errors.New("era1: no files to import")
	}
	p := pass{ctx: ctx, limit: o.MaxBlockBytes}
	if p.limit <= 0 {
		p.limit = chain.DefaultMaxBlockBytes
	}
	spans := make([]ethereum.Span, len(files))
	for i, f := range files {
		var err error
		if spans[i], err = p.survey(f); err != nil {
			return chain.Report{}, err
		}
	}
	tally := chain.NewTally(sink, o.After)
	w, err := ethereum.NewWriter(tally, ethereum.FirstRow(spans), true)
	if err == nil {
		err = ethereum.Follow(o, spans)
	}
	if err != nil {
		return chain.Report{}, err
	}
	p.meter = chain.FilesMeter(files, o.Progress)
	report := chain.Report{}
	for _, f := range files {
		imported, err := p.read(f, w)
		if err != nil {
			return chain.Report{}, err
		}
		report.Sources = append(report.Sources, imported)
	}
	p.meter.End()
	report.Tables = tally.Tables()
	return report, nil
}

// pass reads files one after another.
type pass struct {
	ctx        context.Context
	limit      int
	meter      *chain.Meter
	de         decompressor
	framed     []byte
	parts      [3][]byte // header, body, receipts of a block
	difficulty []byte
	block      ethereum.Block
}

// survey walks over the entries of a file, and reads the header of the first block. That the others follow it is checked
// where they are read.
func (p *pass) survey(f chain.File) (ethereum.Span, error) {
	in, err := chain.OpenInput(p.ctx, f, chain.InputOptions{})
	if err != nil {
		return ethereum.Span{}, err
	}
	defer in.Close()
	if err := version(in); err != nil {
		return ethereum.Span{}, err
	}
	e, err := expect(in, typeHeader)
	if err != nil {
		return ethereum.Span{}, err
	}
	if err := p.header(in, e); err != nil {
		return ethereum.Span{}, err
	}
	span := ethereum.Span{File: f.Name}
	span.Add(&p.block, e.offset)
	for {
		e, err := nextEntry(in, "more entries, up to a block index")
		if err != nil {
			return ethereum.Span{}, err
		}
		if err := in.Skip(int64(e.size), e.kind.String()); err != nil {
			return ethereum.Span{}, err
		}
		switch e.kind {
		case typeHeader:
			span.Blocks++
		case typeIndex:
			return span, nil
		}
	}
}

func version(in *chain.Input) error {
	e, err := expect(in, typeVersion)
	if err == nil && e.size != 0 {
		err = in.Fail(e.offset, "a version entry without data", fmt.Errorf("%d bytes", e.size))
	}
	return err
}

// reading is one file being read.
type reading struct {
	*pass
	in      *chain.Input
	w       *ethereum.Writer
	source  chain.Source
	first   uint64  // number of the first block
	offsets []int64 // of the headers
	content content
	// changed is the offset of the first entry that the encoder does not give back; -1 while there is none.
	changed int64
}

// read appends the blocks of a file to the tables.
func (p *pass) read(f chain.File, w *ethereum.Writer) (chain.Imported, error) {
	in, err := chain.OpenInput(p.ctx, f, chain.InputOptions{Hash: true, Meter: p.meter})
	if err != nil {
		return chain.Imported{}, err
	}
	defer in.Close()
	r := reading{pass: p, in: in, w: w, content: newContent(), changed: -1}
	r.source = chain.Source{Name: chain.SourceName(f, false), Format: ethereum.FormatEra1, FirstBlock: w.NextRow()}
	if err := version(in); err != nil {
		return chain.Imported{}, err
	}
	r.content.add(typeVersion, nil)
	e, err := expect(in, typeHeader)
	for ; err == nil && e.kind == typeHeader; e, err = nextEntry(in, "a compressed header, other entry, accumulator or block index") {
		if err := r.readBlock(e); err != nil {
			return chain.Imported{}, err
		}
	}
	if err != nil {
		return chain.Imported{}, err
	}
	if err := r.readTail(e); err != nil {
		return chain.Imported{}, err
	}
	end, err := in.End()
	if err != nil {
		return chain.Imported{}, err
	}
	s := &r.source
	s.Blocks, s.Size, s.SHA256 = uint64(len(r.offsets)), end.Size, end.SHA256
	x := extra{reproducible: r.changed < 0, content: r.content.sum()}
	s.Extra = x.append(nil)
	imported := chain.Imported{Source: *s, Restore: chain.Identical}
	if !x.reproducible {
		imported.Restore = chain.EqualContent
		imported.Reason = fmt.Sprintf("compressed by another encoder of snappy (first at byte %d)", r.changed)
	}
	return imported, w.AppendSource(s)
}

// compressed reads and decompresses the data of entry e into part i.
func (p *pass) compressed(in *chain.Input, e entry, i int) (err error) {
	if e.size > p.limit { // snappy adds little to what it cannot compress
		return in.Fail(e.offset, fmt.Sprintf("%v of at most %d bytes", e.kind, p.limit), fmt.Errorf("%d bytes", e.size))
	}
	if p.framed, err = in.ReadN(p.framed, e.size, e.kind.String()); err != nil {
		return err
	}
	if p.parts[i], err = p.de.decode(p.parts[i][:0], p.framed, p.limit); err != nil {
		return in.Fail(e.offset+entryHeader, "data of "+e.kind.String()+" in the snappy framing format", err)
	}
	return nil
}

// header reads a block's header, which begins a new block.
func (p *pass) header(in *chain.Input, e entry) error {
	p.block.Reset()
	if err := p.compressed(in, e, 0); err != nil {
		return err
	}
	return split(in, e, p.block.SplitHeader(p.parts[0]))
}

// split places an error of the data of an entry.
func split(in *chain.Input, e entry, err error) error {
	if err == nil {
		return nil
	}
	var s *ethereum.SyntaxError
	if errors.As(err, &s) {
		return in.Fail(e.offset, s.Want, fmt.Errorf("at byte %d of the decompressed data of %v: %w", s.Offset, e.kind, s.Err))
	}
	return in.Fail(e.offset, e.kind.String(), err)
}

func (r *reading) readBlock(e entry) error {
	if len(r.offsets) == maxBlocks {
		return r.in.Fail(e.offset, fmt.Sprintf("at most %d blocks", maxBlocks), nil)
	}
	if err := r.header(r.in, e); err != nil {
		return err
	}
	if len(r.offsets) == 0 {
		r.first = r.block.Number
	} else if want := r.first + uint64(len(r.offsets)); r.block.Number != want {
		return r.in.Fail(e.offset, fmt.Sprintf("block %d", want), fmt.Errorf("a header of block %d", r.block.Number))
	}
	r.offsets = append(r.offsets, e.offset)
	r.account(e, r.parts[0])
	e, err := expect(r.in, typeBody)
	if err == nil {
		err = r.compressed(r.in, e, 1)
	}
	if err != nil {
		return err
	}
	if err := split(r.in, e, r.block.SplitBody(r.parts[1])); err != nil {
		return err
	}
	r.account(e, r.parts[1])
	if e, err = expect(r.in, typeReceipts); err == nil {
		err = r.compressed(r.in, e, 2)
	}
	if err != nil {
		return err
	}
	if err := split(r.in, e, r.block.SplitReceipts(r.parts[2])); err != nil {
		return err
	}
	r.account(e, r.parts[2])
	if e, err = expect(r.in, typeDifficulty); err != nil {
		return err
	}
	if e.size != difficultySize {
		return r.in.Fail(e.offset, "a total difficulty of 32 bytes", fmt.Errorf("%d bytes", e.size))
	}
	if r.difficulty, err = r.in.ReadN(r.difficulty, e.size, "a total difficulty"); err != nil {
		return err
	}
	r.content.add(e.kind, r.difficulty)
	r.block.TotalDifficulty = r.difficulty
	return r.w.Append(&r.block)
}

// account adds a compressed entry that was read to the digest of the content, and looks whether it can be made again; once
// one cannot, nothing more is to be known.
func (r *reading) account(e entry, plain []byte) {
	r.content.add(e.kind, plain)
	if r.changed < 0 && !r.de.reproducible(r.framed, plain) {
		r.changed = e.offset
	}
}

// readTail reads what follows the blocks, of which e is the first entry.
func (r *reading) readTail(e entry) (err error) {
	accumulators := 0
	for e.kind != typeIndex {
		switch {
		case e.kind.ofBlock():
			return r.in.Fail(e.offset, "an accumulator or other entry after the last block", fmt.Errorf("%v", e.kind))
		case e.kind == typeVersion:
			return r.in.Fail(e.offset, "one version entry, at the start", fmt.Errorf("another one"))
		case accumulators > 0:
			return r.in.Fail(e.offset, typeIndex.String()+" after the accumulator", fmt.Errorf("%v", e.kind))
		case e.size > maxTail-entryHeader-len(r.source.Tail):
			return r.in.Fail(e.offset, fmt.Sprintf("at most %d bytes between blocks and block index", maxTail), fmt.Errorf("%v of %d bytes", e.kind, e.size))
		case e.kind == typeAccumulator:
			if accumulators++; e.size != accumulatorSize {
				return r.in.Fail(e.offset, "an accumulator of 32 bytes", fmt.Errorf("%d bytes", e.size))
			}
		}
		if r.framed, err = r.in.ReadN(r.framed, e.size, e.kind.String()); err != nil {
			return err
		}
		r.content.add(e.kind, r.framed)
		r.source.Tail = appendEntry(r.source.Tail, e.kind, r.framed)
		if e, err = nextEntry(r.in, "an accumulator, other entry or block index"); err != nil {
			return err
		}
	}
	if accumulators == 0 {
		return r.in.Fail(e.offset, typeAccumulator.String()+" before the block index", nil)
	}
	return r.readIndex(e)
}

// readIndex checks the block index against the blocks.
func (r *reading) readIndex(e entry) (err error) {
	n := len(r.offsets)
	if want := indexSize(n); e.size != want {
		return r.in.Fail(e.offset, fmt.Sprintf("a block index of %d bytes, for %d blocks", want, n), fmt.Errorf("%d bytes", e.size))
	}
	if r.framed, err = r.in.ReadN(r.framed, e.size, "a block index"); err != nil {
		return err
	}
	at := e.offset + entryHeader
	for i := range n + 2 {
		want := r.first
		switch {
		case i == n+1:
			want = uint64(n)
		case i > 0:
			want = uint64(r.offsets[i-1] - e.offset)
		}
		if got := binary.LittleEndian.Uint64(r.framed[8*i:]); got != want {
			return r.in.Fail(at+int64(8*i), fmt.Sprintf("%s in the block index: %d", r.indexItem(i), int64(want)), fmt.Errorf("%d", int64(got)))
		}
	}
	r.content.index(r.first, uint64(n))
	return nil
}

// indexItem says what item i of the block index is.
func (r *reading) indexItem(i int) string {
	switch i {
	case 0:
		return "number of the first block"
	case len(r.offsets) + 1:
		return "count of blocks"
	}
	return fmt.Sprintf("place of block %d", r.first+uint64(i-1))
}

func indexSize(blocks int) int { return 8 * (blocks + 2) }

// appendIndex appends the entry of a block index that starts at the end of a file of size bytes.
func appendIndex(dst []byte, first uint64, offsets []int64, size int64) []byte {
	dst = appendEntryHeader(dst, typeIndex, indexSize(len(offsets)))
	dst = binary.LittleEndian.AppendUint64(dst, first)
	for _, o := range offsets {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(o-size))
	}
	return binary.LittleEndian.AppendUint64(dst, uint64(len(offsets)))
}
