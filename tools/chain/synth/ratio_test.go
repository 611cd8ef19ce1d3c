package synth

import (
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/segstore/segstore/tools/chain/chaintest"
	"github.com/segstore/segstore/tools/chain/ethereum"
)

// sizes are bytes of a column, raw and in chunks of 32 KiB.
type sizes struct {
	enc           *zstd.Encoder
	values        int
	stored, chunk []byte
	rawBytes      int
	storedBytes   int
}

func (s *sizes) add(value []byte) {
	s.values++
	s.rawBytes += len(value)
	s.chunk = append(s.chunk, value...)
	if len(s.chunk) >= 32<<10 {
		s.flush()
	}
}

func (s *sizes) flush() {
	s.stored = s.enc.EncodeAll(s.chunk, s.stored[:0])
	s.storedBytes += len(s.stored)
	s.chunk = s.chunk[:0]
}

func (s *sizes) percent() float64 { return 100 * float64(s.storedBytes) / float64(s.rawBytes) }
func (s *sizes) mean() float64    { return float64(s.rawBytes) / float64(s.values) }

// measure returns the sizes of transactions, receipts and headers.
func measure(t *testing.T, blocks func(yield func(*ethereum.Block) bool)) (txs, receipts, headers sizes) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	txs.enc, receipts.enc, headers.enc = enc, enc, enc
	for b := range blocks {
		headers.add(b.Header)
		for i := range b.Transactions {
			txs.add(b.Transactions[i])
			receipts.add(b.Receipts[i])
		}
	}
	for _, s := range []*sizes{&txs, &receipts, &headers} {
		s.flush()
	}
	return txs, receipts, headers
}

// TestLikeMainnet: bytes a row, and how far they shrink, are those of real blocks, or near.
func TestLikeMainnet(t *testing.T) {
	txs, receipts, headers := measure(t, New(1).Blocks(150))
	t.Logf("transactions: %d of %.0f B, %.1f %%; receipts: %.0f B, %.1f %%; headers: %.0f B, %.1f %%",
		txs.values, txs.mean(), txs.percent(), receipts.mean(), receipts.percent(), headers.mean(), headers.percent())
	near := func(what string, got, want, off float64) {
		t.Helper()
		if got < want-off || got > want+off {
			t.Errorf("%s: %.1f, want %.1f ± %.1f", what, got, want, off)
		}
	}
	near("transactions, percent", txs.percent(), 61, 2)
	near("receipts, percent", receipts.percent(), 12.6, 1)

	b := chaintest.ReadAll(t, chaintest.DataFile(t, "eth/bench-mainnet.rlps"))
	realTxs, realReceipts, _ := measure(t, func(yield func(*ethereum.Block) bool) {
		for len(b) > 0 {
			_, head, payload, err := ethereum.ItemHeader(b)
			if err != nil {
				t.Fatal(err)
			}
			var block ethereum.Block
			if err := block.SplitRLPS(b[:head+int(payload)]); err != nil {
				t.Fatal(err)
			}
			if b = b[head+int(payload):]; !yield(&block) {
				return
			}
		}
	})
	t.Logf("real: transactions: %.0f B, %.1f %%; receipts: %.0f B, %.1f %%",
		realTxs.mean(), realTxs.percent(), realReceipts.mean(), realReceipts.percent())
	near("transactions against real ones, percent", txs.percent(), realTxs.percent(), 2)
	near("receipts against real ones, percent", receipts.percent(), realReceipts.percent(), 1)
	near("bytes a transaction against real ones", txs.mean(), realTxs.mean(), 35)
	near("bytes a receipt against real ones", receipts.mean(), realReceipts.mean(), 55)
}
