package blk

import (
	"cmp"
	"context"
	"encoding/binary"

	"github.com/segstore/segstore/codec/wire"
	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/tools/chain"
)

var le = binary.LittleEndian

// Importer reads block files, raw blocks, and the key file where it is among the files. The zero value finds out all it
// needs by itself.
type Importer struct {
	// Key is what the files are obfuscated with. Default: the key file in the same folder, among the files or on the
	// disk. A file that makes sense without is read without.
	Key *Key
	// Magic is the only one accepted. Default: that of the first record of each file.
	Magic Magic
	// SkipChecks leaves out comparing Merkle roots and witness commitments.
	SkipChecks bool
	// KeepJunk keeps up to MaxJunkBytes of bytes between blocks, or after the last, that are neither a block nor zeros, such
	// as a block half written when the power went, instead of failing. An export gives them back; the report names them.
	KeepJunk bool
}

var _ chain.Importer = Importer{}

// Import appends the blocks of files. o.MaxBlockBytes is MaxBlockBytes at most, and by default.
func (im Importer) Import(ctx context.Context, files []chain.File, sink chain.Sink, o chain.ImportOptions) (chain.Report, error) {
	tally := chain.NewTally(sink, o.After)
	for _, t := range tables() {
		if err := tally.Create(t); err != nil {
			return chain.Report{}, err
		}
	}
	if err := chain.CheckBlocks(o, BlocksTable, TransactionsTable); err != nil {
		return chain.Report{}, err
	}
	s := &scan{
		options: im,
		sink:    tally,
		meter:   chain.FilesMeter(files, o.Progress),
		p:       newParser(!im.SkipChecks),
		limit:   min(cmp.Or(max(o.MaxBlockBytes, 0), MaxBlockBytes), MaxBlockBytes),
	}
	s.blocks, s.transactions = tally.Next(BlocksTable), tally.Next(TransactionsTable)
	report := chain.Report{Sources: []chain.Imported{}}
	for _, f := range files {
		source, err := s.file(ctx, f, files)
		if err != nil {
			return chain.Report{}, err
		}
		report.Sources = append(report.Sources, source)
		if err := tally.AppendSource(&source.Source); err != nil {
			return chain.Report{}, err
		}
	}
	s.meter.End()
	report.Tables = tally.Tables()
	return report, nil
}

// scan is an import under way; w, size and the source are those of the file being read.
type scan struct {
	options Importer
	sink    *chain.Tally
	meter   *chain.Meter
	p       *parser
	limit   int

	w    *window
	size int64 // of the file, or below 0
	junk junk

	blocks, transactions uint64 // numbers of the next rows

	row    segment.Row
	values []byte
}

// file imports one file.
func (s *scan) file(ctx context.Context, f chain.File, files []chain.File) (chain.Imported, error) {
	if f.Base() == KeyFile {
		return s.keyFile(ctx, f)
	}
	var key Key
	if s.options.Key != nil {
		key = *s.options.Key
	} else if found, err := findKey(f, files); err != nil {
		return chain.Imported{}, err
	} else {
		key = found
	}
	in, err := chain.OpenInput(ctx, f, chain.InputOptions{Hash: true, Meter: s.meter})
	if err != nil {
		return chain.Imported{}, err
	}
	defer in.Close()
	s.w, s.size, s.junk = &window{in: in, buf: s.reuse()}, f.Size, junk{}
	source := chain.Source{Name: chain.SourceName(f, false), Format: FormatFile, FirstBlock: s.blocks}
	shape, gap, err := s.detect(key, s.options.Magic)
	switch {
	case err != nil:
	case shape.raw:
		source.Format = FormatRaw
		err = s.append(s.w.have(), nil)
	default:
		source.Extra = appendShape(nil, shape)
		source.Head, source.Tail, err = s.records(shape, gap)
	}
	if err != nil {
		return chain.Imported{}, err
	}
	end, err := in.End()
	if err != nil {
		return chain.Imported{}, err
	}
	source.Blocks = s.blocks - source.FirstBlock
	source.Size, source.SHA256 = end.Size, end.SHA256
	return chain.Imported{Source: source, Restore: chain.Identical, Reason: s.junk.String()}, nil
}

// reuse returns the last file's buffer.
func (s *scan) reuse() []byte {
	if s.w == nil {
		return nil
	}
	return s.w.buf[:0]
}

// keyFile imports the key file as a source without blocks.
func (s *scan) keyFile(ctx context.Context, f chain.File) (chain.Imported, error) {
	in, err := chain.OpenInput(ctx, f, chain.InputOptions{Hash: true, Meter: s.meter})
	if err != nil {
		return chain.Imported{}, err
	}
	defer in.Close()
	b, err := in.ReadN(nil, len(Key{}), "a key of 8 bytes")
	if err != nil {
		return chain.Imported{}, err
	}
	end, err := in.End()
	if err != nil {
		return chain.Imported{}, err
	}
	return chain.Imported{Restore: chain.Identical, Source: chain.Source{
		Name: chain.SourceName(f, false), Format: FormatKey, FirstBlock: s.blocks,
		Size: end.Size, SHA256: end.SHA256, Head: b,
	}}, nil
}

// records appends all blocks of a block file; gap is what came before. It returns the gap records of what precedes the
// first block and follows the last.
func (s *scan) records(sh shape, gap []byte) (head, tail []byte, err error) {
	isMagic := func(m Magic) bool { return m == sh.magic }
	for first := true; ; {
		if gap, err = s.w.padding(gap, sh.key, isMagic, true); err != nil {
			return nil, nil, err
		}
		if len(s.w.have()) == 0 { // padding has asked for more
			if !first {
				return head, gap, nil
			}
			if s.junk.first != nil {
				return nil, nil, s.junk.first
			}
			return nil, nil, s.w.in.Fail(s.w.off, "a block", errNoBlock)
		}
		block, n, bad, err := s.record(0, sh.magic, sh.key)
		switch {
		case err != nil:
			return nil, nil, err
		case bad != nil && !s.options.KeepJunk:
			return nil, nil, bad
		case bad != nil:
			if gap, err = s.keepJunk(gap, sh, bad); err != nil {
				return nil, nil, err
			}
			continue
		case first:
			head, gap, first = gap, nil, false
		}
		if err := s.append(block, gap); err != nil {
			return nil, nil, err
		}
		s.w.take(n)
		gap = gap[:0]
	}
}

// append appends the rows of a block that the parser has just read.
func (s *scan) append(block, framing []byte) error {
	for _, t := range s.p.txs {
		s.row = append(s.row[:0], block[t.start:t.end])
		if err := s.sink.Append(TransactionsTable, s.row); err != nil {
			return err
		}
	}
	s.values = segment.AppendUint(s.values[:0], s.transactions)
	s.values = segment.AppendUint(s.values, uint64(len(s.p.txs)))
	s.row = append(s.row[:0], block[:headerBytes], s.values[:8], s.values[8:], framing)
	s.transactions += uint64(len(s.p.txs))
	s.blocks++
	if err := s.sink.Append(BlocksTable, s.row); err != nil {
		return err
	}
	return s.sink.Mark()
}

// appendShape appends the extra record of a source: magic, key.
func appendShape(dst []byte, sh shape) []byte {
	dst = append(dst, sh.magic[:]...)
	if sh.key == (Key{}) {
		return wire.AppendBytes(dst, nil)
	}
	return wire.AppendBytes(dst, sh.key[:])
}

func parseShape(extra []byte) (shape, error) {
	var sh shape
	c := wire.NewCursor(extra)
	copy(sh.magic[:], c.Raw(len(sh.magic)))
	if key := c.Bytes(len(sh.key)); len(key) == len(sh.key) {
		sh.key = Key(key)
	} else if len(key) > 0 {
		c.Fail(errKeySize)
	}
	return sh, c.Close()
}
