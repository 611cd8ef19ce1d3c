package ethereum

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"

	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/tools/chain"
)

// ErrRows is wrapped by the error of tables that do not hold what an importer wrote.
var ErrRows = errors.New("ethereum: the tables do not fit together")

var blockColumns = []string{"number", "header", "uncles", "withdrawals", "total_difficulty", "first_transaction", "transaction_count"}

// Blocks yields n blocks of the view, from row first of the table blocks on, with receipts where they are asked for. A block
// is valid until the next step. Fewer blocks than n, or rows that do not fit together, are errors (ErrRows); the absence of a
// receipt that is asked for is chain.ErrCannotExport.
func Blocks(v chain.View, first, n uint64, receipts bool) iter.Seq2[*Block, error] {
	return func(yield func(*Block, error) bool) {
		r := reader{view: v, receipts: receipts}
		defer r.stop()
		if n == 0 {
			return
		}
		i := uint64(0)
		for row, err := range v.Scan(BlocksTable, first, blockColumns...) {
			if err == nil {
				err = r.read(row, first+i)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if i++; !yield(&r.block, nil) || i == n {
				return
			}
		}
		yield(nil, fmt.Errorf("%w: blocks: %d rows from row %d, not %d", ErrRows, i, first, n))
	}
}

// reader joins the rows of the tables.
type reader struct {
	view     chain.View
	receipts bool
	block    Block
	txs, rcs values
	next     uint64 // row of transactions
	started  bool
}

func (r *reader) read(row segment.Row, n uint64) error {
	if len(row) != len(blockColumns) || len(row[0]) != 8 || len(row[5]) != 8 || len(row[6]) != 8 {
		return fmt.Errorf("%w: blocks: row %d is not of the schema", ErrRows, n)
	}
	b := &r.block
	b.Reset()
	b.Number = binary.LittleEndian.Uint64(row[0])
	b.Header, b.Uncles = row[1], row[2]
	if len(row[3]) > 0 {
		b.Withdrawals = row[3]
	}
	if len(row[4]) > 0 {
		b.TotalDifficulty = row[4]
	}
	first, count := binary.LittleEndian.Uint64(row[5]), binary.LittleEndian.Uint64(row[6])
	if !r.started {
		r.started, r.next = true, first
	}
	if first != r.next {
		return fmt.Errorf("%w: blocks: row %d starts at transaction %d, not %d", ErrRows, n, first, r.next)
	}
	r.next += count
	var err error
	if b.Transactions, err = r.txs.take(r.view, TransactionsTable, "transaction", first, count, b.Transactions); err != nil {
		return err
	}
	if !r.receipts {
		return nil
	}
	b.HasReceipts = true
	if b.Receipts, err = r.rcs.take(r.view, ReceiptsTable, "receipt", first, count, b.Receipts); err != nil {
		return err
	}
	for i, rc := range b.Receipts {
		if len(rc) == 0 {
			return fmt.Errorf("%w: receipt %d (block %d) is not there", chain.ErrCannotExport, first+uint64(i), b.Number)
		}
	}
	return nil
}

func (r *reader) stop() {
	r.txs.stop()
	r.rcs.stop()
}

// values takes runs of values of a column, each where the last one ended.
type values struct {
	pull func() (segment.Row, error, bool)
	end  func()
	data []byte
	ends []int
}

// take copies count values into memory that the next call reuses. A block without transactions starts no scan.
func (s *values) take(v chain.View, table, column string, from, count uint64, dst [][]byte) ([][]byte, error) {
	if count == 0 {
		return dst[:0], nil
	}
	if s.pull == nil {
		s.pull, s.end = iter.Pull2(v.Scan(table, from, column))
	}
	s.data, s.ends = s.data[:0], s.ends[:0]
	for i := range count {
		row, err, ok := s.pull()
		switch {
		case err != nil:
			return nil, err
		case !ok:
			return nil, fmt.Errorf("%w: %s end at row %d, %d wanted from row %d", ErrRows, table, from+i, count, from)
		case len(row) != 1:
			return nil, fmt.Errorf("%w: %s: row %d is not of the schema", ErrRows, table, from+i)
		}
		s.data = append(s.data, row[0]...)
		s.ends = append(s.ends, len(s.data))
	}
	dst = dst[:0]
	start := 0
	for _, end := range s.ends {
		dst = append(dst, s.data[start:end:end])
		start = end
	}
	return dst, nil
}

func (s *values) stop() {
	if s.end != nil {
		s.end()
	}
}

// HasReceipts reports whether the view has receipts at all.
func HasReceipts(v chain.View) bool {
	for _, t := range v.Tables() {
		if t.Name == ReceiptsTable {
			return true
		}
	}
	return false
}
