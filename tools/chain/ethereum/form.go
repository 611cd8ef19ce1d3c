package ethereum

import (
	"encoding"
	"fmt"
)

// Form is the form of a block in a stream of blocks.
type Form uint8

const (
	Auto Form = 0 // whichever a stream has
	Geth Form = 1 // [header, transactions, uncles] or [header, transactions, uncles, withdrawals]: what geth's export writes
	RLPS Form = 2 // [header, body, receipts]
)

var (
	_ encoding.TextMarshaler   = Form(0)
	_ encoding.TextUnmarshaler = (*Form)(nil)
)

// String returns the name, as the table sources and the command line have it: "auto", "geth" or "rlps".
func (f Form) String() string {
	switch f {
	case Auto:
		return "auto"
	case Geth:
		return "geth"
	case RLPS:
		return "rlps"
	}
	return fmt.Sprintf("form(%d)", uint8(f))
}

// MarshalText returns the name.
func (f Form) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// UnmarshalText reads a name.
func (f *Form) UnmarshalText(b []byte) error {
	for _, x := range []Form{Auto, Geth, RLPS} {
		if x.String() == string(b) {
			*f = x
			return nil
		}
	}
	return fmt.Errorf("ethereum: form %q is not auto, geth or rlps", b)
}

// Start reads the header and the form of the block whose first bytes b holds. The header and the first bytes of what follows
// it are needed; where b ends before them, the error is ErrShort.
func Start(b []byte) (block Block, form Form, err error) {
	_, head, _, err := ItemHeader(b)
	if err != nil {
		return block, Auto, &SyntaxError{Want: "a block", Err: err}
	}
	s := items{b: b[head:], offset: head}
	h, err := s.list("a block header")
	if err != nil {
		return block, Auto, err
	}
	if err := block.header(h); err != nil {
		return block, Auto, err
	}
	form, err = secondItem(s)
	return block, form, err
}

// secondItem tells a body from a list of transactions. Both are lists, of which only the prefixes are looked at, since the
// rest may not be there. A body is never empty, and its first item is a list: of transactions, so it is empty, or starts with a
// list (a legacy transaction) or a string of more than 8 bytes (a typed one). The first transaction of a list is a string, or
// a list that starts with a nonce: a string of at most 8 bytes.
func secondItem(s items) (Form, error) {
	const want = "a block body or a list of transactions"
	list, size, err := s.enter(want)
	if err != nil || !list {
		return Auto, orShape(err, s.offset, want)
	}
	if size == 0 {
		return Geth, nil
	}
	list, size, err = s.enter(want)
	switch {
	case err != nil:
		return Auto, err
	case !list:
		return Geth, nil
	case size == 0:
		return RLPS, nil
	}
	list, size, err = s.enter(want)
	if err != nil {
		return Auto, err
	}
	if list || size > 8 {
		return RLPS, nil
	}
	return Geth, nil
}

// enter steps over the prefix of the next item.
func (s *items) enter(want string) (list bool, size uint64, err error) {
	list, head, size, err := ItemHeader(s.b)
	if err != nil {
		return false, 0, &SyntaxError{Offset: s.offset, Want: want, Err: err}
	}
	s.b, s.offset = s.b[head:], s.offset+head
	return list, size, nil
}

func orShape(err error, offset int, want string) error {
	if err != nil {
		return err
	}
	return &SyntaxError{Offset: offset, Want: want, Err: fmt.Errorf("%w: a string, not a list", ErrShape)}
}
