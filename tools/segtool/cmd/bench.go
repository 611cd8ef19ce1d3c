package cmd

import (
	"runtime"
	"time"

	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/segment/archive"
)

// bench prints a report as lines that benchstat reads: one a column and run. An op
// is the column's work in all segments: its old blocks decoded, the new ones encoded
// and decoded again. MB/s is of raw bytes. Columns and tables that are too small to
// time are left out.
func (a *app) bench(rep *archive.Report) error {
	a.printf("goos: %s\ngoarch: %s\npkg: github.com/segstore/segstore/tools/segtool\nencoder: %s\n", runtime.GOOS, runtime.GOARCH, rep.Encoder)
	for _, t := range rep.Tables {
		for run := range max(rep.Runs, 1) {
			total := benchLine{}
			for _, c := range t.Columns {
				var l benchLine
				for _, s := range rep.Segments {
					if s.Table == t.Table && !s.Skipped {
						l.add(runOf(&s, run), c.Column)
					}
				}
				total.sum(l)
				if l.raw >= timedColumn {
					a.benchLine(t.Table, c.Column, l)
				}
			}
			if total.raw >= detailedTable {
				a.benchLine(t.Table, "", total)
			}
		}
	}
	return a.stdout.err
}

type benchLine struct {
	raw, stored, encoded   uint64
	encode, decode, source time.Duration
}

func (l *benchLine) add(r *segment.Report, column string) {
	for _, c := range r.Columns {
		if c.Column == column {
			l.sum(benchLine{c.RawBytes, c.StoredAfter, c.EncodedBytes, c.EncodeNS, c.DecodeNS, c.SourceNS})
		}
	}
}

func (l *benchLine) sum(o benchLine) {
	l.raw += o.raw
	l.stored += o.stored
	l.encoded += o.encoded
	l.encode += o.encode
	l.decode += o.decode
	l.source += o.source
}

// benchLine prints a line; one where nothing was done is left out.
func (a *app) benchLine(table, column string, l benchLine) {
	op := l.encode + l.decode + l.source
	if op <= 0 {
		return
	}
	name := "BenchmarkRecompress/table=" + table
	if column != "" {
		name += "/column=" + column
	}
	a.printf("%s \t1\t%d ns/op", name, op.Nanoseconds())
	speed := func(what string, d time.Duration) {
		if d > 0 {
			a.printf("\t%.2f %sMB/s", float64(l.raw)/1e6/d.Seconds(), what)
		}
	}
	speed("", op)
	speed("encode-", l.encode)
	speed("decode-", l.decode)
	a.printf("\t%d raw-B\t%d stored-B\n", l.raw, l.stored)
}

// runOf returns the report of one run of a segment.
func runOf(s *archive.SegmentReport, run int) *segment.Report {
	if run < len(s.Runs) {
		return &s.Runs[run]
	}
	return &s.Report
}
