package segment

import "time"

// scanner decodes chunk after chunk, on the caller's goroutine.
type scanner struct {
	*scanPlan
	s *scratch

	number int // of the current chunk, as they come
	chunk  int // the current one
	rows   int // of it
	err    error

	took []time.Duration // CPU time of decoding, by column of the schema; nil where nobody asks

	off    int64 // in the file, of buffer
	buffer []byte
	end    int // one past the last chunk, as they come, that buffer holds
}

const (
	firstSpan = 32 << 10  // a short range should not read much more than it needs
	spanBytes = 256 << 10 // stays in a core's cache until it is decoded
)

// scan returns a scanner of all columns, from row number from to the last.
func (r *Reader) scan(from uint64) (*scanner, error) {
	p, err := r.scanPlan(from, r.EndRow(), ScanOptions{})
	if err != nil {
		return nil, err
	}
	return p.scanner(), nil
}

func (p *scanPlan) scanner() *scanner { return &scanner{scanPlan: p, s: p.r.take(), number: -1} }

func (s *scanner) close() {
	clear(s.s.row)
	s.r.give(s.s)
}

// next decodes the next chunk. false at the end, or after err.
func (s *scanner) next() bool {
	if s.number++; s.number >= s.n {
		return false
	}
	s.chunk = s.scanPlan.chunk(s.number)
	s.rows = s.r.dir.chunks.rows(s.chunk)
	if s.err = s.load(); s.err == nil {
		s.err = s.decode()
	}
	return s.err == nil
}

func (s *scanner) decode() error {
	s.s.room = s.r.coder.room()
	if s.took == nil {
		return s.scanPlan.decode(s.s, s.decoded, s.chunk, s.buffer, s.off)
	}
	for i, c := range s.decoded {
		w := startWatch()
		err := s.scanPlan.decode(s.s, s.decoded[i:i+1], s.chunk, s.buffer, s.off)
		cpu, _ := w.stop()
		s.took[c] += cpu
		if err != nil {
			return err
		}
	}
	return nil
}

// load sees to it that buffer holds the current chunk. It reads those behind too.
func (s *scanner) load() error {
	if s.number < s.end {
		return nil
	}
	limit := spanBytes
	if s.buffer == nil {
		limit = firstSpan
	}
	var n int
	s.end, s.off, n = s.reach(s.number, limit)
	s.s.buf = grow(s.s.buf, n)
	s.buffer = s.s.buf
	if n == 0 {
		return nil
	}
	if err := readFull(s.r.r, s.buffer, s.off); err != nil {
		return s.r.inFile(err)
	}
	return nil
}
