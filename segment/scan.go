package segment

import (
	"iter"
	"slices"
	"time"
)

// Rows yields the rows from number from to the last, the named columns only and
// in the order named; all columns where none is named. A row is valid until the
// next step and must not be changed. On failure it yields (nil, err) once.
//
// It decodes each chunk once, and reads ahead: little at first, later up to 256
// KiB or one chunk. It does not fill the cache.
func (r *Reader) Rows(from uint64, columns ...string) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		s, err := r.scan(from, columns)
		if err != nil {
			yield(nil, err)
			return
		}
		defer s.close()
		for s.next() {
			if !s.yield(yield) {
				return
			}
		}
		if s.err != nil {
			yield(nil, s.err)
		}
	}
}

// Values yields the column's values from row number from to the last, as
// Reader.Rows does.
func (c *ColumnReader) Values(from uint64) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for row, err := range c.r.Rows(from, c.r.dir.schema.Columns[c.column[0]].Name) {
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(row[0], nil) {
				return
			}
		}
	}
}

// scanner decodes chunk after chunk.
type scanner struct {
	r       *Reader
	s       *scratch
	columns []int // in the order asked for
	decoded []int // the same, each once
	from    int   // first and one past the last block that they take
	to      int

	chunk int // the current one
	first uint64
	skip  int // rows of the first chunk before the one asked for
	rows  int // of the current chunk
	err   error

	took []time.Duration // CPU time of decoding, by column of the schema; nil where nobody asks

	off    int64 // in the file, of buffer
	buffer []byte
	end    int // one past the last chunk that buffer holds
}

const (
	firstSpan = 32 << 10  // a short range should not read much more than it needs
	spanBytes = 256 << 10 // stays in a core's cache until it is decoded
)

func (r *Reader) scan(from uint64, names []string) (*scanner, error) {
	columns := r.column
	if len(names) > 0 {
		columns = make([]int, len(names))
		for i, name := range names {
			if columns[i] = r.dir.schema.Index(name); columns[i] < 0 {
				return nil, r.noColumn(name)
			}
		}
	}
	if from < r.footer.firstRow || from > r.EndRow() {
		return nil, r.outside(from)
	}
	s := &scanner{r: r, columns: columns, decoded: columns, chunk: r.dir.chunks.len()}
	if len(names) > 0 {
		s.decoded = slices.Compact(slices.Sorted(slices.Values(columns)))
	}
	if from < r.EndRow() {
		s.chunk = r.dir.chunks.find(from)
		s.skip = int(from - r.dir.chunks.first[s.chunk])
	}
	s.chunk--
	s.from, s.to = r.span(columns)
	s.s = r.take()
	s.s.row = s.s.row[:0]
	for range columns {
		s.s.row = append(s.s.row, nil)
	}
	return s, nil
}

func (s *scanner) close() {
	clear(s.s.row)
	s.r.give(s.s)
}

// next decodes the next chunk.
func (s *scanner) next() bool {
	if s.chunk++; s.chunk >= s.r.dir.chunks.len() {
		return false
	}
	err := s.load()
	if err == nil {
		err = s.decode()
	}
	s.first, s.rows = s.r.dir.chunks.first[s.chunk], s.r.dir.chunks.rows(s.chunk)
	s.err = err
	return err == nil
}

func (s *scanner) decode() error {
	off, n := s.r.dir.chunks.place(s.chunk, s.from, s.to)
	off -= s.off
	b := s.buffer[off : off+int64(n)]
	s.s.room = s.r.coder.room()
	if s.took == nil {
		return s.r.decodeColumns(s.s, s.chunk, s.decoded, b, s.from)
	}
	for i, c := range s.decoded {
		w := startWatch()
		err := s.r.decodeColumns(s.s, s.chunk, s.decoded[i:i+1], b, s.from)
		cpu, _ := w.stop()
		s.took[c] += cpu
		if err != nil {
			return err
		}
	}
	return nil
}

// load sees to it that buffer holds the current chunk. It reads the chunks behind
// too, as many as fit into a span and have little else between what is wanted of
// them.
func (s *scanner) load() error {
	if s.chunk < s.end {
		return nil
	}
	limit := spanBytes
	if s.buffer == nil {
		limit = firstSpan
	}
	t := s.r.dir.chunks
	off, n := t.place(s.chunk, s.from, s.to)
	for s.end = s.chunk + 1; s.end < t.len(); s.end++ {
		next, m := t.place(s.end, s.from, s.to)
		gap := int(next-off) - n
		if n+gap+m > limit || gap > m {
			break
		}
		n += gap + m
	}
	s.s.buf = grow(s.s.buf, n)
	s.buffer, s.off = s.s.buf, off
	if n == 0 {
		return nil
	}
	if err := readFull(s.r.r, s.buffer, off); err != nil {
		return s.r.inFile(err)
	}
	return nil
}

// yield yields the rows of the current chunk.
func (s *scanner) yield(yield func(Row, error) bool) bool {
	row := Row(s.s.row)
	skip := s.skip
	s.skip = 0
	if len(s.columns) == 1 { // no inner loop
		v := &s.s.columns[s.columns[0]].values
		data, start := v.Data, uint32(0)
		if skip > 0 {
			start = v.Ends[skip-1]
		}
		for _, end := range v.Ends[skip:] {
			row[0] = data[start:end:end]
			start = end
			if !yield(row, nil) {
				return false
			}
		}
		return true
	}
	for i := skip; i < s.rows; i++ {
		for k, c := range s.columns {
			row[k] = s.s.columns[c].values.At(i)
		}
		if !yield(row, nil) {
			return false
		}
	}
	return true
}
