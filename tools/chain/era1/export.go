package era1

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/segstore/segstore/tools/chain"
	"github.com/segstore/segstore/tools/chain/ethereum"
)

// Exporter writes era1 files.
type Exporter struct{}

var _ chain.Exporter = Exporter{}

// Export writes an era1 file for each source that was one. Streams of blocks have no total difficulties, so that they cannot
// become era1 files.
func (Exporter) Export(ctx context.Context, v chain.View, out chain.Output, o chain.ExportOptions) (chain.ExportReport, error) {
	return chain.ExportSources(ctx, v, out, o, func(s chain.Source) (chain.Job, error) {
		if s.Format != ethereum.FormatEra1 {
			return chain.Job{}, fmt.Errorf("%w: era1: %s is %s and has no total difficulties", chain.ErrCannotExport, s.Name, s.Format)
		}
		var x extra
		if err := x.parse(s.Extra); err != nil {
			return chain.Job{}, err
		}
		if s.Blocks > maxBlocks {
			return chain.Job{}, fmt.Errorf("%w: era1: %s has %d blocks, at most %d fit", chain.ErrCannotExport, s.Name, s.Blocks, maxBlocks)
		}
		return chain.Job{Format: ethereum.FormatEra1, Name: s.Name, Write: func(ctx context.Context, w io.Writer) (chain.Outcome, error) {
			return write(v, s, x, w)
		}}, nil
	})
}

// writing is one file being written.
type writing struct {
	w       io.Writer
	size    int64
	buf     []byte
	plain   []byte
	c       compressor
	content content
}

func write(v chain.View, s chain.Source, x extra, w io.Writer) (chain.Outcome, error) {
	f := writing{w: w, content: newContent()}
	if err := f.entry(typeVersion, nil); err != nil {
		return chain.Outcome{}, err
	}
	var first uint64
	offsets := make([]int64, 0, s.Blocks)
	for b, err := range ethereum.Blocks(v, s.FirstBlock, s.Blocks, true) {
		if err != nil {
			return chain.Outcome{}, err
		}
		if len(offsets) == 0 {
			first = b.Number
		}
		offsets = append(offsets, f.size)
		if err := f.block(b); err != nil {
			return chain.Outcome{}, err
		}
	}
	if err := f.tail(s.Tail); err != nil {
		return chain.Outcome{}, err
	}
	f.content.index(first, s.Blocks)
	f.buf = appendIndex(f.buf[:0], first, offsets, f.size)
	if err := f.flush(); err != nil {
		return chain.Outcome{}, err
	}
	outcome := chain.Outcome{Equal: f.content.sum() == x.content}
	switch {
	case !outcome.Equal:
		outcome.Reason = "the content is not the source's"
	case !x.reproducible:
		outcome.Reason = "the source was compressed by another encoder of snappy; the content is equal"
	default:
		outcome.Reason = "the encoder of snappy gives other bytes than it did at import; the content is equal"
	}
	return outcome, nil
}

func (f *writing) flush() error {
	n, err := f.w.Write(f.buf)
	f.size += int64(n)
	return err
}

// entry writes an entry whose data are kept as they are.
func (f *writing) entry(t entryType, data []byte) error {
	f.content.add(t, data)
	f.buf = appendEntry(f.buf[:0], t, data)
	return f.flush()
}

// compress writes an entry of compressed data.
func (f *writing) compress(t entryType, data []byte) (err error) {
	f.content.add(t, data)
	if f.buf, err = f.c.encode(appendEntryHeader(f.buf[:0], t, 0), data); err != nil {
		return err
	}
	binary.LittleEndian.PutUint32(f.buf[2:], uint32(len(f.buf)-entryHeader))
	return f.flush()
}

func (f *writing) block(b *ethereum.Block) error {
	if len(b.TotalDifficulty) != difficultySize {
		return fmt.Errorf("%w: block %d has a total difficulty of %d bytes, not %d", ethereum.ErrRows, b.Number, len(b.TotalDifficulty), difficultySize)
	}
	if err := f.compress(typeHeader, b.Header); err != nil {
		return err
	}
	f.plain = b.AppendBody(f.plain[:0])
	if err := f.compress(typeBody, f.plain); err != nil {
		return err
	}
	f.plain = b.AppendReceipts(f.plain[:0])
	if err := f.compress(typeReceipts, f.plain); err != nil {
		return err
	}
	return f.entry(typeDifficulty, b.TotalDifficulty)
}

// tail writes the entries between blocks and block index as they were.
func (f *writing) tail(b []byte) error {
	for len(b) > 0 {
		if len(b) < entryHeader {
			return fmt.Errorf("%w: sources: tail ends inside an entry", ethereum.ErrRows)
		}
		t, n := entryType(binary.LittleEndian.Uint16(b)), uint64(binary.LittleEndian.Uint32(b[2:]))
		if n > uint64(len(b)-entryHeader) {
			return fmt.Errorf("%w: sources: tail ends inside an entry", ethereum.ErrRows)
		}
		if err := f.entry(t, b[entryHeader:entryHeader+n]); err != nil {
			return err
		}
		b = b[entryHeader+n:]
	}
	return nil
}
