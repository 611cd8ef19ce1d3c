// Package rlp reads and writes streams of Ethereum blocks in RLP, one after another, in two forms:
//
//	geth   [header, transactions, uncles] or, with withdrawals, of 4 items: what `geth export` writes
//	rlps   [header, body, receipts], where body is [transactions, uncles] or [transactions, uncles, withdrawals]
//
// Input may be compressed by gzip, as geth does where the name ends in .gz; output is not. The form is found by looking at the
// first block of each file, or given. Blocks of one file need not follow each other in number.
package rlp

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/segstore/segstore/codec/wire"
	"github.com/segstore/segstore/tools/chain"
	"github.com/segstore/segstore/tools/chain/ethereum"
)

// Importer reads streams of blocks. The zero value finds out their form.
type Importer struct {
	Form ethereum.Form
}

var _ chain.Importer = Importer{}

// peekFirst is how many bytes of a block are looked at first for its number and form; where they are not enough,
// chain.InputBuffer.
const peekFirst = 4 << 10

// Import walks the files once to learn their form and whether their blocks follow each other, then reads them into rows.
func (im Importer) Import(ctx context.Context, files []chain.File, sink chain.Sink, o chain.ImportOptions) (chain.Report, error) {
	if len(files) == 0 {
		return chain.Report{}, errors.New("rlp: no files to import")
	}
	p := pass{ctx: ctx, form: im.Form, limit: o.MaxBlockBytes}
	if p.limit <= 0 {
		p.limit = chain.DefaultMaxBlockBytes
	}
	forms, spans, receipts := make([]ethereum.Form, len(files)), make([]ethereum.Span, len(files)), false
	for i, f := range files {
		var err error
		if forms[i], spans[i], err = p.survey(f); err != nil {
			return chain.Report{}, err
		}
		receipts = receipts || forms[i] == ethereum.RLPS
	}
	if o.After != nil {
		receipts = receipts || ethereum.HasReceipts(o.After)
	}
	tally := chain.NewTally(sink, o.After)
	w, err := ethereum.NewWriter(tally, ethereum.FirstRow(spans), receipts)
	if err == nil {
		err = ethereum.Follow(o, spans)
	}
	if err != nil {
		return chain.Report{}, err
	}
	p.meter = chain.FilesMeter(files, o.Progress)
	report := chain.Report{}
	for i, f := range files {
		imported, err := p.read(f, forms[i], w)
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
	ctx   context.Context
	form  ethereum.Form
	limit int
	meter *chain.Meter
	buf   []byte
	block ethereum.Block
}

// survey walks over the blocks of a file by their lengths, and reads the number of each and the form of the first.
func (p *pass) survey(f chain.File) (form ethereum.Form, span ethereum.Span, err error) {
	in, err := chain.OpenInput(p.ctx, f, chain.InputOptions{Gzip: true})
	if err != nil {
		return 0, span, err
	}
	defer in.Close()
	span.File = f.Name
	for {
		size, err := p.next(in)
		if err != nil {
			return 0, span, err
		}
		if size == 0 {
			break
		}
		block, found, err := start(in, size)
		if err != nil {
			return 0, span, err
		}
		if span.Blocks == 0 {
			form = found
		}
		span.Add(&block, in.Offset())
		if err := in.Skip(int64(size), "a block"); err != nil {
			return 0, span, err
		}
	}
	if span.Blocks == 0 {
		return 0, span, in.Fail(0, "a block: an RLP list", chain.ErrTruncated)
	}
	if p.form != ethereum.Auto {
		form = p.form
	}
	return form, span, nil
}

// next returns the size of the next block, prefix included; 0 at the end of the file.
func (p *pass) next(in *chain.Input) (int, error) {
	b, err := in.Peek(ethereum.MaxItemHeader)
	if err != nil || len(b) == 0 {
		return 0, err
	}
	list, head, payload, err := ethereum.ItemHeader(b)
	switch {
	case errors.Is(err, ethereum.ErrShort):
		return 0, in.Fail(in.Offset(), "a block: an RLP list", chain.ErrTruncated)
	case err != nil:
		return 0, in.Fail(in.Offset(), "a block: an RLP list", err)
	case !list:
		return 0, in.Fail(in.Offset(), "a block: an RLP list", fmt.Errorf("byte 0x%02x", b[0]))
	case payload > uint64(min(p.limit, math.MaxInt32)-head):
		return 0, in.Fail(in.Offset(), fmt.Sprintf("a block of at most %d bytes", p.limit), fmt.Errorf("%d bytes", payload))
	}
	size := head + int(payload)
	if left := in.Left(); left >= 0 && int64(size) > left {
		return 0, in.Fail(in.Offset(), blockOf(size), fmt.Errorf("%w, at byte %d", chain.ErrTruncated, in.Offset()+left))
	}
	return size, nil
}

// start looks at the block of size bytes that comes next. It is valid until in moves on.
func start(in *chain.Input, size int) (ethereum.Block, ethereum.Form, error) {
	b, err := in.Peek(min(size, peekFirst))
	if err != nil {
		return ethereum.Block{}, 0, err
	}
	block, form, err := ethereum.Start(b)
	if errors.Is(err, ethereum.ErrShort) && len(b) == peekFirst {
		if b, err = in.Peek(min(size, chain.InputBuffer)); err != nil {
			return block, 0, err
		}
		block, form, err = ethereum.Start(b)
	}
	switch {
	case errors.Is(err, ethereum.ErrShort) && len(b) < min(size, chain.InputBuffer):
		return block, 0, in.Fail(in.Offset(), blockOf(size), chain.ErrTruncated)
	case err != nil:
		return block, 0, syntax(in, in.Offset(), err)
	}
	return block, form, nil
}

func blockOf(size int) string { return fmt.Sprintf("a block of %d bytes", size) }

// syntax places an error of the block at an offset of the file.
func syntax(in *chain.Input, offset int64, err error) error {
	var e *ethereum.SyntaxError
	if errors.As(err, &e) {
		return in.Fail(offset+int64(e.Offset), e.Want, e.Err)
	}
	return in.Fail(offset, "a block", err)
}

// read appends the blocks of a file to the tables.
func (p *pass) read(f chain.File, form ethereum.Form, w *ethereum.Writer) (chain.Imported, error) {
	in, err := chain.OpenInput(p.ctx, f, chain.InputOptions{Gzip: true, Hash: true, Meter: p.meter})
	if err != nil {
		return chain.Imported{}, err
	}
	defer in.Close()
	s := chain.Source{Name: chain.SourceName(f, in.Gzip()), Format: form.String(), FirstBlock: w.NextRow()}
	for {
		offset := in.Offset()
		size, err := p.next(in)
		if err != nil {
			return chain.Imported{}, err
		}
		if size == 0 {
			break
		}
		if p.buf, err = in.ReadN(p.buf, size, "a block"); err != nil {
			return chain.Imported{}, err
		}
		if form == ethereum.RLPS {
			err = p.block.SplitRLPS(p.buf)
		} else {
			err = p.block.SplitGeth(p.buf)
		}
		if err != nil {
			return chain.Imported{}, syntax(in, offset, err)
		}
		if err := w.Append(&p.block); err != nil {
			return chain.Imported{}, err
		}
		s.Blocks++
	}
	end, err := in.End()
	if err != nil {
		return chain.Imported{}, err
	}
	s.Size, s.SHA256 = end.Size, end.SHA256
	x := extra{gzip: end.Gzip, size: end.GzSize, sum: end.GzSHA256}
	s.Extra = x.append(nil)
	imported := chain.Imported{Source: s, Restore: chain.Identical}
	if end.Gzip {
		imported.Restore, imported.Reason = chain.EqualContent, x.reason()
	}
	return imported, w.AppendSource(&s)
}

// extra is what the table sources keeps of a stream beyond the common columns: uvarint version 1, a byte that is 1 where the
// file was a gzip, and then its size (uint64) and SHA-256.
type extra struct {
	gzip bool
	size uint64
	sum  chain.Sum
}

const extraVersion = 1

func (x *extra) append(dst []byte) []byte {
	dst = wire.AppendUvarint(dst, extraVersion)
	if !x.gzip {
		return append(dst, 0)
	}
	dst = wire.AppendUint64(append(dst, 1), x.size)
	return append(dst, x.sum[:]...)
}

func (x *extra) parse(b []byte) error {
	c := wire.NewCursor(b)
	if v := c.Uvarint(); c.Err() == nil && v != extraVersion {
		return fmt.Errorf("rlp: sources: extra: version %d, not %d", v, extraVersion)
	}
	switch flag := c.Uint8(); flag {
	case 0:
	case 1:
		x.gzip, x.size = true, c.Uint64()
		copy(x.sum[:], c.Raw(len(x.sum)))
	default:
		c.Fail(fmt.Errorf("gzip flag %d is not 0 or 1", flag))
	}
	if err := c.Close(); err != nil {
		return fmt.Errorf("rlp: sources: extra: %w", err)
	}
	return nil
}

func (x *extra) reason() string {
	return fmt.Sprintf("the source was compressed by gzip (%d bytes, SHA-256 %s); it is written decompressed", x.size, x.sum)
}
