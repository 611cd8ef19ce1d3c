package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// ReadHead reads head and body of the log that r holds in its first size bytes, and
// returns where the records begin. ErrTorn where the file ends before the body does:
// making the log was interrupted, and it holds nothing. ErrVersion, or an *Error.
func ReadHead(r io.ReaderAt, size int64) (h Head, begin int64, err error) {
	if size < headSize {
		return h, 0, ErrTorn
	}
	b := make([]byte, headSize)
	if err := readFull(r, b, 0); err != nil {
		return h, 0, err
	}
	h, n, err := decodeHead(b)
	if errors.Is(err, ErrVersion) {
		return h, 0, err
	}
	if err != nil {
		return h, 0, &Error{Offset: 0, Length: headSize, Err: err}
	}
	if n > size-headSize-8 {
		return h, 0, ErrTorn
	}
	b = make([]byte, n+8)
	if err := readFull(r, b, headSize); err != nil {
		return h, 0, err
	}
	h.Body = b[:n:n]
	if got, want := bodySum(h.Number, h.Body), le.Uint64(b[n:]); got != want {
		return h, 0, &Error{Offset: headSize, Length: n + 8, Err: fmt.Errorf("checksum of the body is %016x, recorded %016x", got, want)}
	}
	return h, headSize + n + 8, nil
}

// Scan yields the records of the log with head h from offset from on, where a record
// begins or the log ends, up to size; next is the sequence number of the first. It
// returns where the whole records end, and the sequence number that comes next.
//
// What lies behind the end is, if anything, records that no Sync has covered and that
// did not reach the disk whole: with last, that is the end; without, every byte up to
// size must be of a whole record. An *Error where the log is not the last, or a whole
// record lies behind that was written after a Sync had covered what does not check.
// What yield returns ends the scan.
//
// Memory is that of the largest record.
func Scan(r io.ReaderAt, h *Head, from, size int64, next uint64, last bool, yield func(Record) error) (end int64, sequence uint64, err error) {
	s := &scanner{r: r, number: h.Number, size: size}
	for from < size {
		rec, n, bad, err := s.record(from, next)
		if err != nil {
			return from, next, err
		}
		if bad != nil {
			return from, next, s.judge(from, next, last, bad)
		}
		if err := yield(rec); err != nil {
			return from, next, err
		}
		from += n
		next++
	}
	return from, next, nil
}

type scanner struct {
	r      io.ReaderAt
	number uint64
	size   int64

	b   []byte // read so far, from offset off on
	off int64
	buf []byte
}

const windowBytes = 256 << 10

// at returns n bytes at off, which the file has; they are valid until the next call.
func (s *scanner) at(off, n int64) ([]byte, error) {
	if i := off - s.off; i >= 0 && i+n <= int64(len(s.b)) {
		return s.b[i : i+n], nil
	}
	want := min(max(n, windowBytes), s.size-off)
	if int64(cap(s.buf)) < want || cap(s.buf) > maxKept {
		s.buf = make([]byte, want)
	}
	s.b, s.off = s.buf[:want], off
	if err := readFull(s.r, s.b, off); err != nil {
		s.b = nil
		return nil, err
	}
	return s.b[:n], nil
}

// record reads the record at off. bad says why there is none; err is of I/O.
func (s *scanner) record(off int64, sequence uint64) (rec Record, size int64, bad, err error) {
	left := s.size - off
	if left < recordHead+recordTail {
		return rec, 0, fmt.Errorf("%d bytes, a record has at least %d", left, recordHead+recordTail), nil
	}
	head, err := s.at(off, recordHead)
	if err != nil {
		return rec, 0, nil, err
	}
	n := int64(le.Uint32(head[4:]))
	size = recordHead + n + recordTail
	switch {
	case string(head[:4]) != recordMagic:
		return rec, 0, errors.New("not a record: no magic"), nil
	case n > MaxRecord:
		return rec, 0, fmt.Errorf("record of %d bytes, at most %d", n, MaxRecord), nil
	case size > left:
		return rec, 0, fmt.Errorf("record of %d bytes, %d are left", size, left), nil
	}
	b, err := s.at(off, size)
	if err != nil {
		return rec, 0, nil, err
	}
	body := b[:size-recordTail]
	if got, want := recordSum(s.number, off, body), le.Uint64(b[size-recordTail:]); got != want {
		return rec, 0, fmt.Errorf("checksum is %016x, recorded %016x", got, want), nil
	}
	rec = Record{Sequence: le.Uint64(b[8:]), Kind: b[16], Bytes: body[recordHead:], Offset: off + recordHead}
	if rec.Sequence != sequence {
		return rec, 0, fmt.Errorf("record number %d, expected %d", rec.Sequence, sequence), nil
	}
	if !bytes.Equal(b[17:24], make([]byte, 7)) {
		return rec, 0, errors.New("reserved bytes are not zero"), nil
	}
	return rec, size, nil, nil
}

// maxSearch bounds the search for a record behind one that does not check: so many
// times the bytes there may be hashed for records that turn out to be none.
const maxSearch = 16

// judge says whether what does not check at off, and why, is the end of the log or
// damage.
func (s *scanner) judge(off int64, next uint64, last bool, why error) error {
	if !last {
		return &Error{Offset: off, Length: s.size - off, Err: why}
	}
	behind := s.size - off
	patience := maxSearch * behind
	for at := off + 1; s.size-at >= recordHead+recordTail; at++ {
		b, err := s.at(at, min(windowBytes, s.size-at))
		if err != nil {
			return err
		}
		i := bytes.Index(b, []byte(recordMagic))
		if i < 0 {
			at += int64(len(b) - len(recordMagic))
			continue
		}
		at += int64(i)
		found, size, err := s.later(at, off, next)
		if err != nil {
			return err
		}
		if found {
			return &Error{Offset: off, Length: at - off, Err: fmt.Errorf("%w; a whole record follows at %d", why, at)}
		}
		if patience -= size; patience < 0 {
			return &Error{Offset: off, Length: behind, Err: fmt.Errorf("%w; more follows that looks like a record than is worth a search", why)}
		}
	}
	return nil
}

// later reports whether a whole record lies at off, of any later sequence number,
// that was written when the file was durable beyond broken; and how many bytes were
// looked at.
func (s *scanner) later(off, broken int64, next uint64) (found bool, looked int64, err error) {
	if s.size-off < recordHead+recordTail {
		return false, 1, nil
	}
	head, err := s.at(off, recordHead)
	if err != nil {
		return false, 0, err
	}
	sequence := le.Uint64(head[8:])
	n := int64(le.Uint32(head[4:]))
	durable := int64(le.Uint64(head[24:]))
	if durable <= broken || durable > off || sequence < next || sequence-next > uint64(off-broken)/(recordHead+recordTail)+1 ||
		n > MaxRecord || recordHead+n+recordTail > s.size-off || !bytes.Equal(head[17:24], make([]byte, 7)) {
		return false, recordHead, nil
	}
	_, size, bad, err := s.record(off, sequence)
	return bad == nil && err == nil, max(size, n), err
}

// readFull reads len(b) bytes at off. A file that ends early has changed since its
// size was asked: that is an I/O error.
func readFull(r io.ReaderAt, b []byte, off int64) error {
	n, err := r.ReadAt(b, off)
	if n == len(b) {
		return nil
	}
	if err == nil || err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("journal: reading %d bytes at %d: %w", len(b), off, err)
}
