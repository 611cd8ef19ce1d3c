package archive

import (
	"context"
	"slices"

	"github.com/segstore/segstore/codec"
	"github.com/segstore/segstore/segment"
)

// TableStats is what a table takes.
type TableStats struct {
	Table       string        `json:"table"`
	Segments    int           `json:"segments"`
	Rows        uint64        `json:"rows"`
	Chunks      int           `json:"chunks"`
	RawBytes    uint64        `json:"raw_bytes"`        // of the values
	StoredBytes int64         `json:"stored_bytes"`     // of the segment files
	DictBytes   int64         `json:"dictionary_bytes"` // one copy of each dictionary
	OtherBytes  int64         `json:"other_bytes"`      // of the files, what belongs to no column: dictionaries, headers, frames, directories
	Columns     []ColumnStats `json:"columns"`
	Logs        []LogRows     `json:"logs,omitempty"` // rows that are in no segment yet: counted here only
}

// ColumnStats is what a column takes.
type ColumnStats struct {
	Column      string                `json:"column"`
	RawBytes    uint64                `json:"raw_bytes"`    // of the values
	StoredBytes uint64                `json:"stored_bytes"` // of the blocks
	Encodings   []string              `json:"encodings"`    // of its segments, each once
	Streams     []segment.StreamStats `json:"streams"`      // by name
	Blocks      []BlockStats          `json:"blocks"`       // by what is in them and what they are written with
}

// BlockStats is what those blocks of a column take that hold the same streams and
// are written in the same way.
type BlockStats struct {
	Streams     []string   `json:"streams"`
	Codec       codec.Spec `json:"codec"`
	Segments    int        `json:"segments"`     // that have such blocks
	RawBytes    uint64     `json:"raw_bytes"`    // before compression
	StoredBytes uint64     `json:"stored_bytes"` // with heads and checksums
	Blocks      uint64     `json:"blocks"`       // that are stored
	KeptRaw     uint64     `json:"kept_raw"`     // of those raw because they would not shrink
}

// Stats opens every segment of the named tables, or of all where none is named,
// and sums up what their directories say. Rows in logs are named beside.
func (a *Archive) Stats(ctx context.Context, tables ...string) ([]TableStats, error) {
	picked, err := a.state.Load().pick(tables)
	if err != nil {
		return nil, err
	}
	logs, err := a.Logs(tables...)
	if err != nil {
		return nil, err
	}
	var all []TableStats
	for _, t := range picked {
		ts := TableStats{Table: t.name}
		for _, s := range t.segments {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			h, err := a.acquire(t.name, s.FirstRow)
			if err != nil {
				return nil, a.saw(t.name, err)
			}
			ts.add(h.r)
			a.files.release(h)
		}
		if len(t.segments) == 0 {
			for _, c := range t.schema.Columns {
				ts.Columns = append(ts.Columns, ColumnStats{Column: c.Name})
			}
		}
		for _, l := range logs {
			for _, r := range l.Tables {
				if r.Table == t.name {
					ts.Logs = append(ts.Logs, r)
				}
			}
		}
		all = append(all, ts)
	}
	return all, nil
}

// FileStats is Stats for a single segment.
func FileStats(r *segment.Reader) TableStats {
	ts := TableStats{Table: r.Table()}
	ts.add(r)
	return ts
}

func (t *TableStats) add(r *segment.Reader) {
	i := r.Info()
	t.Segments++
	t.Rows += i.Rows
	t.Chunks += i.Chunks
	t.RawBytes += i.RawBytes
	t.StoredBytes += i.StoredBytes
	t.OtherBytes += i.StoredBytes
	for k := 0; r.Dictionary(k) != nil; k++ {
		t.DictBytes += int64(len(r.Dictionary(k).Bytes()))
	}
	layout := r.Layout()
	for k, c := range r.Stats() {
		if k == len(t.Columns) {
			t.Columns = append(t.Columns, ColumnStats{Column: c.Column})
		}
		t.OtherBytes -= int64(c.StoredBytes)
		t.Columns[k].add(c, layout.Columns[k].Encoding)
	}
}

func (c *ColumnStats) add(s segment.ColumnStats, encoding string) {
	c.RawBytes += s.RawBytes
	c.StoredBytes += s.StoredBytes
	if !slices.Contains(c.Encodings, encoding) {
		c.Encodings = append(c.Encodings, encoding)
	}
	for _, st := range s.Streams {
		k := slices.IndexFunc(c.Streams, func(have segment.StreamStats) bool { return have.Stream == st.Stream })
		if k < 0 {
			c.Streams = append(c.Streams, st)
			continue
		}
		c.Streams[k].RawBytes += st.RawBytes
	}
	mine := map[int]bool{} // blocks of this segment that have been counted as one of c's
	for _, b := range s.Blocks {
		k := slices.IndexFunc(c.Blocks, func(have BlockStats) bool {
			return have.Codec == b.Codec && slices.Equal(have.Streams, b.Streams)
		})
		if k < 0 {
			k = len(c.Blocks)
			c.Blocks = append(c.Blocks, BlockStats{Streams: b.Streams, Codec: b.Codec})
		}
		sum := &c.Blocks[k]
		if !mine[k] {
			mine[k] = true
			sum.Segments++
		}
		sum.RawBytes += b.RawBytes
		sum.StoredBytes += b.StoredBytes
		sum.Blocks += b.Blocks
		sum.KeptRaw += b.KeptRaw
	}
}
