package ethereum

import (
	"fmt"

	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/tools/chain"
)

// Writer appends blocks to the tables. It is for one goroutine.
type Writer struct {
	sink        *chain.Tally
	receipts    bool
	next        uint64 // row of blocks
	transaction uint64 // row of transactions
	block, row  segment.Row
	num         [3][8]byte
}

// NewWriter creates the tables in sink; that of receipts only where it is asked for. The first block becomes row firstRow,
// unless there are tables already: then rows go behind theirs.
func NewWriter(sink *chain.Tally, firstRow uint64, receipts bool) (*Writer, error) {
	tables := []chain.Table{
		{Name: chain.SourcesTable, Schema: chain.SourcesSchema()},
		{Name: BlocksTable, Schema: BlocksSchema(), FirstRow: firstRow},
		{Name: TransactionsTable, Schema: TransactionsSchema()},
		{Name: ReceiptsTable, Schema: ReceiptsSchema()},
	}
	if !receipts {
		tables = tables[:3]
	}
	for _, t := range tables {
		if err := sink.Create(t); err != nil {
			return nil, err
		}
	}
	return &Writer{
		sink: sink, receipts: receipts, next: sink.Next(BlocksTable), transaction: sink.Next(TransactionsTable),
		block: make(segment.Row, 7), row: make(segment.Row, 1),
	}, nil
}

// NextRow returns the row that the next block will be.
func (w *Writer) NextRow() uint64 { return w.next }

// Append appends a block.
func (w *Writer) Append(b *Block) error {
	if b.HasReceipts && len(b.Receipts) != len(b.Transactions) {
		return fmt.Errorf("ethereum: block %d: %d receipts, %d transactions", b.Number, len(b.Receipts), len(b.Transactions))
	}
	for i, n := range [3]uint64{b.Number, w.transaction, uint64(len(b.Transactions))} {
		segment.AppendUint(w.num[i][:0], n)
	}
	w.block[0], w.block[5], w.block[6] = w.num[0][:], w.num[1][:], w.num[2][:]
	w.block[1], w.block[2], w.block[3], w.block[4] = b.Header, b.Uncles, b.Withdrawals, b.TotalDifficulty
	if err := w.sink.Append(BlocksTable, w.block); err != nil {
		return err
	}
	for i, tx := range b.Transactions {
		w.row[0] = tx
		if err := w.sink.Append(TransactionsTable, w.row); err != nil {
			return err
		}
		if !w.receipts {
			continue
		}
		w.row[0] = nil
		if b.HasReceipts {
			w.row[0] = b.Receipts[i]
		}
		if err := w.sink.Append(ReceiptsTable, w.row); err != nil {
			return err
		}
	}
	w.next++
	w.transaction += uint64(len(b.Transactions))
	return w.sink.Mark()
}

// AppendSource appends a row of the table sources.
func (w *Writer) AppendSource(s *chain.Source) error {
	return w.sink.AppendSource(s)
}
