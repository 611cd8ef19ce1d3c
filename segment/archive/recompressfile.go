package archive

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/segstore/segstore/segment"
)

// RecompressFile recompresses a lone segment file in place, or, where out is not
// empty, into a new file. What is written is read back and compared before it
// gets its name. ErrInArchive for a file in place that an archive's manifest
// names. The report is of one segment.
//
// In place, the new file gets the permissions of the old one, and where path is a
// link, the file to which it leads is replaced, not the link. A new file is never
// put in the place of another: ErrExists where out is there, as whatever it may be,
// also if another process has made it meanwhile; on file systems without hard links
// that is not seen if it is made in the same instant.
//
// A process that is killed leaves a temporary file beside the one it was to write.
// The next that writes the same one removes it, where the system says that nobody
// is at work on it: not on Windows.
func RecompressFile(ctx context.Context, fs vfs.FS, path, out string, o RecompressOptions, progress func(Progress)) (*Report, error) {
	began := time.Now()
	o = o.withDefaults(nil)
	if err := o.validate(); err != nil {
		return nil, err
	}
	if err := target(fs, path, out); err != nil && !o.DryRun {
		return nil, err
	}
	real, err := resolve(fs, path) // once: the link may lead elsewhere when all is done
	if err != nil {
		return nil, err
	}
	f, err := OpenFile(fs, real, segment.ReaderOptions{Name: path, Encodings: o.Encodings})
	if err != nil {
		return nil, err
	}
	j, err := fileJob(ctx, f, o, progress)
	var sr *SegmentReport
	var d *draft
	if err == nil {
		j.s.File = path
		sr, d, err = j.file(ctx, fs, real, out)
	}
	// The file is closed before one is renamed to its name: Windows wants that.
	if err = errors.Join(err, f.Close()); err != nil {
		if d != nil {
			err = errors.Join(err, d.discard())
		}
		return nil, err
	}
	if d != nil {
		if err := place(d, real, out); err != nil {
			return nil, err
		}
	}
	rep := newReport(o)
	rep.table(sr.Table)
	rep.add(*sr)
	rep.finish()
	rep.WallNS = time.Since(began)
	return rep, nil
}

// target checks where the result should go.
func target(fs vfs.FS, path, out string) error {
	if out != "" {
		return notThere(fs, out)
	}
	_, s, err := owner(fs, path)
	if err == nil && s != nil {
		err = fmt.Errorf("%w: %s: recompress the archive", ErrInArchive, path)
	}
	return err
}

// fileJob describes the segment in a file.
func fileJob(ctx context.Context, f *File, o RecompressOptions, progress func(Progress)) (*job, error) {
	info := f.Info()
	var err error
	if info.Checksum, err = hashFile(ctx, f.f, f.size, f.path, nil); err != nil {
		return nil, err
	}
	s := describe(info)
	s.File = f.path
	p := Progress{Table: s.Table, File: s.File, Segments: 1, SegmentRows: s.Rows, TotalRawBytes: s.RawBytes}
	return &job{o: o, s: s, r: f.Reader, f: f.f, progress: func(stage Stage, rows uint64) {
		if progress == nil {
			return
		}
		p.Stage, p.Rows = stage, rows
		p.RawBytes = uint64(float64(s.RawBytes) * float64(rows) / float64(s.Rows))
		progress(p)
	}}, nil
}

// file recompresses into a draft, which is verified; nil where nothing is to be
// written.
func (j *job) file(ctx context.Context, fs vfs.FS, path, out string) (*SegmentReport, *draft, error) {
	if j.o.DryRun {
		sr, err := estimate(ctx, j)
		return sr, nil, err
	}
	to, like := out, ""
	if out == "" {
		if to, like = path, path; j.o.Settled(j.r) {
			return skipped(j), nil, nil
		}
	}
	if err := j.checkSpace(fs, fs.PathDir(to)); err != nil {
		return nil, nil, err
	}
	d, err := newDraftBeside(fs, to, like)
	if err != nil {
		return nil, nil, err
	}
	sr, info, err := j.write(ctx, d)
	if err == nil {
		err = d.close()
	}
	if err == nil {
		j.progress(StageVerify, j.s.Rows)
		err = checkWritten(ctx, fs, d.path, info, j.o.Encodings)
	}
	if err == nil && out == "" && info.Checksum == j.s.Checksum {
		return skipped(j), nil, d.discard() // the same bytes came out
	}
	if err != nil {
		return nil, d, err
	}
	if out != "" {
		sr.File = out
	}
	return sr, d, nil
}

// place gives the draft its name.
func place(d *draft, path, out string) error {
	if out != "" {
		return d.link(out)
	}
	err := d.rename(path) // the old file, or the new one
	if err != nil {
		_ = d.fs.Remove(d.path) // not there, if it was renamed
		err = errors.Join(err, d.release())
	}
	return err
}
