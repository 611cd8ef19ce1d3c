package blk

import (
	"fmt"

	"github.com/segstore/segstore/tools/chain"
)

// shape is how a file holds its blocks.
type shape struct {
	raw   bool
	magic Magic // zero where raw
	key   Key
}

// detect looks at the start of a file and takes nothing but the padding there, which it appends to gap. It believes, in
// this order: a magic asked for or known, with the key found or without; the whole file as a raw block; after padding, such
// a magic or an unknown one whose first record is a block.
func (s *scan) detect(found Key, asked Magic) (sh shape, gap []byte, err error) {
	isMagic := func(m Magic) bool {
		if asked != (Magic{}) {
			return m == asked
		}
		return m.Network() != ""
	}
	keys := []Key{found, {}}
	if found == (Key{}) {
		keys = keys[:1]
	}
	first := Magic{}
	for _, key := range keys {
		if first, err = s.magicAt(key); err != nil {
			return shape{}, nil, err
		}
		if isMagic(first) {
			return shape{magic: first, key: key}, nil, nil
		}
	}
	var notRaw *place
	if asked == (Magic{}) {
		var raw bool
		if raw, notRaw, err = s.isRaw(); raw || err != nil {
			return shape{raw: true}, nil, err
		}
	}
	for _, hidden := range []bool{false, true} {
		if gap, err = s.w.padding(gap, found, isMagic, hidden); err != nil {
			return shape{}, nil, err
		}
		for _, key := range keys {
			m, err := s.magicAt(key)
			if err != nil {
				return shape{}, nil, err
			}
			ok := isMagic(m)
			if !ok && asked == (Magic{}) && m != (Magic{}) {
				_, _, bad, err := s.record(0, m, key)
				if err != nil {
					return shape{}, nil, err
				}
				ok = bad == nil
			}
			if ok {
				return shape{magic: m, key: key}, gap, nil
			}
		}
		keys = keys[:1] // behind zeros that were obfuscated, all is
	}
	return shape{}, nil, s.foreign(found, asked, first, notRaw)
}

// foreign returns the error of a file that is none of ours.
func (s *scan) foreign(found Key, asked, first Magic, notRaw *place) error {
	want := "a block file, which starts with a network's magic, or a raw block"
	if asked != (Magic{}) {
		want = "the magic " + asked.String()
	}
	cause := fmt.Errorf("found %x", first[:])
	if len(s.w.have()) == 0 {
		cause = errNoBlock
	} else if notRaw != nil {
		cause = fmt.Errorf("%w; as a raw block, it is wrong %w", cause, notRaw)
	}
	if found == (Key{}) {
		cause = fmt.Errorf("%w; a block file of Bitcoin Core 28 or later needs its %s", cause, KeyFile)
	}
	return s.w.in.Fail(s.w.off, want, cause)
}

// magicAt returns the next four bytes; zero where there are not so many.
func (s *scan) magicAt(key Key) (Magic, error) {
	if ok, err := s.w.need(len(Magic{})); !ok || err != nil {
		return Magic{}, err
	}
	return Magic(s.w.at(0, len(Magic{}), key)), nil
}

// isRaw reports whether all of the file is one block, and why not where it may have been meant to be.
func (s *scan) isRaw() (raw bool, why *place, err error) {
	if s.size > int64(s.limit) {
		return false, nil, nil
	}
	if more, err := s.w.need(s.limit + 1); more || err != nil {
		return false, nil, err
	}
	why = s.p.parse(s.w.have())
	return why == nil, why, nil
}

// record looks at the record that should come at bytes after the window's front. block is valid until the next call of the
// window; n is the record's length in the file. bad says what is wrong with it, err that reading failed.
func (s *scan) record(at int, magic Magic, key Key) (block []byte, n int, bad *chain.InputError, err error) {
	fault := func(off int, want string, cause error) *chain.InputError {
		return &chain.InputError{File: s.w.in.Name(), Offset: s.w.off + int64(at+off), Want: want, Err: cause}
	}
	ok, err := s.w.need(at + framingBytes)
	if err != nil {
		return nil, 0, nil, err
	}
	head := s.w.at(at, min(at+framingBytes, len(s.w.have())), key)
	if m := head[:min(len(head), len(magic))]; string(m) != string(magic[:len(m)]) {
		return nil, 0, fault(0, "the magic "+magic.String()+" or zeros to the end", fmt.Errorf("found %x", m)), nil
	}
	if !ok {
		return nil, 0, fault(0, "magic and length of a block, 8 bytes", chain.ErrTruncated), nil
	}
	length := int64(le.Uint32(head[len(magic):]))
	if length < minBlock || length > int64(s.limit) {
		return nil, 0, fault(len(magic), fmt.Sprintf("the length of a block, %d to %d", minBlock, s.limit), fmt.Errorf("%d", length)), nil
	}
	n = framingBytes + int(length)
	end := s.size
	if end < 0 || end-s.w.off >= int64(at+n) {
		if ok, err = s.w.need(at + n); err != nil {
			return nil, 0, nil, err
		}
		end = s.w.off + int64(len(s.w.have()))
	} else {
		ok = false
	}
	if !ok {
		return nil, 0, fault(framingBytes, fmt.Sprintf("a block of %d bytes", length), fmt.Errorf("%w, at byte %d", chain.ErrTruncated, end)), nil
	}
	block = s.w.at(at+framingBytes, at+n, key)
	if p := s.p.parse(block); p != nil {
		return nil, 0, fault(framingBytes+p.off, p.want, p.err), nil
	}
	return block, n, nil, nil
}
