package segment

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"

	"github.com/segstore/segstore/codec"
)

// ReaderOptions says how a segment is read. The zero value means defaults.
type ReaderOptions struct {
	// Name is put into errors, as the file's name.
	Name string

	// Encodings are encodings beside those of package codec.
	Encodings []codec.Encoding

	// Cache keeps decoded chunks; it may be shared by many readers. Default none.
	Cache *Cache

	// CacheKey, if not 0, is what the cache knows this segment by: a number from
	// Cache.Key, for one that is closed and opened again. Only readers of the same
	// bytes may share one. Default: one of this Reader's own.
	CacheKey uint64

	// MaxBlockBytes is the most bytes that one block may decode to: files with more
	// are refused where it shows. Default and at most the writer's own limit, a
	// little above MaxRowBytes.
	MaxBlockBytes int

	// Concurrency is how many goroutines decode at once; more wait. Default
	// GOMAXPROCS.
	Concurrency int
}

func (o ReaderOptions) withDefaults() ReaderOptions {
	if o.MaxBlockBytes == 0 {
		o.MaxBlockBytes = maxBlock
	}
	if o.Concurrency == 0 {
		o.Concurrency = runtime.GOMAXPROCS(0)
	}
	return o
}

func (o ReaderOptions) validate() error {
	if o.MaxBlockBytes < 1 || o.MaxBlockBytes > maxBlock {
		return fmt.Errorf("segment: MaxBlockBytes %d not in 1..%d", o.MaxBlockBytes, maxBlock)
	}
	if o.Concurrency < 1 || o.Concurrency > 1024 {
		return fmt.Errorf("segment: Concurrency %d not in 1..1024", o.Concurrency)
	}
	return nil
}

// Reader reads one segment. Any number of goroutines may use it at the same time.
// It owns nothing: the io.ReaderAt must stay open as long as the Reader is used,
// and a Reader need not be closed.
//
// Every block is checked against its checksum before it is decoded, each time. A
// damaged block makes the rows of its chunk unreadable (for the columns it
// holds), no others: the error is a *CorruptionError with the place.
type Reader struct {
	r      io.ReaderAt
	size   int64
	o      ReaderOptions
	footer footer
	dir    *directory
	coder  *coder
	key    uint64 // of its chunks in the cache
	pool   sync.Pool
	column []int // all columns, in order
}

// tailBytes is how much of the end of a file is read first: enough for footer and
// directory of most segments.
const tailBytes = 64 << 10

// NewReader opens the segment that r holds in its first size bytes. It reads the
// tail (footer and directory), and the dictionaries at the front where the
// directory has no copy. The rest of the front is not read: Verify does.
//
// Memory is 24 bytes a chunk and 4 for each of its blocks, 32 a run of 256 rows, and
// the dictionaries.
func NewReader(r io.ReaderAt, size int64, o ReaderOptions) (*Reader, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	rd := &Reader{r: r, size: size, o: o}
	if err := rd.open(); err != nil {
		return nil, named(err, o.Name)
	}
	if rd.key = o.CacheKey; rd.key == 0 {
		rd.key = o.Cache.Key()
	}
	for i := range rd.dir.schema.Columns {
		rd.column = append(rd.column, i)
	}
	rd.pool.New = func() any { return &scratch{columns: make([]columnBuf, len(rd.column))} }
	return rd, nil
}

func (r *Reader) open() error {
	tail, err := readTail(r.r, r.size)
	if err != nil {
		return err
	}
	if err := r.footer.decode(tail[len(tail)-footerSize:], r.size); err != nil {
		return sectionError(SectionFooter, r.size-footerSize, footerSize, err)
	}
	packed, err := readDirectory(r.r, &r.footer, tail)
	if err != nil {
		return err
	}
	if r.dir, err = openDirectory(packed, &r.footer, r.o.Encodings); err != nil {
		return err
	}
	if !r.dir.copied && len(r.dir.dictionaryIDs) > 0 {
		if err := r.openDictionaries(); err != nil {
			return err
		}
	}
	if id := r.dir.identify(r.footer.firstRow, r.dir.policy); id != r.footer.id {
		return damage(SectionDirectory, int64(r.footer.dirOffset), int64(r.footer.dirLength),
			fmt.Errorf("ID of what it says is %s, the footer has %s", id, r.footer.id))
	}
	opts := newCoderOptions(r.o.Encodings, r.o.Concurrency, 0)
	opts.limit = r.o.MaxBlockBytes
	r.coder, err = newCoder(r.footer.id, r.dir.schema, r.dir.layout, r.dir.dictionaries, opts)
	if err != nil {
		return sectionError(SectionDirectory, int64(r.footer.dirOffset), int64(r.footer.dirLength), err)
	}
	return nil
}

// sectionError places an error, unless it is one of version, which is no damage.
func sectionError(s Section, off, n int64, err error) error {
	var ce *CorruptionError
	if errors.Is(err, ErrVersion) || errors.As(err, &ce) {
		return err
	}
	return damage(s, off, n, err)
}

// readTail reads the last tailBytes, or all of a shorter file.
func readTail(r io.ReaderAt, size int64) ([]byte, error) {
	if size < headerSize+footerSize {
		return nil, damage(SectionFile, 0, max(size, 0), errTooSmall)
	}
	tail := make([]byte, min(size, tailBytes))
	if err := readFull(r, tail, size-int64(len(tail))); err != nil {
		return nil, err
	}
	return tail, nil
}

// readDirectory returns the directory as it lies, from tail where that holds it all.
func readDirectory(r io.ReaderAt, f *footer, tail []byte) ([]byte, error) {
	n := int(f.dirLength)
	if have := len(tail) - footerSize; n <= have {
		return tail[have-n : have], nil
	}
	b := make([]byte, n) // checked against the size of the file
	return b, readFull(r, b, int64(f.dirOffset))
}

func openDirectory(packed []byte, f *footer, encodings []codec.Encoding) (*directory, error) {
	off, n := int64(f.dirOffset), int64(f.dirLength)
	if got := directorySum(f.id, packed); got != f.dirSum {
		return nil, damage(SectionDirectory, off, n, &sumError{got, f.dirSum})
	}
	b, err := unpackDirectory(packed)
	if err != nil {
		return nil, sectionError(SectionDirectory, off, n, err)
	}
	d, err := decodeDirectory(b, f, encodings)
	if err != nil {
		return nil, sectionError(SectionDirectory, off, n, err)
	}
	return d, nil
}

// openDictionaries reads the dictionaries from the front records.
func (r *Reader) openDictionaries() error {
	b := make([]byte, r.footer.front) // at most maxFrontBytes, and checked against the size of the file
	if err := readFull(r.r, b, headerSize); err != nil {
		return err
	}
	var first error
	f := decodeFront(b, r.footer.id, nil, func(e *CorruptionError) {
		switch {
		case e.Section == SectionDictionary && errors.Is(e.Err, ErrVersion):
			first = e.Err
		case first == nil || e.Section == SectionDictionary && !errors.Is(first, ErrVersion):
			first = understoodElsewhere(e)
		}
	})
	r.dir.dictionaries = f.dictionaries
	err := r.dir.matchDictionaries()
	if err == nil {
		return nil // damage elsewhere in the front is Verify's to report
	}
	if first != nil {
		return first
	}
	return damage(SectionDictionary, headerSize, int64(r.footer.front), err)
}

// readFull reads len(b) bytes at off. A file that ends early has changed since
// its size was asked: that is an I/O error, not corruption.
func readFull(r io.ReaderAt, b []byte, off int64) error {
	n, err := r.ReadAt(b, off)
	if n == len(b) {
		return nil
	}
	if err == nil || err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("segment: reading %d bytes at %d: %w", len(b), off, err)
}

// Info returns what the segment is. Checksum is zero: nobody has read the file.
func (r *Reader) Info() Info {
	i := r.dir.info(&r.footer)
	i.StoredBytes = r.size
	return i
}

// Table returns the table's name.
func (r *Reader) Table() string { return r.dir.table }

// Schema returns the columns; they must not be changed.
func (r *Reader) Schema() Schema { return r.dir.schema }

// FirstRow returns the number of the first row.
func (r *Reader) FirstRow() uint64 { return r.footer.firstRow }

// EndRow returns one past the number of the last row.
func (r *Reader) EndRow() uint64 { return r.footer.firstRow + r.footer.rows }

// RawBytes returns the bytes of all values.
func (r *Reader) RawBytes() (n uint64) {
	for _, c := range r.dir.columns {
		n += c.RawBytes
	}
	return n
}

// Layout returns how columns are encoded; it must not be changed.
func (r *Reader) Layout() Layout { return r.dir.layout }

// Stats returns what each column takes; it must not be changed.
func (r *Reader) Stats() []ColumnStats { return r.dir.columns }

// Trials returns the byte counts by which dictionaries were chosen, as text.
func (r *Reader) Trials() string { return r.dir.trials }

// Metadata returns the free metadata, or nil; it must not be changed.
func (r *Reader) Metadata() map[string][]byte { return r.dir.metadata }

// Policy returns the policy that the segment was written under. ErrVersion where its
// text is not understood: rows can be read all the same.
func (r *Reader) Policy() (codec.Policy, error) {
	p, err := codec.ParsePolicy(r.dir.policy)
	if err != nil {
		err = fmt.Errorf("%w: policy: %w", ErrVersion, err)
	}
	return p, err
}

// scratch is the memory of one row read or scan. It goes back to the pool.
type scratch struct {
	buf     []byte
	columns []columnBuf
	row     Row
	room    int // bytes that the current chunk's blocks may still decode to
}

func (r *Reader) take() *scratch { return r.pool.Get().(*scratch) }

func (r *Reader) give(s *scratch) {
	s.buf = trim(s.buf)
	for i := range s.columns {
		s.columns[i].trim()
	}
	r.pool.Put(s)
}

// grow returns b with length n, its contents unspecified.
func grow(b []byte, n int) []byte {
	if cap(b) < n {
		return make([]byte, n, n+n/8)
	}
	return b[:n]
}
