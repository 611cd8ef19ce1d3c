package chain

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"unicode/utf8"

	"github.com/segstore/segstore/segment"
)

// SourcesTable is the name of the table that has a row for each source file.
const SourcesTable = "sources"

// MaxSourceName is the longest name of a source, in bytes.
const MaxSourceName = 255

// Sum is a SHA-256. Its text form is lower-case hex.
type Sum [sha256.Size]byte

// String returns the sum in hex.
func (s Sum) String() string { return hex.EncodeToString(s[:]) }

// MarshalText returns the sum in hex.
func (s Sum) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, s[:]), nil }

// UnmarshalText reads 64 hex digits.
func (s *Sum) UnmarshalText(b []byte) error {
	if len(b) != 2*len(s) {
		return fmt.Errorf("chain: SHA-256 of %d digits, not %d", len(b), 2*len(s))
	}
	if _, err := hex.Decode(s[:], b); err != nil {
		return fmt.Errorf("chain: SHA-256: %w", err)
	}
	return nil
}

// Source is a row of the table sources: one file that was imported.
type Source struct {
	Name   string `json:"name"`   // base name of the file; without .gz where it was compressed
	Format string `json:"format"` // "era1", "geth", "rlps", "blk", "raw", "jsonl", …
	// FirstBlock is the row number of its first block in the format's main table (blocks, or the rows of JSON lines),
	// Blocks how many there are.
	FirstBlock uint64 `json:"first_block"`
	Blocks     uint64 `json:"blocks"`
	// Size and SHA256 are those of the file, decompressed where it was a .gz: what an export compares with.
	Size   uint64 `json:"size"`
	SHA256 Sum    `json:"sha256"`
	// Head and Tail are bytes of the file before the first and after the last block that the rows do not give.
	Head []byte `json:"-"`
	Tail []byte `json:"-"`
	// Extra is a record of the format's own.
	Extra []byte `json:"-"`
}

var sourceColumns = []segment.Column{
	{Name: "name", Kind: segment.Bytes, Format: "text"},
	{Name: "format", Kind: segment.Bytes, Format: "text"},
	{Name: "first_block", Kind: segment.Uint},
	{Name: "blocks", Kind: segment.Uint},
	{Name: "size", Kind: segment.Uint},
	{Name: "sha256", Kind: segment.Fixed, Width: sha256.Size},
	{Name: "head", Kind: segment.Bytes},
	{Name: "tail", Kind: segment.Bytes},
	{Name: "extra", Kind: segment.Bytes},
}

// SourcesSchema returns the schema of the table sources.
func SourcesSchema() segment.Schema {
	return segment.Schema{Columns: append([]segment.Column(nil), sourceColumns...)}
}

// AppendRow appends the values of the row to dst. Name, head, tail and extra are not copied where they need not be.
func (s *Source) AppendRow(dst segment.Row) segment.Row {
	return append(dst,
		[]byte(s.Name),
		[]byte(s.Format),
		segment.AppendUint(nil, s.FirstBlock),
		segment.AppendUint(nil, s.Blocks),
		segment.AppendUint(nil, s.Size),
		bytes.Clone(s.SHA256[:]),
		s.Head, s.Tail, s.Extra)
}

// ParseSource reads a row of the table sources. The result shares no memory with row.
func ParseSource(row segment.Row) (Source, error) {
	if len(row) != len(sourceColumns) {
		return Source{}, fmt.Errorf("chain: sources: row of %d values, not %d", len(row), len(sourceColumns))
	}
	for i, c := range sourceColumns {
		if n := len(row[i]); c.Kind == segment.Uint && n != 8 || c.Kind == segment.Fixed && n != c.Width {
			return Source{}, fmt.Errorf("chain: sources: column %q has %d bytes", c.Name, n)
		}
	}
	s := Source{
		Name:       string(row[0]),
		Format:     string(row[1]),
		FirstBlock: binary.LittleEndian.Uint64(row[2]),
		Blocks:     binary.LittleEndian.Uint64(row[3]),
		Size:       binary.LittleEndian.Uint64(row[4]),
		SHA256:     Sum(row[5]),
		Head:       bytes.Clone(row[6]),
		Tail:       bytes.Clone(row[7]),
		Extra:      bytes.Clone(row[8]),
	}
	if err := s.check(); err != nil {
		return Source{}, err
	}
	return s, nil
}

func (s *Source) check() error {
	switch {
	case s.Name == "" || len(s.Name) > MaxSourceName || !utf8.ValidString(s.Name):
		return fmt.Errorf("chain: sources: name %.300q is not 1 to %d bytes of UTF-8", s.Name, MaxSourceName)
	case s.Format == "" || len(s.Format) > segment.MaxNameBytes:
		return fmt.Errorf("chain: sources: %q: format %.100q", s.Name, s.Format)
	case s.FirstBlock+s.Blocks < s.FirstBlock:
		return fmt.Errorf("chain: sources: %q: %d blocks from row %d", s.Name, s.Blocks, s.FirstBlock)
	}
	return nil
}

// Sources returns all rows of the table sources, none where the view has no such table.
func Sources(v View) ([]Source, error) {
	if v.Rows(SourcesTable) == 0 {
		return nil, nil
	}
	names := make([]string, len(sourceColumns))
	for i, c := range sourceColumns {
		names[i] = c.Name
	}
	var all []Source
	for row, err := range v.Scan(SourcesTable, v.FirstRow(SourcesTable), names...) {
		if err != nil {
			return nil, err
		}
		s, err := ParseSource(row)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}
