package ethereum

import (
	"errors"
	"fmt"
	"math/bits"
)

// What can be wrong with RLP; a *SyntaxError wraps one of them.
var (
	ErrShort        = errors.New("the bytes end inside an item")
	ErrNotCanonical = errors.New("a length or a single byte is not in its shortest form")
	ErrTrailing     = errors.New("bytes follow the item")
	ErrShape        = errors.New("wrong items")
)

// SyntaxError says where a record is not the RLP that was expected.
type SyntaxError struct {
	Offset int    // in the record
	Want   string // what was expected
	Err    error
}

// Error returns offset, what was expected, and what was found.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("ethereum: at byte %d: expected %s: %v", e.Offset, e.Want, e.Err)
}

// Unwrap returns the cause.
func (e *SyntaxError) Unwrap() error { return e.Err }

// MaxItemHeader is the longest prefix of an item, in bytes.
const MaxItemHeader = 9

// ItemHeader reads the prefix of the item at the start of b: whether it is a list, how long the prefix is, and how many
// bytes of payload follow it, which b need not hold. A single byte below 0x80 is an item of payload 1 without prefix. Lengths
// that are not in the shortest form are errors (Ethereum yellow paper, appendix B).
func ItemHeader(b []byte) (list bool, head int, payload uint64, err error) {
	if len(b) == 0 {
		return false, 0, 0, ErrShort
	}
	first := b[0]
	switch {
	case first < 0x80:
		return false, 0, 1, nil
	case first < 0xb8:
		if first == 0x81 {
			if len(b) < 2 {
				return false, 0, 0, ErrShort
			}
			if b[1] < 0x80 {
				return false, 0, 0, ErrNotCanonical
			}
		}
		return false, 1, uint64(first - 0x80), nil
	case first < 0xc0:
		head, payload, err = longLength(b, int(first-0xb7))
		return false, head, payload, err
	case first < 0xf8:
		return true, 1, uint64(first - 0xc0), nil
	}
	head, payload, err = longLength(b, int(first-0xf7))
	return true, head, payload, err
}

func longLength(b []byte, n int) (head int, payload uint64, err error) {
	if len(b) < 1+n {
		return 0, 0, ErrShort
	}
	for _, x := range b[1 : 1+n] {
		payload = payload<<8 | uint64(x)
	}
	if b[1] == 0 || payload < 56 {
		return 0, 0, ErrNotCanonical
	}
	return 1 + n, payload, nil
}

// headerSize returns the length of the prefix of a list, or of a string that is not a single byte below 0x80.
func headerSize(payload int) int {
	if payload < 56 {
		return 1
	}
	return 1 + (bits.Len64(uint64(payload))+7)/8
}

// appendHeader appends the prefix of a list (base 0xc0) or string (base 0x80).
func appendHeader(dst []byte, base byte, payload int) []byte {
	if payload < 56 {
		return append(dst, base+byte(payload))
	}
	n := (bits.Len64(uint64(payload)) + 7) / 8
	dst = append(dst, base+55+byte(n))
	for i := n - 1; i >= 0; i-- {
		dst = append(dst, byte(payload>>(8*i)))
	}
	return dst
}

// AppendListHeader appends the prefix of a list of n bytes.
func AppendListHeader(dst []byte, n int) []byte { return appendHeader(dst, 0xc0, n) }

// AppendString appends the item of a string.
func AppendString(dst, s []byte) []byte {
	if len(s) == 1 && s[0] < 0x80 {
		return append(dst, s[0])
	}
	return append(appendHeader(dst, 0x80, len(s)), s...)
}

func stringSize(s []byte) int {
	if len(s) == 1 && s[0] < 0x80 {
		return 1
	}
	return headerSize(len(s)) + len(s)
}

// item is an item of a record: it aliases the record's bytes.
type item struct {
	offset  int // of raw in the record
	list    bool
	raw     []byte // prefix and payload
	payload []byte
}

// items steps over the items of a payload.
type items struct {
	b      []byte
	offset int // of b in the record
}

// in returns the items of a list.
func (it item) in() items {
	return items{b: it.payload, offset: it.offset + len(it.raw) - len(it.payload)}
}

func (s *items) more() bool { return len(s.b) > 0 }

// next returns the next item, which is what want says. Only its prefix is looked at: items of a list are checked when stepped
// over.
func (s *items) next(want string) (item, error) {
	list, head, payload, err := ItemHeader(s.b)
	if err == nil && payload > uint64(len(s.b)-head) {
		err = fmt.Errorf("%w: %d bytes of payload, %d left", ErrShort, payload, len(s.b)-head)
	}
	if err != nil {
		return item{}, &SyntaxError{Offset: s.offset, Want: want, Err: err}
	}
	n := head + int(payload)
	it := item{offset: s.offset, list: list, raw: s.b[:n:n], payload: s.b[head:n:n]}
	s.b, s.offset = s.b[n:], s.offset+n
	return it, nil
}

// list returns the next item, a list.
func (s *items) list(want string) (item, error) {
	it, err := s.next(want)
	if err == nil && !it.list {
		err = it.shape(want, "a string of %d bytes, not a list", len(it.payload))
	}
	return it, err
}

// listOfLists returns the next item, a list whose items are lists.
func (s *items) listOfLists(want, each string) (item, error) {
	it, err := s.list(want)
	if err != nil {
		return it, err
	}
	for in := it.in(); in.more(); {
		if _, err := in.list(each); err != nil {
			return it, err
		}
	}
	return it, nil
}

// end checks that nothing is left in the list that has the items of want.
func (s *items) end(want string) error {
	if !s.more() {
		return nil
	}
	return &SyntaxError{Offset: s.offset, Want: want, Err: fmt.Errorf("%w: %d bytes", ErrTrailing, len(s.b))}
}

func (it item) shape(want, format string, args ...any) error {
	return &SyntaxError{Offset: it.offset, Want: want, Err: fmt.Errorf("%w: %s", ErrShape, fmt.Sprintf(format, args...))}
}

// whole returns the one item that b is, a list.
func whole(b []byte, want string) (item, error) {
	s := items{b: b}
	it, err := s.list(want)
	if err != nil {
		return item{}, err
	}
	return it, s.end("nothing after the list")
}
