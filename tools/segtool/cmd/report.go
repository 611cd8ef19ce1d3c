package cmd

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/segstore/segstore/segment/archive"
)

// Tables below the first and columns below the second number of raw bytes are left
// out of what they would tell nothing in.
const (
	detailedTable = 16 << 10
	timedColumn   = 64 << 10
)

// report prints what recompressing changed.
func (a *app) report(rep *archive.Report) {
	for i := range rep.Tables {
		t := &rep.Tables[i]
		a.printf("%s: %s in %s", t.Table, plural(t.Rows, "row"), plural(t.Segments, "segment"))
		switch {
		case t.Segments == 0:
			a.printf("\n\n")
			continue
		case t.Skipped == t.Segments:
			a.printf(", stored in this way already: %s\n\n", exact(t.StoredAfter))
			continue
		case t.Skipped > 0:
			a.printf(", %s of them stored in this way already", count(t.Skipped))
		}
		if t.RawBytes < detailedTable {
			a.printf(", %s B raw, stored %s → %s B: a small table, --json has the details\n\n", count(t.RawBytes), count(t.StoredBefore), count(t.StoredAfter))
			continue
		}
		a.printf("\n")
		a.sizes(t)
		a.codecs(t)
		a.times(t, rep.Runs)
		a.printf("\n")
	}
	a.segmentSums(rep)
	a.total(rep)
}

// sizes prints a line a column: raw, stored before and after.
func (a *app) sizes(t *archive.TableReport) {
	g := newGrid("size in bytes", ">raw", ">stored", ">now", ">Δ", ">Δ %", ">of raw")
	add := func(name string, raw uint64, before, after int64) {
		rawText := ""
		if raw > 0 {
			rawText = count(raw)
		}
		g.add(name, rawText, count(before), count(after), signed(after-before), change(before, after), percent(float64(after), float64(raw)))
	}
	for _, c := range t.Columns {
		if c.RawBytes > 0 {
			add(c.Column, c.RawBytes, int64(c.StoredBefore), int64(c.StoredAfter))
		}
	}
	if t.DictBefore+t.DictAfter > 0 {
		add("(dictionaries)", 0, t.DictBefore, t.DictAfter)
	}
	add("(everything else)", 0, t.OtherBefore, t.OtherAfter)
	g.rule()
	add(t.Table, t.RawBytes, t.StoredBefore, t.StoredAfter)
	g.print(a, "  ")
}

// codecs prints a line a column: how it is written.
func (a *app) codecs(t *archive.TableReport) {
	a.printf("\n")
	g := newGrid("codec", "", ">blocks", ">kept raw", ">copied", ">dictionary")
	for _, c := range t.Columns {
		if c.Blocks == 0 {
			g.add(c.Column, "nothing but empty values or zeros")
			continue
		}
		before, after := spec(c.CodecBefore, c.LevelBefore), spec(c.CodecAfter, c.LevelAfter)
		how := before + " → " + after
		if before == after {
			how = after + ", as before"
		}
		d := ""
		if c.DictAfter > 0 {
			d = size(c.DictAfter)
		}
		g.add(c.Column, how, count(c.Blocks), none(c.KeptRaw), none(c.Copied), d)
	}
	g.print(a, "  ")
}

// times prints a line a column: time in the codec, with the speed; with several runs a line each for encoding, decoding and training.
func (a *app) times(t *archive.TableReport, runs int) {
	if runs > 1 {
		a.spreads(t, runs)
		return
	}
	g := newGrid("time in the codec", ">encode", ">", ">decode", ">", ">old decode", ">", ">training")
	add := func(name string, encode, decode, source, train archive.Spread, bytes uint64) {
		g.add(name,
			spent(encode.Mean), rate(bytes, encode.Mean), spent(decode.Mean), rate(bytes, decode.Mean),
			spent(source.Mean), rate(bytes, source.Mean), spent(train.Mean))
	}
	for _, c := range t.Columns {
		if c.EncodedBytes >= timedColumn || c.Train.Mean > 0 {
			add(c.Column, c.Encode, c.Decode, c.Source, c.Train, c.EncodedBytes)
		}
	}
	if len(g.rows) > 1 {
		g.rule()
		add(t.Table, t.Encode, t.Decode, t.Source, t.Train, t.EncodedBytes)
	}
	if len(g.rows) > 0 {
		a.printf("\n")
		g.print(a, "  ")
	}
}

// spreads prints the times of several runs.
func (a *app) spreads(t *archive.TableReport, runs int) {
	g := newGrid(fmt.Sprintf("time of %d runs", runs), "", ">mean", ">median", ">least", ">most", ">at median")
	timed := 0
	for _, c := range t.Columns {
		if c.EncodedBytes < timedColumn && c.Train.Max == 0 {
			continue
		}
		timed++
		g.spread(c.Column, "encode", c.Encode, c.EncodedBytes)
		g.spread(c.Column, "decode", c.Decode, c.EncodedBytes)
		g.spread(c.Column, "old decode", c.Source, c.EncodedBytes)
		g.spread(c.Column, "training", c.Train, 0)
	}
	if timed > 0 {
		g.rule()
	}
	g.spreadAll(t.Table, &t.Totals, timed != 1)
	a.printf("\n")
	g.print(a, "  ")
}

// spread adds a line of a time over several runs.
func (g *grid) spread(name, what string, s archive.Spread, bytes uint64) {
	if s.Max > 0 {
		g.add(name, what, seconds(s.Mean), seconds(s.Median), seconds(s.Min), seconds(s.Max), rate(bytes, s.Median))
	}
}

// spreadAll adds lines of sums; without those of the codec, where one column's say
// the same, if not codec.
func (g *grid) spreadAll(name string, t *archive.Totals, codec bool) {
	if codec {
		g.spread(name, "encode", t.Encode, t.EncodedBytes)
		g.spread(name, "decode", t.Decode, t.EncodedBytes)
		g.spread(name, "old decode", t.Source, t.EncodedBytes)
		g.spread(name, "training", t.Train, 0)
	}
	g.spread(name, "clock", t.Wall, t.RawBytes)
}

// segmentSums prints checksum and content root of each segment, and what else is to
// be said of it.
func (a *app) segmentSums(rep *archive.Report) {
	if len(rep.Segments) == 0 {
		return
	}
	a.printf("checksum of each file, and content root of its rows\n")
	for i := range rep.Segments {
		s := &rep.Segments[i]
		a.printf("  %s %d-%d: ", s.Table, s.FirstRow, s.FirstRow+s.Rows-1)
		switch {
		case rep.Estimated:
			a.printf("%s stays\n", known(s.Before.Checksum.String(), s.Before.Checksum != 0))
		case s.Skipped:
			a.printf("%s, as before\n", s.After.Checksum)
		default:
			a.printf("%s → %s\n", known(s.Before.Checksum.String(), s.Before.Checksum != 0), s.After.Checksum)
		}
		if rep.Estimated || s.Skipped {
			a.printf("    %s\n", s.ContentRoot)
		} else {
			a.printf("    %s, equal before and after\n", s.ContentRoot)
		}
		for _, n := range s.Notes {
			a.printf("    note: %s\n", n)
		}
		for _, d := range s.Dictionaries {
			a.printf("    dictionary for %q: %s\n", d.Column, d.Reason)
		}
	}
	a.printf("\n")
}

// total prints what there is to say of all of it.
func (a *app) total(rep *archive.Report) {
	t := &rep.Total
	pairs := []string{
		"rows", count(t.Rows),
		"raw", exact(t.RawBytes),
		"stored", fmt.Sprintf("%s → %s B, %s B, %s", count(t.StoredBefore), count(t.StoredAfter), signed(t.StoredAfter-t.StoredBefore), or(change(t.StoredBefore, t.StoredAfter), "0 %")),
		"of raw", percent(float64(t.StoredBefore), float64(t.RawBytes)) + " → " + percent(float64(t.StoredAfter), float64(t.RawBytes)),
	}
	if rep.Runs > 1 {
		g := newGrid(fmt.Sprintf("time of %d runs", rep.Runs), "", ">mean", ">median", ">least", ">most", ">at median")
		g.spreadAll("all tables", t, true)
		g.print(a, "")
		a.printf("\n")
		pairs = append(pairs, "clock", seconds(rep.WallNS))
	} else {
		pairs = append(pairs,
			"time in the codec", list(clock("encode", t.Encode.Mean, t.EncodedBytes), clock("decode", t.Decode.Mean, t.EncodedBytes), clock("old decode", t.Source.Mean, t.EncodedBytes)),
			"clock", list(clock("all", rep.WallNS, t.RawBytes), clock("training", t.Train.Mean, 0), clock("writing", t.Write.Mean, 0)))
	}
	if p := peakMemory(); p > 0 {
		pairs = append(pairs, "peak memory", size(p))
	}
	pairs = append(pairs, "encoder", rep.Encoder)
	a.fields(pairs...)
	if rep.Estimated {
		a.printf("\nThis is an estimate from samples: nothing was written.\n")
	}
}

// list joins what is not empty.
func list(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ", ")
}

func clock(what string, d time.Duration, bytes uint64) string {
	if d <= 0 {
		return ""
	}
	s := what + " " + seconds(d)
	if r := rate(bytes, d); r != "" {
		s += " (" + r + ")"
	}
	return s
}

// spec shows a codec with the level that its encoder has for it.
func spec(codec, level string) string {
	if level == "" || level == codec {
		return codec
	}
	return codec + " (" + level + ")"
}

// change shows a difference in percent of what was.
func change(before, after int64) string {
	if before == 0 || before == after {
		return ""
	}
	s := percent(float64(after-before), float64(before))
	if after > before && s != "0.0 %" {
		s = "+" + s
	}
	return s
}

func none(n uint64) string {
	if n == 0 {
		return "–"
	}
	return count(n)
}

func spent(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return seconds(d)
}

func known(s string, ok bool) string {
	if !ok {
		return "(not read)"
	}
	return s
}

func plural[T integer](n T, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return count(n) + " " + what + "s"
}
