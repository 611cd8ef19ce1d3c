package archive

import (
	"context"
	"errors"
	"io"
	"iter"
	"log/slog"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/segstore/segstore/codec"
	"github.com/segstore/segstore/segment"
)

var errSoon = errors.New("archive: under construction")

// TableSpec is a table to be made.
type TableSpec struct {
	Name     string
	Schema   segment.Schema
	FirstRow uint64
	Policy   codec.Policy // default CreateOptions.Policy
}

// CreateOptions says how an archive is built.
type CreateOptions struct {
	Policy       codec.Policy     // of tables that bring none; default: the profile "balanced"
	Encodings    []codec.Encoding // beside those of package codec
	Workers      int              // goroutines that encode; default GOMAXPROCS
	SegmentBytes int64            // raw bytes at which a table is cut; default 512 MiB
	Logger       *slog.Logger     // default: nothing is logged
	ChainID      string           // free text for the manifest
	Context      context.Context  // ends the work early; default context.Background()
	Progress     func(Progress)   // sealing of segments; may be nil
}

// Builder builds a whole archive in bulk. One goroutine may use it.
type Builder struct{}

// Create starts an archive that will be dir.
func Create(fs vfs.FS, dir string, o CreateOptions) (*Builder, error) { return nil, errSoon }

// Create makes a table.
func (b *Builder) Create(t TableSpec) error { return errSoon }

// Append adds the next row of a table.
func (b *Builder) Append(table string, row segment.Row) error { return errSoon }

// Finish publishes the archive.
func (b *Builder) Finish(ctx context.Context) (Info, error) { return Info{}, errSoon }

// Abort removes what was written. After Finish it does nothing.
func (b *Builder) Abort() error { return errSoon }

// Options says how an archive is opened.
type Options struct {
	ReadOnly   bool
	Logger     *slog.Logger     // default: nothing is logged
	CacheBytes int64            // decoded chunks; default 64 MiB, negative: none
	OpenFiles  int              // segment files kept open while nobody uses them; default 128
	Encodings  []codec.Encoding // beside those of package codec
	Workers    int              // goroutines that decode a segment; default GOMAXPROCS
}

// Archive is an open archive.
type Archive struct{}

// Open opens the archive in dir.
func Open(fs vfs.FS, dir string, o Options) (*Archive, error) { return nil, errSoon }

// Close closes the archive.
func (a *Archive) Close() error { return errSoon }

// Dir returns the directory.
func (a *Archive) Dir() string { return "" }

// Path returns the path of a segment's file.
func (a *Archive) Path(s SegmentInfo) string { return "" }

// Info returns what the archive is, by its manifest.
func (a *Archive) Info() Info { return Info{} }

// Tables returns the tables in the order of creation.
func (a *Archive) Tables() []TableInfo { return nil }

// Segments returns the segments of the named tables, or of all.
func (a *Archive) Segments(tables ...string) ([]SegmentInfo, error) { return nil, errSoon }

// Table returns a table.
func (a *Archive) Table(name string) (*Table, error) { return nil, errSoon }

// OpenSegment returns a reader of segment i of a table.
func (a *Archive) OpenSegment(table string, i int) (*segment.Reader, func(), error) {
	return nil, nil, errSoon
}

// Refresh takes over what another process has changed.
func (a *Archive) Refresh() error { return errSoon }

// Stats opens the segments of the named tables, or of all, and sums up what columns take.
func (a *Archive) Stats(ctx context.Context, tables ...string) ([]TableStats, error) {
	return nil, errSoon
}

// Counters returns what the cache and the open files are at.
func (a *Archive) Counters() Counters { return Counters{} }

// Table reads a table.
type Table struct{}

// Info returns what the table is.
func (t *Table) Info() TableInfo { return TableInfo{} }

// Name returns the table's name.
func (t *Table) Name() string { return "" }

// Schema returns the columns.
func (t *Table) Schema() segment.Schema { return segment.Schema{} }

// FirstRow returns the number of the first row.
func (t *Table) FirstRow() uint64 { return 0 }

// EndRow returns one past the number of the last row.
func (t *Table) EndRow() uint64 { return 0 }

// Segments returns the table's segments.
func (t *Table) Segments() []SegmentInfo { return nil }

// Row reads row number n.
func (t *Table) Row(dst segment.Row, n uint64) (segment.Row, error) { return dst, errSoon }

// Rows yields rows.
func (t *Table) Rows(from uint64, columns ...string) iter.Seq2[segment.Row, error] {
	return func(yield func(segment.Row, error) bool) { yield(nil, errSoon) }
}

// Column returns a reader of one column.
func (t *Table) Column(name string) (*Column, error) { return nil, errSoon }

// Column reads one column of a table.
type Column struct{}

// Value appends the value in row number n to dst.
func (c *Column) Value(dst []byte, n uint64) ([]byte, error) { return dst, errSoon }

// Values yields values.
func (c *Column) Values(from uint64) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) { yield(nil, errSoon) }
}

// TableStats is what a table takes.
type TableStats struct {
	Table       string        `json:"table"`
	Segments    int           `json:"segments"`
	Rows        uint64        `json:"rows"`
	Chunks      int           `json:"chunks"`
	RawBytes    uint64        `json:"raw_bytes"`
	StoredBytes int64         `json:"stored_bytes"` // of the segment files
	OtherBytes  int64         `json:"other_bytes"`  // of those what belongs to no column: headers, dictionaries, frames, directories
	Columns     []ColumnStats `json:"columns"`
}

// ColumnStats is what a column takes.
type ColumnStats struct {
	Column      string                `json:"column"`
	RawBytes    uint64                `json:"raw_bytes"`    // of the values
	StoredBytes uint64                `json:"stored_bytes"` // of the blocks
	Streams     []segment.StreamStats `json:"streams"`
	Blocks      []BlockStats          `json:"blocks"` // by what they are written with
}

// BlockStats is what the blocks of a column take that are written in one way.
type BlockStats struct {
	Streams     []string   `json:"streams"`
	Codec       codec.Spec `json:"codec"`
	Segments    int        `json:"segments"`
	RawBytes    uint64     `json:"raw_bytes"`    // before compression
	StoredBytes uint64     `json:"stored_bytes"` // with heads and checksums
	Blocks      uint64     `json:"block_count"`
	KeptRaw     uint64     `json:"kept_raw"` // of those raw because they would not shrink
}

// Counters are what the cache and the open files are at.
type Counters struct {
	Cache     segment.CacheStats `json:"cache"`
	OpenFiles int                `json:"open_files"`
	Opened    uint64             `json:"opened"` // files opened so far
}

// VerifyOptions says how an archive is verified.
type VerifyOptions struct {
	Depth    segment.Depth // default segment.Checksums
	Tables   []string      // default all
	Progress func(Progress)
}

// Verify yields every flaw.
func (a *Archive) Verify(ctx context.Context, o VerifyOptions) iter.Seq2[segment.Flaw, error] {
	return func(yield func(segment.Flaw, error) bool) { yield(segment.Flaw{}, errSoon) }
}

// VerifyFile yields every flaw of one segment file.
func VerifyFile(ctx context.Context, fs vfs.FS, path string, o segment.VerifyOptions) iter.Seq2[segment.Flaw, error] {
	return func(yield func(segment.Flaw, error) bool) { yield(segment.Flaw{}, errSoon) }
}

// RecompressOptions says what changes, and where.
type RecompressOptions struct {
	segment.RecompressOptions          // its Progress is not used
	Tables                    []string // default all
	Runs                      int      // how often each segment is recompressed, to time it; default 1
	DryRun                    bool     // estimate on samples, write nothing
	SampleBytes               int64    // stored bytes of a segment that a dry run recompresses; default 8 MiB
}

// Recompress replaces every segment by a recompressed one, each atomically.
func (a *Archive) Recompress(ctx context.Context, o RecompressOptions, progress func(Progress)) (*Report, error) {
	return nil, errSoon
}

// RecompressTo writes a recompressed archive that will be dir.
func (a *Archive) RecompressTo(ctx context.Context, dir string, o RecompressOptions, progress func(Progress)) (*Report, error) {
	return nil, errSoon
}

// RecompressFile recompresses a lone segment file, in place where out is empty.
func RecompressFile(ctx context.Context, fs vfs.FS, path, out string, o RecompressOptions, progress func(Progress)) (*Report, error) {
	return nil, errSoon
}

// File is a segment file that is open for reading.
type File struct {
	*segment.Reader
}

// OpenFile opens a segment file.
func OpenFile(fs vfs.FS, path string, o segment.ReaderOptions) (*File, error) { return nil, errSoon }

// Close closes the file.
func (f *File) Close() error { return errSoon }

// FileWriter writes a lone segment file.
type FileWriter struct {
	*segment.Writer
}

// CreateFile starts a segment file that will be path.
func CreateFile(fs vfs.FS, path string, o segment.WriterOptions) (*FileWriter, error) {
	return nil, errSoon
}

// Finish publishes the file.
func (w *FileWriter) Finish() (segment.Info, error) { return segment.Info{}, errSoon }

// Abort removes what was written. After Finish it does nothing.
func (w *FileWriter) Abort() error { return errSoon }

// Checksum returns the xxh64 of a file and its size.
func Checksum(ctx context.Context, fs vfs.FS, path string) (segment.Checksum, int64, error) {
	return 0, 0, errSoon
}

// SHA256 returns the SHA-256 of a file and its size.
func SHA256(ctx context.Context, fs vfs.FS, path string) ([32]byte, int64, error) {
	return [32]byte{}, 0, errSoon
}

// Answer is what a checksum that somebody expects has to do with a file.
type Answer string

// The answers.
const (
	SameFile    Answer = "same_file"    // the file has this checksum
	SameContent Answer = "same_content" // a file of the same rows had it, that recompression has replaced since
	Different   Answer = "different"    // neither
)

// Expectation is the answer for one expected checksum.
type Expectation struct {
	Expected string           `json:"expected"` // as it was given, lower-case hex
	Answer   Answer           `json:"answer"`
	File     string           `json:"file,omitempty"`    // that has the content now
	Checksum segment.Checksum `json:"checksum,omitzero"` // of that file, just computed
	Segment  *SegmentInfo     `json:"segment,omitempty"` // of the archive, where the file belongs to one
	Reason   string           `json:"reason,omitempty"`  // why Different
	Line     int              `json:"line,omitempty"`    // of the list, from 1
}

// Expect says what a checksum has to do with the archive's segments.
func (a *Archive) Expect(ctx context.Context, sum segment.Checksum) (Expectation, error) {
	return Expectation{}, errSoon
}

// ExpectFile says what a checksum (16 hex digits: xxh64, 64: SHA-256) has to do with a file.
func ExpectFile(ctx context.Context, fs vfs.FS, path, sum string) (Expectation, error) {
	return Expectation{}, errSoon
}

// CheckList answers for every line of a list of checksums as xxhsum and sha256sum print them.
func CheckList(ctx context.Context, fs vfs.FS, dir string, list io.Reader) iter.Seq2[Expectation, error] {
	return func(yield func(Expectation, error) bool) { yield(Expectation{}, errSoon) }
}
