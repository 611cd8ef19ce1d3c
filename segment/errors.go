package segment

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// What a caller may ask of an error with errors.Is.
var (
	ErrCorrupt = errors.New("segment: corrupt")                        // bytes that no writer of a segment wrote; the error is a *CorruptionError
	ErrVersion = errors.New("segment: needs a newer version")          // whole, but of a version, feature or encoding unknown here
	ErrLimit   = errors.New("segment: larger than the reader's limit") // whole as far as is known, but MaxBlockBytes forbids to decode it
	ErrRange   = errors.New("segment: row outside the segment")        // the row asked for is not there
	ErrColumn  = errors.New("segment: no such column")                 // the column asked for is not in the schema
	ErrClosed  = errors.New("segment: use after Finish or Abort")      // of a Writer
)

// Section names a part of a segment file.
type Section string

// The sections of a segment file, in the order in which they lie.
const (
	SectionHeader     Section = "header"
	SectionTable      Section = "table"
	SectionSchema     Section = "schema"
	SectionLayout     Section = "layout"
	SectionDictionary Section = "dictionary"
	SectionFrame      Section = "frame" // the head of a chunk
	SectionBlock      Section = "block" // one block of a chunk
	SectionDirectory  Section = "directory"
	SectionFooter     Section = "footer"
	SectionFile       Section = "file" // the file as a whole, where no section is to blame
)

// Place is where in a segment file something is. Fields that do not apply are
// zero; Chunk is -1 where no chunk is meant.
type Place struct {
	File     string  `json:"file,omitempty"`
	Section  Section `json:"section"`
	Column   string  `json:"column,omitempty"`
	Chunk    int     `json:"chunk"`     // number of the chunk, from 0
	Block    int     `json:"block"`     // number of the block in its column's chunk, or of the dictionary
	FirstRow uint64  `json:"first_row"` // first row that the place holds
	Rows     uint64  `json:"rows"`      // rows that the place holds
	Offset   int64   `json:"offset"`    // bytes from the start of the file
	Length   int64   `json:"length"`    // bytes
}

// String says the place in words: `file: block of "body", chunk 17, rows 3400-3599, at 81920+4096`.
func (p Place) String() string {
	var b strings.Builder
	if p.File != "" {
		b.WriteString(p.File + ": ")
	}
	b.WriteString(string(p.Section))
	if p.Section == SectionDictionary {
		fmt.Fprintf(&b, " %d", p.Block)
	}
	if p.Column != "" {
		fmt.Fprintf(&b, " of %q", p.Column)
	}
	if p.Chunk >= 0 {
		fmt.Fprintf(&b, ", chunk %d", p.Chunk)
	}
	if p.Rows > 0 {
		fmt.Fprintf(&b, ", rows %d-%d", p.FirstRow, p.FirstRow+p.Rows-1)
	}
	fmt.Fprintf(&b, ", at %d+%d", p.Offset, p.Length)
	return b.String()
}

// CorruptionError says where a file is damaged and what was expected there.
// errors.Is(err, ErrCorrupt) holds.
type CorruptionError struct {
	Place
	Err error
}

// Error returns the place and the cause in one line.
func (e *CorruptionError) Error() string { return e.Place.String() + ": " + e.Err.Error() }

// MarshalJSON returns the place, and the cause as the member "error".
func (e CorruptionError) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Place
		Error string `json:"error"`
	}{e.Place, e.Err.Error()})
}

// Unwrap returns ErrCorrupt and the cause.
func (e *CorruptionError) Unwrap() []error { return []error{ErrCorrupt, e.Err} }

// sumError is a checksum that does not match.
type sumError struct{ got, want uint64 }

func (e *sumError) Error() string {
	return fmt.Sprintf("checksum of the bytes is %016x, recorded is %016x", e.got, e.want)
}

// damage returns a *CorruptionError for a section that is no part of a chunk.
func damage(s Section, off, n int64, err error) *CorruptionError {
	return &CorruptionError{Place: Place{Section: s, Chunk: -1, Offset: off, Length: n}, Err: err}
}

// understoodElsewhere returns e without ErrVersion: another copy of what e is about
// was understood, so this one is damage and not of a newer version.
func understoodElsewhere(e *CorruptionError) *CorruptionError {
	if errors.Is(e.Err, ErrVersion) {
		e.Err = errors.New(e.Err.Error())
	}
	return e
}

// named adds the file's name to an error: into the place, where it has one.
func named(err error, file string) error {
	var ce *CorruptionError
	if err == nil || file == "" || errors.As(err, &ce) {
		return inFile(err, file)
	}
	return fmt.Errorf("%s: %w", file, err)
}

// inFile sets the file of a *CorruptionError that has none yet.
func inFile(err error, file string) error {
	var ce *CorruptionError
	if file != "" && errors.As(err, &ce) && ce.File == "" {
		ce.File = file
	}
	return err
}
