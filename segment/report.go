package segment

import (
	"fmt"
	"strings"
	"time"

	"github.com/segstore/segstore/codec"
	"github.com/segstore/segstore/dict"
	"github.com/segstore/segstore/segment/merkle"
)

// Report is what a Recompress changed. Times named CPU are those of the codec,
// added up over the workers; those named wall passed on the clock. Where the system
// has no CPU clock of a thread (other than Linux), the first are what passed inside
// the codec.
type Report struct {
	Table       string         `json:"table"`
	FirstRow    uint64         `json:"first_row"`
	Rows        uint64         `json:"rows"`
	RawBytes    uint64         `json:"raw_bytes"`
	ContentRoot merkle.Hash    `json:"content_root"` // of both
	Before      Encoded        `json:"before"`
	After       Encoded        `json:"after"`
	Columns     []ColumnReport `json:"columns"`

	Dictionaries []DictionaryReport `json:"dictionaries,omitempty"` // that were tried
	Notes        []string           `json:"notes,omitempty"`        // what a user should know

	WallNS  time.Duration `json:"wall_ns"`
	WriteNS time.Duration `json:"write_wall_ns"` // in the io.Writer
	TrainNS time.Duration `json:"train_wall_ns"`

	sourceDecode []time.Duration // by column, where chunks were cut anew
	trained      bool
}

// Encoded is a segment's encoded form.
type Encoded struct {
	ID              ID       `json:"id"`
	StoredBytes     int64    `json:"stored_bytes"`
	Checksum        Checksum `json:"checksum,omitzero"` // of the file; of Before only where the caller set it
	Chunks          int      `json:"chunks"`
	DictionaryBytes int64    `json:"dictionary_bytes"` // every copy
	OtherBytes      int64    `json:"other_bytes"`      // header, front records without dictionaries, frames, directory, footer
	Policy          string   `json:"policy"`
	Encoder         string   `json:"encoder"`
}

// ColumnReport is what happened to one column.
type ColumnReport struct {
	Column       string        `json:"column"`
	RawBytes     uint64        `json:"raw_bytes"`
	StoredBefore uint64        `json:"stored_bytes_before"`
	StoredAfter  uint64        `json:"stored_bytes_after"`
	CodecBefore  string        `json:"codec_before"` // several blocks' joined by commas
	CodecAfter   string        `json:"codec_after"`
	LevelBefore  string        `json:"encoder_level_before"` // what the encoder calls its level
	LevelAfter   string        `json:"encoder_level_after"`
	Blocks       uint64        `json:"blocks"`
	KeptRaw      uint64        `json:"kept_raw"`                // of those raw because they would not shrink
	Copied       uint64        `json:"copied"`                  // of those taken over as they were
	EncodedBytes uint64        `json:"encoded_bytes"`           // before compression, of the blocks that were not copied
	DictBefore   int64         `json:"dictionary_bytes_before"` // one copy
	DictAfter    int64         `json:"dictionary_bytes_after"`
	EncodeNS     time.Duration `json:"encode_cpu_ns"`
	DecodeNS     time.Duration `json:"decode_cpu_ns"`        // of the new blocks, to compare
	SourceNS     time.Duration `json:"source_decode_cpu_ns"` // of the old blocks
	TrainNS      time.Duration `json:"train_cpu_ns"`
}

// DictionaryReport says why a block of a column has the dictionary it has, or none.
type DictionaryReport struct {
	Column  string        `json:"column"`
	Block   int           `json:"block"`
	Bytes   int           `json:"dictionary_bytes"` // 0 for none
	Kind    string        `json:"kind,omitempty"`
	Reason  string        `json:"reason"`
	Trials  []dict.Trial  `json:"trials,omitempty"`
	TrainNS time.Duration `json:"train_cpu_ns"`
}

func newReport(src *Reader) *Report {
	i := src.Info()
	rep := &Report{Table: i.Table, FirstRow: i.FirstRow, Rows: i.Rows, RawBytes: i.RawBytes, ContentRoot: i.ContentRoot}
	rep.Before = encoded(src.dir, i)
	return rep
}

func encoded(d *directory, i Info) Encoded {
	e := Encoded{
		ID: i.ID, StoredBytes: i.StoredBytes, Checksum: i.Checksum, Chunks: i.Chunks,
		DictionaryBytes: d.dictionaryBytes(), Policy: i.Policy, Encoder: i.Encoder,
	}
	e.OtherBytes = i.StoredBytes - e.DictionaryBytes
	if d.copied {
		e.DictionaryBytes *= 2 // the directory's copy, before the directory is compressed
		e.OtherBytes = i.StoredBytes - e.DictionaryBytes
	}
	for _, c := range d.columns {
		for _, b := range c.Blocks {
			e.OtherBytes -= int64(b.StoredBytes)
		}
	}
	return e
}

func (rep *Report) finish(src *Reader, a *assembler, info Info) {
	rep.After = encoded(&a.dir, info)
	rep.WriteNS = a.writing
	for i, after := range a.dir.columns {
		before := src.dir.columns[i]
		c := ColumnReport{Column: after.Column, RawBytes: after.RawBytes}
		c.CodecBefore, c.LevelBefore = specs(src.dir.layout.Columns[i])
		c.CodecAfter, c.LevelAfter = specs(a.dir.layout.Columns[i])
		c.DictBefore = dictBytes(src.dir, i)
		c.DictAfter = dictBytes(&a.dir, i)
		for _, b := range before.Blocks {
			c.StoredBefore += b.StoredBytes
		}
		cc := &a.coder.columns[i]
		for _, t := range a.tally[cc.base : cc.base+len(cc.blocks)] {
			c.StoredAfter += uint64(t.stored)
			c.Blocks += uint64(t.blocks)
			c.KeptRaw += uint64(t.kept)
			c.Copied += uint64(t.copied)
			c.EncodedBytes += uint64(t.encoded)
			c.EncodeNS += t.encode
			c.DecodeNS += t.decode
			c.SourceNS += t.source
		}
		if rep.sourceDecode != nil {
			c.SourceNS = rep.sourceDecode[i]
		}
		for _, d := range rep.Dictionaries {
			if d.Column == c.Column {
				c.TrainNS += d.TrainNS
			}
		}
		if c.DictBefore > 0 && c.DictAfter == 0 && !rep.trained {
			rep.Notes = append(rep.Notes, fmt.Sprintf("column %q: %s takes no dictionary: %d bytes of dictionary dropped", c.Column, c.CodecAfter, c.DictBefore))
		}
		rep.Columns = append(rep.Columns, c)
	}
}

// specs returns the codecs and the effective levels of a column's blocks, each once.
func specs(c ColumnLayout) (codecs, levels string) {
	var a, b []string
	add := func(list []string, s string) []string {
		if len(list) > 0 && list[len(list)-1] == s {
			return list
		}
		return append(list, s)
	}
	for _, bl := range c.Blocks {
		a, b = add(a, bl.Spec.String()), add(b, level(bl.Spec))
	}
	return strings.Join(a, ","), strings.Join(b, ",")
}

func level(s codec.Spec) string {
	if l := s.Encoder(); l != "" {
		return l
	}
	return s.ID.String()
}

func dictBytes(d *directory, column int) (n int64) {
	for _, b := range d.layout.Columns[column].Blocks {
		if b.Dictionary >= 0 {
			n += int64(len(d.dictionaries[b.Dictionary].Bytes()))
		}
	}
	return n
}

// trials returns the byte counts by which dictionaries were chosen, a line each.
func (rep *Report) trials() string {
	var b strings.Builder
	for _, d := range rep.Dictionaries {
		fmt.Fprintf(&b, "column:%s block %d: %s\n", d.Column, d.Block, d.Reason)
		for _, t := range d.Trials {
			fmt.Fprintf(&b, "\t%s of %d bytes: %d held-out bytes stored as %d, without it %d", t.Kind, t.DictBytes, t.SampleBytes, t.With, t.Without)
			if t.Error != "" {
				fmt.Fprintf(&b, "; %s", t.Error)
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}
