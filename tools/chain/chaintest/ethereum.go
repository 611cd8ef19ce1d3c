package chaintest

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
)

// RLP is a plain encoder for tests, written from the definition and not for speed: []byte and string are strings, uint64 is an
// integer, []any a list, Raw is an item already encoded; anything else is the string that fmt prints.
func RLP(v any) []byte {
	prefix := func(base byte, b []byte) []byte {
		if len(b) < 56 {
			return append([]byte{base + byte(len(b))}, b...)
		}
		size := trimZeros(binary.BigEndian.AppendUint64(nil, uint64(len(b))))
		return append(append([]byte{base + 55 + byte(len(size))}, size...), b...)
	}
	switch v := v.(type) {
	case Raw:
		return v
	case string:
		return RLP([]byte(v))
	case uint64:
		return RLP(trimZeros(binary.BigEndian.AppendUint64(nil, v)))
	case []byte:
		if len(v) == 1 && v[0] < 0x80 {
			return append([]byte(nil), v...)
		}
		return prefix(0x80, v)
	case []any:
		var b []byte
		for _, x := range v {
			b = append(b, RLP(x)...)
		}
		return prefix(0xc0, b)
	}
	return RLP(fmt.Sprint(v))
}

// Raw is an item that is RLP already.
type Raw []byte

func trimZeros(b []byte) []byte {
	for len(b) > 0 && b[0] == 0 {
		b = b[1:]
	}
	return b
}

// EthBlock is a synthetic block in the parts that files have.
type EthBlock struct {
	Number                 uint64
	Header, Body, Receipts Raw
	Transactions           [][]byte // canonical EIP-2718
	CanonicalReceipts      [][]byte
	Difficulty             [32]byte
	BodyItems              []any
}

// EthBlocks returns n synthetic blocks with consecutive numbers from first on, the same for the same arguments: legacy and
// typed transactions, blocks without any, uncles, withdrawals (absent, empty, some), values from 1 byte to 70 KB.
func EthBlocks(first uint64, n int) []EthBlock {
	r := rand.New(rand.NewPCG(first, uint64(n)))
	noise := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return b
	}
	header := func(number uint64) []any {
		return []any{noise(32), noise(32), noise(20), noise(32), noise(32), noise(32), make([]byte, 256),
			uint64(131072), number, uint64(30_000_000), uint64(21000), uint64(1438269988), "extra", noise(32), noise(8)}
	}
	blocks := make([]EthBlock, n)
	for i := range blocks {
		b := &blocks[i]
		b.Number = first + uint64(i)
		b.Header = RLP(header(b.Number))
		binary.LittleEndian.PutUint64(b.Difficulty[:], b.Number*131072)
		var txs, receipts []any
		for t := range i % 7 * (i % 3) {
			data := noise(1 + r.IntN(300))
			if i == 2 && t == 1 {
				data = append(noise(1000), make([]byte, 70_000)...)
			}
			tx, rc := RLP([]any{uint64(t), uint64(20e9), uint64(21000), noise(20), uint64(1e18), data, uint64(27), noise(32), noise(32)}),
				RLP([]any{uint64(1), uint64(21000 * (t + 1)), make([]byte, 256), []any{}})
			if t%3 == 0 {
				b.Transactions, b.CanonicalReceipts = append(b.Transactions, tx), append(b.CanonicalReceipts, rc)
				txs, receipts = append(txs, Raw(tx)), append(receipts, Raw(rc))
				continue
			}
			tx, rc = append([]byte{byte(t % 4)}, tx...), append([]byte{byte(t % 4)}, rc...)
			b.Transactions, b.CanonicalReceipts = append(b.Transactions, tx), append(b.CanonicalReceipts, rc)
			txs, receipts = append(txs, tx), append(receipts, rc)
		}
		uncles := []any{}
		if i%4 == 3 {
			uncles = append(uncles, header(b.Number-1))
		}
		b.BodyItems = []any{orEmpty(txs), uncles}
		switch i % 5 {
		case 3:
			b.BodyItems = append(b.BodyItems, []any{})
		case 4:
			b.BodyItems = append(b.BodyItems, []any{[]any{uint64(1), uint64(2), noise(20), uint64(3)}})
		}
		b.Body = RLP(b.BodyItems)
		b.Receipts = RLP(orEmpty(receipts))
	}
	return blocks
}

func orEmpty(list []any) []any {
	if list == nil {
		return []any{}
	}
	return list
}

// RLPS returns the blocks as a stream of [header, body, receipts].
func RLPS(blocks []EthBlock) (b []byte) {
	for _, x := range blocks {
		b = append(b, RLP([]any{x.Header, x.Body, x.Receipts})...)
	}
	return b
}

// Geth returns the blocks as geth exports them.
func Geth(blocks []EthBlock) (b []byte) {
	for _, x := range blocks {
		b = append(b, RLP(append([]any{x.Header}, x.BodyItems...))...)
	}
	return b
}
