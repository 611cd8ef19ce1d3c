// Package chain is what the importers and exporters of foreign files share: the tables that an importer fills, the
// view that an exporter reads, and a table named sources that remembers each file, so that many come back as they were.
//
// An importer reads files ([File]) once from start to end and appends rows to a [Sink]; some walk the files once more
// before, to learn how rows are numbered. An exporter reads a [View] and writes files to an [Output]. Both stream: memory
// is bounded by the largest block of the source, never by a file. Neither keeps anything between calls; values of either may
// be used by many goroutines, each call with a sink or view of its own.
//
//	report, err := era1.Importer{}.Import(ctx, files, sink, chain.ImportOptions{})
//	…
//	exported, err := era1.Exporter{}.Export(ctx, view, out, chain.ExportOptions{})
//
// Input is foreign: whatever it holds, an importer returns an error with file, offset and what was expected
// ([InputError]), and allocates no more than a small multiple of the bytes it has read.
package chain

import (
	"context"
	"iter"

	"github.com/segstore/segstore/segment"
)

// Table is a table to be made.
type Table struct {
	Name     string
	Schema   segment.Schema
	FirstRow uint64 // number of its first row
}

// Sink is what an importer fills. Rows of a table arrive in order; those of different tables are mixed.
type Sink interface {
	// Create makes a table; it comes before the table's first row. A table may stay without rows.
	Create(t Table) error
	// Append adds the next row of a table. It copies what it keeps: the caller reuses row and its values.
	Append(table string, row segment.Row) error
	// Mark says that the rows so far belong together: each block with all that is of it, each line, each source is whole.
	// A sink that makes rows durable in parts ends a part here only.
	Mark() error
}

// View is what an exporter reads: tables that do not change while it is in use. Scans of one view may run at the same
// time and be nested, in one goroutine.
type View interface {
	// Tables returns the tables, in no particular order.
	Tables() []Table
	// FirstRow returns the number of the table's first row; 0 for a table that is not there.
	FirstRow(table string) uint64
	// Rows returns how many rows the table has; 0 for a table that is not there.
	Rows(table string) uint64
	// Scan yields rows of a table from row number from to the last, the named columns only and in the order named; all
	// columns of the schema where none is named. A row is valid until the next step. On failure it yields (nil, err) once.
	Scan(table string, from uint64, columns ...string) iter.Seq2[segment.Row, error]
}

// Importer reads files of one format.
type Importer interface {
	// Import appends the rows of files, in the order given, to tables that it creates in sink. After an error the
	// sink holds a part of the rows and is of no further use.
	Import(ctx context.Context, files []File, sink Sink, o ImportOptions) (Report, error)
}

// Exporter writes files of one format.
type Exporter interface {
	// Export writes a file to out for each source of the view that o selects. A source of the exporter's own format comes
	// back as it was, and the report says how exactly; another one is converted where the rows hold all that is needed.
	// After an error, out holds the files that were complete and nothing else.
	Export(ctx context.Context, v View, out Output, o ExportOptions) (ExportReport, error)
}

// ImportOptions are the options that all importers have. The zero value means defaults.
type ImportOptions struct {
	// MaxBlockBytes is the largest block, in bytes as decoded, that is read; a longer one is an error. Default 128 MiB.
	MaxBlockBytes int
	// After, when not nil, is what the sink holds already: rows go behind those that are there, and no table is created. Its
	// tables must have the schemas that the importer gives them (ErrTables), and end where its last source does (*GapError);
	// Ethereum's first block must follow the last one by number and parent's hash (*InputError). It is read before the
	// first row is appended, and not after.
	After View
	// AllowGap lets rows come behind After where they do not follow: blocks with other numbers, and rows behind some that no
	// source has.
	AllowGap bool
	// Progress, when not nil, is called from the importing goroutine now and then, and once at the end: bytes of source
	// files read (as they lie on disk) and to read. total is -1 when the size of a file is not known.
	Progress func(done, total int64)
}

// DefaultMaxBlockBytes is the default of ImportOptions.MaxBlockBytes.
const DefaultMaxBlockBytes = 128 << 20

// ExportOptions are the options that all exporters have. The zero value means defaults.
type ExportOptions struct {
	// Sources are the names of the sources to write, as the table sources has them. Default all.
	Sources []string
	// Progress, when not nil, is called from the exporting goroutine now and then, and once at the end: bytes written,
	// and the size of all the sources to write (a conversion may write more or less).
	Progress func(done, total int64)
}

// Report is what an import did.
type Report struct {
	Sources []Imported    `json:"sources"`
	Tables  []TableReport `json:"tables"` // in the order of creation
}

// Imported is one source file that was read.
type Imported struct {
	Source
	Restore Match  `json:"restore"`          // what an export of this source will be: Identical or EqualContent
	Reason  string `json:"reason,omitempty"` // why it will not be identical
}

// TableReport counts what was appended to one table.
type TableReport struct {
	Table    string `json:"table"`
	FirstRow uint64 `json:"first_row"` // of those that were appended
	Rows     uint64 `json:"rows"`
	RawBytes uint64 `json:"raw_bytes"` // bytes of all values
}

// Match says how an exported file compares with its source.
type Match string

const (
	Identical    Match = "identical"     // the same bytes: SHA-256 compared
	EqualContent Match = "equal_content" // the same content in another encoding of the container: its digest compared
	Converted    Match = "converted"     // another format than the source's: there is nothing to compare with
	Different    Match = "different"     // neither bytes nor content are the source's
)

// ExportReport is what an export did.
type ExportReport struct {
	Files []Exported `json:"files"`
}

// Exported is one file that was written.
type Exported struct {
	File         string `json:"file"`   // name in the output
	Source       string `json:"source"` // name in the table sources
	Format       string `json:"format"` // of the file
	SourceFormat string `json:"source_format"`
	FirstBlock   uint64 `json:"first_block"` // row number
	Blocks       uint64 `json:"blocks"`
	Bytes        uint64 `json:"bytes"`
	SHA256       Sum    `json:"sha256"`
	SourceSHA256 Sum    `json:"source_sha256"`
	Match        Match  `json:"match"`
	Reason       string `json:"reason,omitempty"` // why it is not identical
	Kept         bool   `json:"kept,omitempty"`   // it was there already, with these bytes
}
