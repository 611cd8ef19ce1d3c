package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/segstore/segstore/segment"
)

// RecompressOptions says what changes, and where. Zero fields change nothing.
type RecompressOptions struct {
	// RecompressOptions are those of each segment. Its Progress is not called.
	segment.RecompressOptions

	// Tables are the tables whose segments are recompressed. Default all.
	Tables []string

	// Runs is how often each segment is recompressed: times are reported as mean,
	// median, least and most; the last run's result is kept. Default 1.
	Runs int

	// DryRun recompresses samples, writes nothing, and reports an estimate: of the
	// times too, as often as Runs says.
	DryRun bool

	// SampleBytes is how many stored bytes of a segment a dry run recompresses.
	// Default 8 MiB.
	SampleBytes int64
}

const maxRuns = 1000

func (o RecompressOptions) withDefaults(a *Archive) RecompressOptions {
	o.Runs = max(o.Runs, 1)
	if o.Encodings == nil && a != nil {
		o.Encodings = a.o.Encodings
	}
	return o
}

func (o RecompressOptions) validate() error {
	if o.Runs > maxRuns {
		return fmt.Errorf("archive: Runs %d not in 1..%d", o.Runs, maxRuns)
	}
	return nil
}

// Recompress replaces the segments, one after another, each atomically: the new
// file is written beside the old one, read back and compared, given its name, and
// named by the manifest before the old one goes. Rows and content roots stay; a
// segment on which anything is wrong stays as it is, and ends the work with an
// error. What was replaced until then stays replaced, so that a second call takes
// up where this one ended: segments that have the policy already are skipped. With
// such an error comes the report of what was done, with at least one segment, or
// nil where nothing was.
//
// Small segments are named together, by one manifest for new files of 16 times its
// size, but none later than with the first one that is done ten seconds after it: a
// crash in between leaves the old ones, and costs the work on the new ones. Both are on
// the disk until then.
//
// Readers go on undisturbed: an old file is removed when its last user in this
// process has left. The policies of the tables, which are for rows to come, stay.
//
// Before each segment the free space is checked: ErrNoSpace. progress, if not
// nil, is called now and then, from one goroutine. A dry run works on a read-only
// archive too.
func (a *Archive) Recompress(ctx context.Context, o RecompressOptions, progress func(Progress)) (*Report, error) {
	o = o.withDefaults(a)
	if err := o.validate(); err != nil {
		return nil, err
	}
	ctx, end, err := a.begin(ctx, !o.DryRun)
	if err != nil {
		return nil, err
	}
	defer end()
	if o.DryRun {
		return a.each(ctx, o, progress, estimate, nil)
	}
	done, err := a.turn(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	b := &batch{a: a}
	return a.each(ctx, o, progress, b.recompress, b)
}

// job is one segment on its way through a recompression.
type job struct {
	o        RecompressOptions
	s        SegmentInfo
	r        *segment.Reader
	f        io.ReaderAt // the file that r reads
	progress func(stage Stage, rows uint64)
}

// each calls work for every segment of the tables, and sums up what it reports. At
// the end, whatever it is, it flushes b, if that is not nil.
func (a *Archive) each(ctx context.Context, o RecompressOptions, progress func(Progress), work func(context.Context, *job) (*SegmentReport, error), b *batch) (*Report, error) {
	began := time.Now()
	picked, err := a.state.Load().pick(o.Tables)
	if err != nil {
		return nil, err
	}
	var p Progress
	for _, t := range picked {
		p.Segments += len(t.segments)
		p.TotalRawBytes += t.info().RawBytes
	}
	rep := newReport(o)
	end := func(err error) (*Report, error) {
		if b != nil {
			err = errors.Join(err, b.flush())
			rep.drop(b.lost)
		}
		if err != nil && !rep.cut() {
			return nil, err
		}
		rep.finish()
		rep.WallNS = time.Since(began)
		return rep, err
	}
	for _, t := range picked {
		rep.table(t.name)
		for _, s := range t.segments {
			if ctx.Err() != nil {
				return end(context.Cause(ctx))
			}
			sr, err := a.one(ctx, o, s, p, progress, work)
			if a.saw(t.name, err) != nil {
				if ctx.Err() != nil {
					err = errors.Join(err, context.Cause(ctx))
				}
				return end(inSegment(s.File, err))
			}
			rep.add(*sr)
			p.Segment++
			p.RawBytes += s.RawBytes
		}
	}
	return end(nil)
}

// inSegment says which segment an error is of, unless it does.
func inSegment(file string, err error) error {
	if strings.Contains(err.Error(), file) {
		return err
	}
	return fmt.Errorf("%s: %w", file, err)
}

func (a *Archive) one(ctx context.Context, o RecompressOptions, s SegmentInfo, p Progress, progress func(Progress), work func(context.Context, *job) (*SegmentReport, error)) (*SegmentReport, error) {
	h, err := a.acquire(s.Table, s.FirstRow)
	if err != nil {
		return nil, err
	}
	defer a.files.release(h)
	p.Table, p.File, p.SegmentRows = s.Table, s.File, s.Rows
	base := p.RawBytes
	j := &job{o: o, s: h.info, r: h.r, f: h.f, progress: func(stage Stage, rows uint64) {
		if progress == nil {
			return
		}
		p.Stage, p.Rows = stage, rows
		p.RawBytes = base + uint64(float64(s.RawBytes)*float64(rows)/float64(s.Rows))
		progress(p)
	}}
	sr, err := work(ctx, j)
	if err == nil && sr.Skipped {
		j.progress(StageEncode, j.s.Rows)
	}
	return sr, err
}

// recompress replaces one segment.
func (b *batch) recompress(ctx context.Context, j *job) (*SegmentReport, error) {
	if j.o.Settled(j.r) {
		return skipped(j), nil
	}
	began := time.Now()
	sr, d, info, err := b.write(ctx, j)
	r := replacement{old: j.s, took: time.Since(began)}
	if err != nil {
		b.a.recompressed(r, err)
		return nil, err
	}
	r.next = j.s.succeed(info)
	if r.next.File == j.s.File {
		return skipped(j), d.discard() // the same bytes came out
	}
	if err := b.add(d, r); err != nil {
		return nil, err
	}
	sr.File, sr.Replaced = r.next.File, j.s.File
	return sr, nil
}

// write writes the new file of a segment, and reads it back.
func (b *batch) write(ctx context.Context, j *job) (_ *SegmentReport, _ *draft, info segment.Info, err error) {
	a := b.a
	dir := a.fs.PathDir(a.Path(j.s))
	err = j.checkSpace(a.fs, dir)
	if errors.Is(err, ErrNoSpace) && len(b.wait) > 0 { // there is more when old files go
		if err = b.flush(); err == nil {
			err = j.checkSpace(a.fs, dir)
		}
	}
	if err != nil {
		return nil, nil, info, err
	}
	d, err := newDraft(a.fs, a.fs.PathJoin(dir, fmt.Sprintf("%010d.%d%s", j.s.FirstRow, a.drafts.Add(1), tmpSuffix)), a.Path(j.s))
	if err != nil {
		return nil, nil, info, err
	}
	sr, info, err := j.write(ctx, d)
	if err == nil {
		err = d.close()
	}
	if err == nil {
		j.progress(StageVerify, j.s.Rows)
		err = checkWritten(ctx, a.fs, d.path, info, j.o.Encodings)
	}
	if err != nil {
		return nil, nil, info, errors.Join(err, d.discard())
	}
	return sr, d, info, nil
}

// succeed returns what the manifest says of the segment that takes the place of s.
func (s SegmentInfo) succeed(info segment.Info) SegmentInfo {
	next := describe(info)
	for _, r := range s.Replaced {
		if r.Checksum != s.Checksum {
			next.Replaced = append(next.Replaced, r)
		}
	}
	next.Replaced = append(next.Replaced, Replaced{s.Checksum, s.StoredBytes})
	next.Replaced = next.Replaced[max(0, len(next.Replaced)-MaxReplaced):]
	return next
}

// write recompresses into w, as often as it should be, the last time for good.
func (j *job) write(ctx context.Context, w io.Writer) (*SegmentReport, segment.Info, error) {
	sr := &SegmentReport{File: j.s.File}
	o := j.o.RecompressOptions
	for run := range j.o.Runs {
		o.Progress = func(rows uint64) {
			j.progress(StageEncode, (uint64(run)*j.s.Rows+rows)/uint64(j.o.Runs))
		}
		to := io.Discard
		if run == j.o.Runs-1 {
			to = w
		}
		rep, err := segment.Recompress(ctx, to, j.r, o)
		if err != nil {
			return nil, segment.Info{}, err
		}
		if rep.ContentRoot != j.s.ContentRoot || rep.FirstRow != j.s.FirstRow || rep.Rows != j.s.Rows {
			return nil, segment.Info{}, fmt.Errorf("archive: recompressed to %d rows from %d with content root %s, not %d from %d with %s", rep.Rows, rep.FirstRow, rep.ContentRoot, j.s.Rows, j.s.FirstRow, j.s.ContentRoot)
		}
		rep.Before.Checksum = j.s.Checksum
		sr.Report = *rep
		if j.o.Runs > 1 {
			sr.Runs = append(sr.Runs, *rep)
		}
	}
	return sr, written(&sr.Report, j.r.Schema()), nil
}
