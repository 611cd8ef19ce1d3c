package chain

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
)

// ErrCannotExport is wrapped by the error of an export whose sources do not hold what the format needs.
var ErrCannotExport = errors.New("chain: the source cannot be written in this format")

// ErrNoSource is wrapped by the error of an export of a source that the view does not have.
var ErrNoSource = errors.New("chain: no such source")

// Job says how one source is written.
type Job struct {
	Format string // of the file; where it is the source's own, bytes are compared
	Name   string // wanted name of the file; made safe and unique
	// Write writes the file.
	Write func(ctx context.Context, w io.Writer) (Outcome, error)
}

// Outcome is what the writer of a source knows of how the file compares with it.
type Outcome struct {
	Equal   bool   // the content was compared by the writer's own means and is equal
	Recoded bool   // also with equal bytes the file is not the source: that was compressed, for one
	Reason  string // why the bytes are, or may be, others
}

// ExportSources writes the sources of the view that o selects, in their order, each as plan says. Every source is planned
// before the first is written, so that one that cannot be written is an error before there is any file.
func ExportSources(ctx context.Context, v View, out Output, o ExportOptions, plan func(Source) (Job, error)) (ExportReport, error) {
	sources, err := selectSources(v, o.Sources)
	if err != nil {
		return ExportReport{}, err
	}
	jobs, total := make([]Job, len(sources)), int64(0)
	for i, s := range sources {
		if jobs[i], err = plan(s); err != nil {
			return ExportReport{}, err
		}
		total += int64(min(s.Size, 1<<50))
	}
	meter, names := NewMeter(total, o.Progress), nameSet{}
	report := ExportReport{Files: []Exported{}}
	for i, s := range sources {
		name := names.unique(SafeName(jobs[i].Name))
		e, err := exportOne(ctx, out, s, jobs[i], name, meter)
		if err != nil {
			return report, fmt.Errorf("export of %s: %w", s.Name, err)
		}
		report.Files = append(report.Files, e)
	}
	meter.End()
	return report, nil
}

func selectSources(v View, names []string) ([]Source, error) {
	all, err := Sources(v)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%w: the table %s has no rows", ErrCannotExport, SourcesTable)
	}
	if len(names) == 0 {
		return all, nil
	}
	for _, n := range names {
		if !slices.ContainsFunc(all, func(s Source) bool { return s.Name == n }) {
			return nil, fmt.Errorf("%w: %.300q", ErrNoSource, n)
		}
	}
	return slices.DeleteFunc(all, func(s Source) bool { return !slices.Contains(names, s.Name) }), nil
}

func exportOne(ctx context.Context, out Output, s Source, job Job, name string, meter *Meter) (Exported, error) {
	f, err := out.Create(name)
	if err != nil {
		return Exported{}, err
	}
	h := &hashWriter{ctx: ctx, w: f, sum: sha256.New(), meter: meter}
	bw := bufio.NewWriterSize(h, InputBuffer)
	outcome, err := job.Write(ctx, bw)
	if err == nil {
		err = bw.Flush()
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return Exported{}, errors.Join(err, f.Abort())
	}
	if err := f.Commit(); err != nil {
		return Exported{}, err
	}
	e := Exported{
		File: name, Source: s.Name, Format: job.Format, SourceFormat: s.Format,
		FirstBlock: s.FirstBlock, Blocks: s.Blocks,
		Bytes: h.n, SHA256: Sum(h.sum.Sum(nil)), SourceSHA256: s.SHA256,
	}
	if k, ok := f.(keeper); ok {
		e.Kept = k.kept()
	}
	e.Match, e.Reason = outcome.match(e, s)
	return e, nil
}

func (o Outcome) match(e Exported, s Source) (Match, string) {
	switch {
	case e.Format != s.Format:
		return Converted, o.Reason
	case e.SHA256 == s.SHA256 && e.Bytes == s.Size && !o.Recoded:
		return Identical, ""
	case e.SHA256 == s.SHA256 && e.Bytes == s.Size, o.Equal:
		return EqualContent, o.Reason
	case o.Reason != "":
		return Different, o.Reason
	}
	return Different, fmt.Sprintf("%d bytes with another SHA-256, source %d bytes", e.Bytes, s.Size)
}

// hashWriter hashes and counts what it passes on.
type hashWriter struct {
	ctx   context.Context
	w     io.Writer
	sum   hash.Hash
	n     uint64
	meter *Meter
}

func (h *hashWriter) Write(p []byte) (int, error) {
	if err := h.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := h.w.Write(p)
	h.sum.Write(p[:n])
	h.n += uint64(n)
	h.meter.Add(int64(n))
	return n, err
}
