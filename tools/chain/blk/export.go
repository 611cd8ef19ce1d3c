package blk

import (
	"context"
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/tools/chain"
)

// Exporter writes the files back that an Importer has read, each as it was: framing, zeros and obfuscation.
type Exporter struct{}

var _ chain.Exporter = Exporter{}

// Export writes a file for each source that o selects. A source of another chain's is an error.
func (Exporter) Export(ctx context.Context, v chain.View, out chain.Output, o chain.ExportOptions) (chain.ExportReport, error) {
	return chain.ExportSources(ctx, v, out, o, func(s chain.Source) (chain.Job, error) {
		job := chain.Job{Format: s.Format, Name: s.Name}
		x := &writer{v: v, source: s}
		var err error
		switch s.Format {
		case FormatFile:
			x.shape, err = parseShape(s.Extra)
		case FormatRaw:
			x.shape.raw = true
		case FormatKey:
		default:
			err = fmt.Errorf("%w: it is of format %q, not of Bitcoin blocks", chain.ErrCannotExport, s.Format)
		}
		if err == nil && s.Blocks > 0 {
			err = checkTables(v)
		}
		if err != nil {
			return chain.Job{}, fmt.Errorf("export of %s: %w", s.Name, err)
		}
		job.Write = func(_ context.Context, w io.Writer) (chain.Outcome, error) { return chain.Outcome{}, x.write(w) }
		return job, nil
	})
}

// checkTables returns an error where the view has not the tables that an import makes.
func checkTables(v chain.View) error {
	have := v.Tables()
	for _, want := range tables() {
		i := slices.IndexFunc(have, func(t chain.Table) bool { return t.Name == want.Name })
		if i < 0 || !have[i].Schema.Equal(want.Schema) {
			return fmt.Errorf("%w: there is no table %s of Bitcoin's", chain.ErrCannotExport, want.Name)
		}
	}
	return nil
}

// writer writes one source.
type writer struct {
	v      chain.View
	source chain.Source
	shape  shape
	w      io.Writer
	off    int64 // bytes written
	block  []byte
}

func (x *writer) write(w io.Writer) error {
	x.w = w
	if x.source.Format == FormatKey {
		return x.plain(x.source.Head)
	}
	if err := x.gap(x.source.Head); err != nil {
		return err
	}
	if err := x.blocks(); err != nil {
		return err
	}
	return x.gap(x.source.Tail)
}

// plain writes b as it is.
func (x *writer) plain(b []byte) error {
	n, err := x.w.Write(b)
	x.off += int64(n)
	return err
}

// gap writes what a gap record holds.
func (x *writer) gap(record []byte) error {
	return gapRuns(record, func(kind int, n int64, b []byte) error {
		if uint64(x.off+n) > x.source.Size { // a few bytes may stand for any number of zeros
			return fmt.Errorf("blk: framing: %d bytes at byte %d of a file of %d", n, x.off, x.source.Size)
		}
		if kind == runBytes {
			return x.plain(b)
		}
		var key Key
		if kind == runHidden {
			key = x.shape.key
		}
		for n > 0 {
			x.block = append(x.block[:0], make([]byte, min(n, chain.InputBuffer))...)
			key.xor(x.block, x.off)
			if err := x.plain(x.block); err != nil {
				return err
			}
			n -= int64(len(x.block))
		}
		return nil
	})
}

// blocks writes the blocks of the source.
func (x *writer) blocks() error {
	if x.source.Blocks == 0 {
		return nil
	}
	blocks := x.v.Scan(BlocksTable, x.source.FirstBlock, "header", "first_transaction", "transaction_count", "framing")
	var txs *transactions
	left := x.source.Blocks
	for row, err := range blocks {
		if err != nil {
			return err
		}
		first, count := le.Uint64(row[1]), le.Uint64(row[2])
		if txs == nil {
			txs = newTransactions(x.v, first)
			defer txs.stop()
		}
		if err := x.gap(row[3]); err != nil {
			return err
		}
		if err := x.read(row[0], txs, first, count); err != nil {
			return fmt.Errorf("blk: block in row %d: %w", x.source.FirstBlock+x.source.Blocks-left, err)
		}
		x.shape.key.xor(x.block, x.off)
		if err := x.plain(x.block); err != nil {
			return err
		}
		if left--; left == 0 {
			return nil
		}
	}
	return fmt.Errorf("blk: the table %s ends %d blocks before the source does", BlocksTable, left)
}

// read builds the record of a block.
func (x *writer) read(header []byte, txs *transactions, first, count uint64) error {
	if txs.row != first {
		return fmt.Errorf("its first transaction is %d, expected %d", first, txs.row)
	}
	x.block = x.block[:0]
	if !x.shape.raw {
		x.block = append(x.block, x.shape.magic[:]...)
		x.block = append(x.block, 0, 0, 0, 0)
	}
	start := len(x.block)
	x.block = append(x.block, header...)
	x.block = appendCompact(x.block, count)
	for range count {
		tx, err := txs.next()
		if err != nil {
			return err
		}
		if x.block = append(x.block, tx...); len(x.block) > framingBytes+MaxBlockBytes {
			return fmt.Errorf("more than %d bytes", MaxBlockBytes)
		}
	}
	if !x.shape.raw {
		le.PutUint32(x.block[start-4:], uint32(len(x.block)-start))
	}
	return nil
}

// transactions reads the table of transactions row by row.
type transactions struct {
	row  uint64 // number of the next one
	pull func() (segment.Row, error, bool)
	stop func()
}

func newTransactions(v chain.View, first uint64) *transactions {
	t := &transactions{row: first}
	t.pull, t.stop = iter.Pull2(v.Scan(TransactionsTable, first, "transaction"))
	return t
}

// next returns the next transaction, valid until the call after.
func (t *transactions) next() ([]byte, error) {
	row, err, ok := t.pull()
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, fmt.Errorf("the table %s ends at row %d", TransactionsTable, t.row)
	}
	t.row++
	return row[0], nil
}

// appendCompact appends a compact size.
func appendCompact(dst []byte, n uint64) []byte {
	switch {
	case n < 0xfd:
		return append(dst, byte(n))
	case n < 1<<16:
		return le.AppendUint16(append(dst, 0xfd), uint16(n))
	case n < 1<<32:
		return le.AppendUint32(append(dst, 0xfe), uint32(n))
	}
	return le.AppendUint64(append(dst, 0xff), n)
}
