package ethereum

import (
	"fmt"
	"slices"
)

// Block is one block in parts. Splitting makes the parts alias the bytes that were split; its slices are reused by the next
// split, so that one Block serves a whole file. The zero value is ready for use.
type Block struct {
	Number          uint64
	Header          []byte   // RLP list
	Parent          []byte   // hash of the block before, as the header has it
	Uncles          []byte   // RLP list of headers
	Withdrawals     []byte   // RLP list; nil where the body has none
	TotalDifficulty []byte   // 32 bytes, little-endian, as era1 has it; nil where the source has none
	Transactions    [][]byte // canonical EIP-2718: an RLP list, or type byte and payload
	Receipts        [][]byte // likewise, one a transaction; meaningful where HasReceipts
	HasReceipts     bool
}

// Reset empties the block and keeps its memory.
func (b *Block) Reset() {
	*b = Block{Transactions: b.Transactions[:0], Receipts: b.Receipts[:0]}
}

// MinHeaderItems is the number of items of the first headers of the chain; later ones have more.
const MinHeaderItems = 15

// numberItem is the index of the block number in a header.
const numberItem = 8

// SplitHeader takes a header: an RLP list of at least 15 strings, the ninth its number. Errors are *SyntaxError, here and in
// the other Split methods.
func (b *Block) SplitHeader(rlp []byte) error {
	it, err := whole(rlp, "a block header")
	if err != nil {
		return err
	}
	return b.header(it)
}

func (b *Block) header(it item) error {
	const want = "a block header of 15 or more strings"
	n := 0
	for s := it.in(); s.more(); n++ {
		field, err := s.next("an item of a block header")
		if err != nil {
			return err
		}
		if field.list {
			return field.shape(want, "item %d is a list", n)
		}
		if n == 0 {
			b.Parent = field.payload
		}
		if n == numberItem {
			if len(field.payload) > 8 || len(field.payload) > 0 && field.payload[0] == 0 {
				return field.shape("a block number", "%x is not an integer of at most 8 bytes without leading zeros", field.payload[:min(len(field.payload), 40)])
			}
			b.Number = 0
			for _, x := range field.payload {
				b.Number = b.Number<<8 | uint64(x)
			}
		}
	}
	if n < MinHeaderItems {
		return it.shape(want, "%d items", n)
	}
	b.Header = it.raw
	return nil
}

// SplitBody takes a body: [transactions, uncles] or [transactions, uncles, withdrawals].
func (b *Block) SplitBody(rlp []byte) error {
	it, err := whole(rlp, "a block body")
	if err != nil {
		return err
	}
	return b.body(it)
}

func (b *Block) body(it item) error {
	s := it.in()
	if err := b.bodyItems(&s); err != nil {
		return err
	}
	return s.end("a body of 2 or 3 items")
}

// bodyItems takes the lists of a body, in a list of their own or at the end of another one.
func (b *Block) bodyItems(s *items) error {
	txs, err := s.list("the list of transactions")
	if err != nil {
		return err
	}
	if b.Transactions, err = unwrap(b.Transactions[:0], txs, "a transaction", legacyTransaction); err != nil {
		return err
	}
	uncles, err := s.listOfLists("the list of uncles", "an uncle")
	if err != nil {
		return err
	}
	b.Uncles, b.Withdrawals = uncles.raw, nil
	if s.more() {
		w, err := s.listOfLists("the list of withdrawals", "a withdrawal")
		if err != nil {
			return err
		}
		b.Withdrawals = w.raw
	}
	return nil
}

// SplitReceipts takes the list of receipts of a block whose transactions are known; there must be as many.
func (b *Block) SplitReceipts(rlp []byte) error {
	it, err := whole(rlp, "the list of receipts")
	if err != nil {
		return err
	}
	return b.receipts(it)
}

func (b *Block) receipts(it item) (err error) {
	if b.Receipts, err = unwrap(b.Receipts[:0], it, "a receipt", legacyReceipt); err != nil {
		return err
	}
	b.HasReceipts = true
	if len(b.Receipts) != len(b.Transactions) {
		return it.shape(fmt.Sprintf("%d receipts, as many as transactions", len(b.Transactions)), "%d receipts", len(b.Receipts))
	}
	return nil
}

// legacyTransaction checks that a list is one of nine strings or more, so that other lists are not taken for transactions.
func legacyTransaction(it item) error {
	const want = "a legacy transaction of 9 or more strings"
	n := 0
	for s := it.in(); s.more(); n++ {
		field, err := s.next(want)
		if err != nil {
			return err
		}
		if field.list {
			return it.shape(want, "item %d is a list", n)
		}
	}
	if n < 9 {
		return it.shape(want, "%d items", n)
	}
	return nil
}

// legacyReceipt checks that a list starts with a string: a state root or status.
func legacyReceipt(it item) error {
	const want = "a legacy receipt that starts with a string"
	s := it.in()
	field, err := s.next(want)
	if err == nil && field.list {
		err = it.shape(want, "it starts with a list")
	}
	return err
}

// unwrap appends the canonical EIP-2718 bytes of the items of a list: an inner list as it is, a string without its prefix.
// It lets through only what wrap gives back byte for byte, and lists only that pass the check.
func unwrap(dst [][]byte, list item, want string, legacy func(item) error) ([][]byte, error) {
	for s := list.in(); s.more(); {
		it, err := s.next(want)
		if err != nil {
			return dst, err
		}
		if it.list {
			if err := legacy(it); err != nil {
				return dst, err
			}
			dst = append(dst, it.raw)
			continue
		}
		if len(it.payload) == 0 {
			return dst, it.shape(want, "an empty string")
		}
		if it.payload[0] >= 0x80 {
			return dst, it.shape(want, "type 0x%02x, not below 0x80 (EIP-2718)", it.payload[0])
		}
		dst = append(dst, it.payload)
	}
	return dst, nil
}

// SplitGeth takes a block as geth exports it: [header, transactions, uncles] or [header, transactions, uncles, withdrawals].
func (b *Block) SplitGeth(rlp []byte) error {
	b.Reset()
	it, err := whole(rlp, "a block")
	if err != nil {
		return err
	}
	s := it.in()
	h, err := s.list("a block header")
	if err != nil {
		return err
	}
	if err := b.header(h); err != nil {
		return err
	}
	if err := b.bodyItems(&s); err != nil {
		return err
	}
	return s.end("a block of 3 or 4 items")
}

// SplitRLPS takes a block with receipts: [header, body, receipts].
func (b *Block) SplitRLPS(rlp []byte) error {
	b.Reset()
	it, err := whole(rlp, "a block with receipts")
	if err != nil {
		return err
	}
	s := it.in()
	h, err := s.list("a block header")
	if err != nil {
		return err
	}
	if err := b.header(h); err != nil {
		return err
	}
	body, err := s.list("a block body")
	if err != nil {
		return err
	}
	if err := b.body(body); err != nil {
		return err
	}
	r, err := s.list("the list of receipts")
	if err != nil {
		return err
	}
	if err := b.receipts(r); err != nil {
		return err
	}
	return s.end("a block of 3 items")
}

// AppendBody appends the body's RLP.
func (b *Block) AppendBody(dst []byte) []byte {
	n := wrappedSize(b.Transactions)
	return b.appendBodyItems(AppendListHeader(dst, b.bodyItemsSize(n)), n)
}

func (b *Block) bodyItemsSize(transactions int) int {
	return headerSize(transactions) + transactions + len(b.Uncles) + len(b.Withdrawals)
}

func (b *Block) appendBodyItems(dst []byte, transactions int) []byte {
	dst = wrap(AppendListHeader(dst, transactions), b.Transactions)
	dst = append(dst, b.Uncles...)
	return append(dst, b.Withdrawals...)
}

// AppendReceipts appends the RLP of the list of receipts.
func (b *Block) AppendReceipts(dst []byte) []byte {
	return wrap(AppendListHeader(dst, wrappedSize(b.Receipts)), b.Receipts)
}

// AppendGeth appends the block as geth exports it.
func (b *Block) AppendGeth(dst []byte) []byte {
	n := wrappedSize(b.Transactions)
	size := len(b.Header) + b.bodyItemsSize(n)
	dst = slices.Grow(dst, MaxItemHeader+size)
	dst = append(AppendListHeader(dst, size), b.Header...)
	return b.appendBodyItems(dst, n)
}

// AppendRLPS appends the block with its receipts.
func (b *Block) AppendRLPS(dst []byte) []byte {
	n, r := wrappedSize(b.Transactions), wrappedSize(b.Receipts)
	body := b.bodyItemsSize(n)
	size := len(b.Header) + headerSize(body) + body + headerSize(r) + r
	dst = slices.Grow(dst, MaxItemHeader+size)
	dst = append(AppendListHeader(dst, size), b.Header...)
	dst = b.appendBodyItems(AppendListHeader(dst, body), n)
	return wrap(AppendListHeader(dst, r), b.Receipts)
}

// isList tells an RLP list from a typed value: types are below 0x80.
func isList(value []byte) bool { return len(value) > 0 && value[0] >= 0xc0 }

func wrappedSize(values [][]byte) (n int) {
	for _, v := range values {
		if isList(v) {
			n += len(v)
		} else {
			n += stringSize(v)
		}
	}
	return n
}

func wrap(dst []byte, values [][]byte) []byte {
	for _, v := range values {
		if isList(v) {
			dst = append(dst, v...)
		} else {
			dst = AppendString(dst, v)
		}
	}
	return dst
}
