package archive

import (
	"time"

	"github.com/segstore/segstore/segment"
)

// Report is what recompressing changed, segment by segment, summed up for each
// table, and in total.
type Report struct {
	Segments  []SegmentReport `json:"segments"`
	Tables    []TableReport   `json:"tables"`
	Total     Totals          `json:"total"`
	Runs      int             `json:"runs"`                // how often each segment was recompressed; times are of one run
	Estimated bool            `json:"estimated,omitempty"` // a dry run: StoredAfter is computed from samples, nothing was written
	Encoder   string          `json:"encoder"`             // name and version
	WallNS    time.Duration   `json:"wall_ns"`             // of everything
}

// SegmentReport is what became of one segment. The embedded report is of the last
// run, the one whose result stays. Where the segment was skipped its Before and
// After are alike.
type SegmentReport struct {
	File     string `json:"file"`                    // that the rows are in now
	Replaced string `json:"replaced,omitempty"`      // the file that it replaced; removed
	Skipped  bool   `json:"skipped,omitempty"`       // nothing to change: the policy holds already, or the same bytes came out
	Sampled  uint64 `json:"sampled_bytes,omitempty"` // stored bytes that a dry run recompressed
	segment.Report
	Runs []segment.Report `json:"runs,omitempty"` // every run, where there were several
}

// TableReport sums up the segments of one table.
type TableReport struct {
	Table string `json:"table"`
	Totals
	Columns []ColumnTotals `json:"columns"`
}

// Totals are sums over segments.
type Totals struct {
	Segments     int    `json:"segments"`
	Skipped      int    `json:"skipped"` // of those
	Rows         uint64 `json:"rows"`
	RawBytes     uint64 `json:"raw_bytes"`
	StoredBefore int64  `json:"stored_bytes_before"`
	StoredAfter  int64  `json:"stored_bytes_after"`
	DictBefore   int64  `json:"dictionary_bytes_before"` // every copy
	DictAfter    int64  `json:"dictionary_bytes_after"`
	OtherBefore  int64  `json:"other_bytes_before"` // headers, frames, directories
	OtherAfter   int64  `json:"other_bytes_after"`
	Blocks       uint64 `json:"blocks"`
	KeptRaw      uint64 `json:"kept_raw"`      // of those raw because they would not shrink
	Copied       uint64 `json:"copied"`        // of those taken over as they were
	EncodedBytes uint64 `json:"encoded_bytes"` // before compression, of the blocks that were not copied
	Encode       Spread `json:"encode_cpu_ns"`
	Decode       Spread `json:"decode_cpu_ns"`        // of the new blocks, to compare
	Source       Spread `json:"source_decode_cpu_ns"` // of the old blocks
	Train        Spread `json:"train_wall_ns"`
	Write        Spread `json:"write_wall_ns"`
	Wall         Spread `json:"wall_ns"`
}

// ColumnTotals are sums over the segments of one column.
type ColumnTotals struct {
	Column       string `json:"column"`
	RawBytes     uint64 `json:"raw_bytes"`
	StoredBefore uint64 `json:"stored_bytes_before"`
	StoredAfter  uint64 `json:"stored_bytes_after"`
	CodecBefore  string `json:"codec_before"` // those of several segments joined by " | "
	CodecAfter   string `json:"codec_after"`
	LevelBefore  string `json:"encoder_level_before"`
	LevelAfter   string `json:"encoder_level_after"`
	Blocks       uint64 `json:"blocks"`
	KeptRaw      uint64 `json:"kept_raw"`
	Copied       uint64 `json:"copied"`
	EncodedBytes uint64 `json:"encoded_bytes"`
	DictBefore   int64  `json:"dictionary_bytes_before"` // one copy a segment
	DictAfter    int64  `json:"dictionary_bytes_after"`
	Encode       Spread `json:"encode_cpu_ns"`
	Decode       Spread `json:"decode_cpu_ns"`
	Source       Spread `json:"source_decode_cpu_ns"`
	Train        Spread `json:"train_cpu_ns"`
}

// Spread is a time over several runs. With one run all four are alike.
type Spread struct {
	Mean   time.Duration `json:"mean"`
	Median time.Duration `json:"median"`
	Min    time.Duration `json:"min"`
	Max    time.Duration `json:"max"`
}
