package archive

import (
	"slices"
	"strings"
	"time"

	"github.com/segstore/segstore/codec"
	"github.com/segstore/segstore/segment"
)

func newReport(o RecompressOptions) *Report {
	return &Report{Runs: o.Runs, Estimated: o.DryRun, Encoder: codec.EncoderVersion(), Segments: []SegmentReport{}, Tables: []TableReport{}}
}

// table begins the sums of a table.
func (r *Report) table(name string) { r.Tables = append(r.Tables, TableReport{Table: name}) }

// add counts a segment of the table begun last.
func (r *Report) add(s SegmentReport) { r.Segments = append(r.Segments, s) }

// drop forgets segments by the files that they would be in.
func (r *Report) drop(files map[string]bool) {
	r.Segments = slices.DeleteFunc(r.Segments, func(s SegmentReport) bool { return files[s.File] })
}

// cut forgets the tables behind that of the last segment: nothing was done of them.
// false where nothing was done at all.
func (r *Report) cut() bool {
	if len(r.Segments) == 0 {
		return false
	}
	last := r.Segments[len(r.Segments)-1].Table
	r.Tables = r.Tables[:1+slices.IndexFunc(r.Tables, func(t TableReport) bool { return t.Table == last })]
	return true
}

// finish computes the sums.
func (r *Report) finish() {
	total := newTally(r.Runs)
	for i := range r.Tables {
		t := &r.Tables[i]
		sum := newTally(r.Runs)
		var columns []*columnTally
		for k := range r.Segments {
			s := &r.Segments[k]
			if s.Table != t.Table {
				continue
			}
			sum.add(s)
			total.add(s)
			for c := range s.Columns {
				if c == len(columns) {
					columns = append(columns, &columnTally{ColumnTotals: ColumnTotals{Column: s.Columns[c].Column}, times: make([]columnTimes, r.Runs)})
				}
				columns[c].add(s, c)
			}
		}
		t.Totals = sum.totals()
		t.Columns = []ColumnTotals{}
		for _, c := range columns {
			t.Columns = append(t.Columns, c.totals())
		}
	}
	r.Total = total.totals()
}

// runs returns the reports of every run of a segment; of a skipped one there is none.
func (s *SegmentReport) runs() []segment.Report {
	switch {
	case s.Skipped:
		return nil
	case len(s.Runs) > 0:
		return s.Runs
	}
	return []segment.Report{s.Report}
}

// times are those of one run, over segments.
type times struct{ encode, decode, source, train, write, wall time.Duration }

type tally struct {
	Totals
	times []times // of each run
}

func newTally(runs int) *tally { return &tally{times: make([]times, runs)} }

func (t *tally) add(s *SegmentReport) {
	t.Segments++
	if s.Skipped {
		t.Skipped++
	}
	t.Rows += s.Rows
	t.RawBytes += s.RawBytes
	t.StoredBefore += s.Before.StoredBytes
	t.StoredAfter += s.After.StoredBytes
	t.DictBefore += s.Before.DictionaryBytes
	t.DictAfter += s.After.DictionaryBytes
	t.OtherBefore += s.Before.OtherBytes
	t.OtherAfter += s.After.OtherBytes
	for i := range s.Columns {
		c := &s.Columns[i]
		t.Blocks += c.Blocks
		t.KeptRaw += c.KeptRaw
		t.Copied += c.Copied
		t.EncodedBytes += c.EncodedBytes
	}
	for i, run := range s.runs() {
		n := &t.times[i]
		n.train += run.TrainNS
		n.write += run.WriteNS
		n.wall += run.WallNS
		for k := range run.Columns {
			n.encode += run.Columns[k].EncodeNS
			n.decode += run.Columns[k].DecodeNS
			n.source += run.Columns[k].SourceNS
		}
	}
}

func (t *tally) totals() Totals {
	t.Encode = spread(t.times, func(v times) time.Duration { return v.encode })
	t.Decode = spread(t.times, func(v times) time.Duration { return v.decode })
	t.Source = spread(t.times, func(v times) time.Duration { return v.source })
	t.Train = spread(t.times, func(v times) time.Duration { return v.train })
	t.Write = spread(t.times, func(v times) time.Duration { return v.write })
	t.Wall = spread(t.times, func(v times) time.Duration { return v.wall })
	return t.Totals
}

type columnTimes struct{ encode, decode, source, train time.Duration }

type columnTally struct {
	ColumnTotals
	times []columnTimes // of each run
}

func (t *columnTally) add(s *SegmentReport, column int) {
	c := &s.Columns[column]
	t.RawBytes += c.RawBytes
	t.StoredBefore += c.StoredBefore
	t.StoredAfter += c.StoredAfter
	t.CodecBefore = also(t.CodecBefore, c.CodecBefore)
	t.CodecAfter = also(t.CodecAfter, c.CodecAfter)
	t.LevelBefore = also(t.LevelBefore, c.LevelBefore)
	t.LevelAfter = also(t.LevelAfter, c.LevelAfter)
	t.Blocks += c.Blocks
	t.KeptRaw += c.KeptRaw
	t.Copied += c.Copied
	t.EncodedBytes += c.EncodedBytes
	t.DictBefore += c.DictBefore
	t.DictAfter += c.DictAfter
	for i, run := range s.runs() {
		n, rc := &t.times[i], &run.Columns[column]
		n.encode += rc.EncodeNS
		n.decode += rc.DecodeNS
		n.source += rc.SourceNS
		n.train += rc.TrainNS
	}
}

func (t *columnTally) totals() ColumnTotals {
	t.Encode = spread(t.times, func(v columnTimes) time.Duration { return v.encode })
	t.Decode = spread(t.times, func(v columnTimes) time.Duration { return v.decode })
	t.Source = spread(t.times, func(v columnTimes) time.Duration { return v.source })
	t.Train = spread(t.times, func(v columnTimes) time.Duration { return v.train })
	return t.ColumnTotals
}

// also adds a text to those joined in list, unless it is there.
func also(list, s string) string {
	if list == "" {
		return s
	}
	if slices.Contains(strings.Split(list, " | "), s) {
		return list
	}
	return list + " | " + s
}

// spread sums up one time of each run.
func spread[T any](runs []T, of func(T) time.Duration) (s Spread) {
	d := make([]time.Duration, len(runs))
	for i, r := range runs {
		d[i] = of(r)
		s.Mean += d[i]
	}
	slices.Sort(d)
	n := len(d)
	s.Mean /= time.Duration(n)
	s.Min, s.Max, s.Median = d[0], d[n-1], (d[(n-1)/2]+d[n/2])/2
	return s
}

// codecsOf returns the codecs of a column's blocks and their effective levels,
// as segment.ColumnReport has them.
func codecsOf(blocks []segment.BlockStats) (codecs, levels string) {
	var a, b []string
	for _, bl := range blocks {
		level := bl.Codec.Encoder()
		if level == "" {
			level = bl.Codec.ID.String()
		}
		a, b = append(a, bl.Codec.String()), append(b, level)
	}
	return strings.Join(slices.Compact(a), ","), strings.Join(slices.Compact(b), ",")
}
