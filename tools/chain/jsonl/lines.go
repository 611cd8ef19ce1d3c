package jsonl

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/segstore/segstore/tools/chain"
)

// ErrLongLine is the cause of a *chain.InputError where a line is longer than the limit.
var ErrLongLine = errors.New("the line is longer")

// lines cuts a file into lines in a buffer that grows to the longest of them.
type lines struct {
	in    *chain.Input
	limit int // bytes a line
	buf   []byte
	lo    int   // start of the next line
	off   int64 // of buf[lo] in the file
	last  int64 // offset of the line that next returned
}

// next returns the next line without its newline, and whether it had one; a nil line at the end of the file. It is valid
// until the next call.
func (l *lines) next() (line []byte, newline bool, err error) {
	seen := 0
	for {
		rest := l.buf[l.lo:]
		i := bytes.IndexByte(rest[seen:], '\n')
		if i >= 0 && seen+i <= l.limit {
			return l.cut(seen+i, 1), true, nil
		}
		if seen = len(rest); i >= 0 || seen > l.limit {
			return nil, false, l.in.Fail(l.off, fmt.Sprintf("a newline within %d bytes", l.limit), ErrLongLine)
		}
		b, err := l.in.PeekSome() // a line of a pipe need not wait for the next one
		if err != nil {
			return nil, false, err
		}
		if len(b) == 0 {
			if seen == 0 {
				return nil, false, nil
			}
			return l.cut(seen, 0), false, nil
		}
		l.room(rest, len(b))
		l.buf = append(l.buf, b...)
		if err := l.in.Skip(int64(len(b)), "bytes that were seen"); err != nil {
			return nil, false, err
		}
	}
}

// room makes room for n bytes after rest, at the start of the buffer. The buffer doubles, so that a long line is copied
// a few times only, but to no more than the longest line, or what is left of the file, needs.
func (l *lines) room(rest []byte, n int) {
	to := l.buf[:0]
	if need := len(rest) + n; need > cap(l.buf) {
		most := l.limit + 1 + chain.InputBuffer
		if left := l.in.Left(); left >= 0 {
			most = min(most, len(rest)+int(min(left, int64(most))))
		}
		to = make([]byte, 0, max(need, min(2*cap(l.buf), most)))
	} else if l.lo == 0 {
		return // it is there already
	}
	l.buf, l.lo = append(to, rest...), 0
}

// cut takes a line of n bytes and what ends it.
func (l *lines) cut(n, newline int) []byte {
	line := l.buf[l.lo : l.lo+n : l.lo+n]
	l.last = l.off
	l.lo += n + newline
	l.off += int64(n + newline)
	return line
}
