package chain

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
)

// members reads the members of a gzip file one after another, and knows where each ends. The library would take what
// follows the last one for a member that is damaged.
type members struct {
	gz   *gzip.Reader
	br   *bufio.Reader // of the compressed bytes
	raw  *rawReader    // below br
	size int64         // of the file, or below 0
	err  error
}

// newMembers reads the header of the first member.
func newMembers(r io.Reader, raw *rawReader, size int64) (*members, error) {
	m := &members{br: bufio.NewReaderSize(r, InputBuffer), raw: raw, size: size}
	var err error
	if m.gz, err = gzip.NewReader(m.br); err != nil {
		return nil, err
	}
	m.gz.Multistream(false)
	return m, nil
}

func (m *members) Read(p []byte) (int, error) {
	for m.err == nil {
		n, err := m.gz.Read(p)
		switch {
		case errors.Is(err, io.EOF):
			m.err = m.next()
		case err != nil:
			m.err = fmt.Errorf("%w, near byte %d as it lies", err, m.offset())
		}
		if n > 0 {
			return n, nil
		}
	}
	return 0, m.err
}

// offset returns how many compressed bytes were taken. The reader's own buffer is br: it takes no more than it needs.
func (m *members) offset() int64 { return m.raw.n - int64(m.br.Buffered()) }

// next goes on to the next member; io.EOF where there is none.
func (m *members) next() error {
	at := m.offset()
	head, err := m.br.Peek(2)
	switch {
	case m.raw.err != nil:
		return m.raw.err
	case len(head) == 0:
		return io.EOF
	case err != nil || head[0] != 0x1f || head[1] != 0x8b:
		return m.trailing(at)
	}
	if err := m.gz.Reset(m.br); err != nil {
		return fmt.Errorf("%w, in the member at byte %d as it lies", err, at)
	}
	m.gz.Multistream(false)
	return nil
}

// trailingError is what is wrong with a gzip file that goes on behind its last member.
type trailingError struct{ at, size int64 }

func (m *members) trailing(at int64) error { return &trailingError{at, m.size} }

func (e *trailingError) Error() string {
	rest := "more bytes"
	if e.size > e.at {
		rest = fmt.Sprintf("%d more bytes", e.size-e.at)
	}
	return fmt.Sprintf("the gzip data end at byte %d of the compressed file, and %s follow that are not gzip; to leave them out, cut the file there (truncate -s %d)", e.at, rest, e.at)
}
