package archive

import (
	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/segment/merkle"
)

// Names in the directory of an archive.
const (
	ManifestName = "MANIFEST.json"
	LockName     = "LOCK"
)

// Version is the version of the manifest that this package writes.
const Version = 1

// MaxReplaced is how many replaced checksums of a segment are kept.
const MaxReplaced = 8

// Info is what an archive is.
type Info struct {
	Version       int         `json:"version"`
	ChainID       string      `json:"chain_id,omitempty"`
	Segments      int         `json:"segments"`
	Rows          uint64      `json:"rows"`
	RawBytes      uint64      `json:"raw_bytes"`          // of the values
	StoredBytes   int64       `json:"stored_bytes"`       // of the segment files
	ManifestBytes int64       `json:"manifest_bytes"`     // of MANIFEST.json
	LogTail       *Tail       `json:"log_tail,omitempty"` // of the newest log, when the archive was opened
	Tables        []TableInfo `json:"tables"`             // in the order of creation
}

// TableInfo is what a table is.
type TableInfo struct {
	Table       string         `json:"table"`
	Schema      segment.Schema `json:"schema"`
	FirstRow    uint64         `json:"first_row"`
	Rows        uint64         `json:"rows"` // in segments and logs
	Segments    int            `json:"segments"`
	LogRows     uint64         `json:"log_rows,omitempty"`  // of Rows, those in logs
	LogBytes    uint64         `json:"log_bytes,omitempty"` // of their values
	RawBytes    uint64         `json:"raw_bytes"`           // of the values
	StoredBytes int64          `json:"stored_bytes"`        // of the segment files
	Policy      string         `json:"policy"`              // canonical text; for rows to come: a segment knows its own
}

// SegmentInfo is what the manifest says of a segment.
type SegmentInfo struct {
	Table       string           `json:"table"`
	FirstRow    uint64           `json:"first_row"`
	Rows        uint64           `json:"rows"`
	File        string           `json:"file"`         // path from the archive's directory, with slashes
	RawBytes    uint64           `json:"raw_bytes"`    // of the values
	StoredBytes int64            `json:"stored_bytes"` // of the file
	Checksum    segment.Checksum `json:"checksum"`     // xxh64 of the file
	ContentRoot merkle.Hash      `json:"content_root"`
	ID          segment.ID       `json:"id"`
	Replaced    []Replaced       `json:"replaced,omitempty"` // the last MaxReplaced files that recompression replaced, oldest first

	schema segment.Schema // of the table: a file with another one is not the segment
}

// EndRow returns one past the number of the last row.
func (s SegmentInfo) EndRow() uint64 { return s.FirstRow + s.Rows }

// Replaced is a file that held the same rows before.
type Replaced struct {
	Checksum    segment.Checksum `json:"checksum"`     // xxh64 of the file
	StoredBytes int64            `json:"stored_bytes"` // of the file
}

// Progress is how far a long job has come.
type Progress struct {
	Stage         Stage  `json:"stage"`
	Table         string `json:"table"`
	File          string `json:"file,omitempty"` // that is read
	Segment       int    `json:"segment"`        // number of the segment in the job, from 0
	Segments      int    `json:"segments"`       // of the job; 0 where nobody knows
	Rows          uint64 `json:"rows"`           // of this segment that are done
	SegmentRows   uint64 `json:"segment_rows"`
	RawBytes      uint64 `json:"raw_bytes"`       // of the whole job that are done
	TotalRawBytes uint64 `json:"total_raw_bytes"` // of the whole job; 0 where nobody knows
}

// Stage names what a long job is doing.
type Stage string

// The stages of a job.
const (
	StageEncode Stage = "encode" // rows are encoded
	StageVerify Stage = "verify" // a file is read and compared
)
