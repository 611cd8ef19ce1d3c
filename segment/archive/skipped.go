package archive

import (
	"github.com/segstore/segstore/segment"
)

// skipped is the report of a segment that stays as it is.
func skipped(j *job) *SegmentReport {
	i, layout := j.r.Info(), j.r.Layout()
	sr := &SegmentReport{File: j.s.File, Skipped: true}
	sr.Report = segment.Report{Table: i.Table, FirstRow: i.FirstRow, Rows: i.Rows, RawBytes: i.RawBytes, ContentRoot: i.ContentRoot}
	other, dicts := i.StoredBytes, int64(0)
	for k, c := range j.r.Stats() {
		r := segment.ColumnReport{Column: c.Column, RawBytes: c.RawBytes, StoredBefore: c.StoredBytes, StoredAfter: c.StoredBytes}
		r.CodecBefore, r.LevelBefore = codecsOf(c.Blocks)
		r.CodecAfter, r.LevelAfter = r.CodecBefore, r.LevelBefore
		for n, b := range c.Blocks {
			r.Blocks += b.Blocks
			r.KeptRaw += b.KeptRaw
			if d := j.r.Dictionary(layout.Columns[k].Blocks[n].Dictionary); d != nil {
				r.DictBefore += int64(len(d.Bytes()))
			}
		}
		r.Copied, r.DictAfter = r.Blocks, r.DictBefore
		dicts += r.DictBefore
		other -= int64(c.StoredBytes)
		sr.Columns = append(sr.Columns, r)
	}
	sr.Before = segment.Encoded{
		ID: i.ID, StoredBytes: i.StoredBytes, Checksum: j.s.Checksum, Chunks: i.Chunks,
		DictionaryBytes: dicts, OtherBytes: other - dicts, Policy: i.Policy, Encoder: i.Encoder,
	}
	sr.After = sr.Before
	return sr
}
