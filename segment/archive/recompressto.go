package archive

import (
	"context"
	"errors"
	"io"
)

// RecompressTo writes a recompressed copy of the archive that will be dir, and
// leaves this one as it is. As Create and Finish do, it refuses a dir that exists,
// and leaves none behind after an error. Segments of tables that are not asked for,
// and those that have the policy already, are copied.
func (a *Archive) RecompressTo(ctx context.Context, dir string, o RecompressOptions, progress func(Progress)) (rep *Report, err error) {
	o = o.withDefaults(a)
	if err := o.validate(); err != nil {
		return nil, err
	}
	if o.DryRun {
		return nil, errors.New("archive: a dry run writes nothing: it has no directory")
	}
	ctx, end, err := a.begin(ctx, false)
	if err != nil {
		return nil, err
	}
	defer end()
	asked, err := a.state.Load().pick(o.Tables)
	if err != nil {
		return nil, err
	}
	s, err := stage(a.fs, dir, a.log, o.Encodings)
	if err != nil {
		return nil, err
	}
	defer func() {
		if aerr := s.abort(); err != nil { // after a finish it does nothing
			err = errors.Join(err, aerr)
		}
	}()
	st := a.state.Load()
	s.m.chainID = st.m.chainID
	number := map[string]int{}
	for _, t := range st.m.tables {
		t.segments = nil
		if number[t.name], err = s.addTable(t); err != nil {
			return nil, err
		}
	}
	recode := map[string]bool{}
	for _, t := range asked {
		recode[t.name] = true
	}
	o.Tables = nil
	rep, err = a.each(ctx, o, progress, func(ctx context.Context, j *job) (*SegmentReport, error) {
		return a.recompressInto(ctx, s, number[j.s.Table], j, recode[j.s.Table])
	}, nil)
	if err != nil {
		return nil, err
	}
	_, err = s.finish()
	return rep, err
}

// recompressInto writes one segment into a new archive, recompressed or copied.
func (a *Archive) recompressInto(ctx context.Context, s *staging, table int, j *job, recode bool) (*SegmentReport, error) {
	if err := j.checkSpace(s.fs, s.tmp); err != nil {
		return nil, err
	}
	d, err := s.draft(j.s.Table)
	if err != nil {
		return nil, err
	}
	var sr *SegmentReport
	info, replaced := j.r.Info(), j.s.Replaced
	if !recode || j.o.Settled(j.r) {
		sr = skipped(j)
		info.Checksum = j.s.Checksum // held against the copy's
		err = j.copy(ctx, d)
	} else {
		sr, info, err = j.write(ctx, d)
	}
	if err != nil {
		return nil, errors.Join(err, d.discard())
	}
	if info.Checksum != j.s.Checksum {
		replaced = j.s.succeed(info).Replaced
		sr.Replaced = j.s.File
	}
	j.progress(StageVerify, j.s.Rows)
	sr.File = describe(info).File
	return sr, s.add(ctx, table, d, info, replaced)
}

// copy copies the bytes of the segment's file.
func (j *job) copy(ctx context.Context, w io.Writer) error {
	buf := make([]byte, min(j.s.StoredBytes, hashBuffer))
	for off := int64(0); off < j.s.StoredBytes; {
		if err := ctx.Err(); err != nil {
			return err
		}
		b := buf[:min(j.s.StoredBytes-off, int64(len(buf)))]
		if n, err := j.f.ReadAt(b, off); n < len(b) {
			return ioError("reading", j.s.File, errors.Join(err, io.ErrUnexpectedEOF))
		}
		off += int64(len(b))
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	return nil
}
