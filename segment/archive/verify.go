package archive

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"iter"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/segstore/segstore/segment"
)

// VerifyOptions says how an archive is verified. The zero value means defaults.
type VerifyOptions struct {
	Depth    segment.Depth // default segment.Checksums
	Tables   []string      // default all
	Progress func(Progress)
}

// Verify yields every flaw of the archive's segments, in the order of the
// manifest, and then of the rows that are in logs; none means that they are whole, as
// deep as was looked, and the ones that the manifest names. What a log says beside its
// rows was checked when the archive was opened.
//
// A segment that is damaged does not end it, nor does one whose file is missing, is
// something else, such as a directory, or may not be opened: those are flaws too,
// the last with fs.ErrPermission as its cause, for nothing is known of its bytes. Nor
// does a segment that cannot be read: that is a *SegmentError, not damage, and the
// rest is still verified. Any other error, of ctx or of the options, is the last.
//
// Checksums reads every byte once: a file whose checksum is the manifest's holds
// the bytes that were verified when it was written. Where it is not, the file's
// own checksums say which part is damaged. Content decodes everything besides.
func (a *Archive) Verify(ctx context.Context, o VerifyOptions) iter.Seq2[segment.Flaw, error] {
	return func(yield func(segment.Flaw, error) bool) {
		st, err := a.pin()
		if err != nil {
			yield(segment.Flaw{}, err)
			return
		}
		defer a.unpin(st)
		picked, err := st.pick(o.Tables)
		if err != nil {
			yield(segment.Flaw{}, err)
			return
		}
		v := &verifier{a: a, o: o, yield: yield}
		for _, t := range picked {
			v.p.Segments += len(t.tableEntry.segments)
			v.p.TotalRawBytes += t.info().RawBytes
		}
		for _, t := range picked {
			for _, s := range t.tableEntry.segments {
				err := v.segment(ctx, s)
				if v.stopped {
					return
				}
				if ctx.Err() != nil {
					yield(segment.Flaw{}, ctx.Err())
					return
				}
				if err != nil && !yield(segment.Flaw{}, &SegmentError{Segment: s, Err: err}) {
					return
				}
				v.p.Segment++
				v.done += s.RawBytes
			}
		}
		for _, t := range picked {
			err := v.frames(ctx, t)
			if v.stopped {
				return
			}
			if err != nil {
				yield(segment.Flaw{}, err)
				return
			}
		}
	}
}

// frames verifies the rows of a table that are in logs. The error is none of damage.
func (v *verifier) frames(ctx context.Context, t *tableState) error {
	if v.o.Depth == segment.Structure {
		return nil
	}
	v.table = t.name
	var s frameScratch
	all := columnNumbers(len(t.schema.Columns))
	for i := range t.frames {
		if err := ctx.Err(); err != nil {
			return err
		}
		f := &t.frames[i]
		err := f.verify(t.name, &s)
		if err == nil && v.o.Depth == segment.Content {
			err = f.read(t.name, &s, all)
		}
		var flaw *segment.CorruptionError
		switch {
		case errors.As(err, &flaw):
			if !v.flaw(*flaw) {
				return nil
			}
		case err != nil:
			return err
		}
	}
	return nil
}

type verifier struct {
	a       *Archive
	o       VerifyOptions
	yield   func(segment.Flaw, error) bool
	stopped bool

	p     Progress // of the job
	table string   // that is verified
	done  uint64   // raw bytes of the segments before
}

func (v *verifier) flaw(f segment.Flaw) bool {
	if !v.stopped {
		_ = v.a.saw(v.table, &f) // told here and yielded
		v.stopped = !v.yield(f, nil)
	}
	return !v.stopped
}

// progress tells how many of a segment's bytes are done, by the share of its rows.
func (v *verifier) progress(s SegmentInfo, share float64) {
	if v.o.Progress == nil {
		return
	}
	p := v.p
	p.Stage, p.Table, p.File, p.SegmentRows = StageVerify, s.Table, s.File, s.Rows
	p.Rows = uint64(float64(s.Rows) * share)
	p.RawBytes = v.done + uint64(float64(s.RawBytes)*share)
	v.o.Progress(p)
}

// segment verifies one segment. The error is none of damage.
func (v *verifier) segment(ctx context.Context, s SegmentInfo) error {
	v.table = s.Table
	f, size, now, err := v.open(s)
	var flaw *segment.CorruptionError
	if errors.As(err, &flaw) {
		v.flaw(*flaw)
		return nil
	}
	if err != nil {
		return err
	}
	err = v.file(ctx, f, size, now)
	return errors.Join(err, ioError("closing", now.File, f.Close()))
}

// open opens a segment's file by itself: verifying must not push the files out
// that others use.
func (v *verifier) open(s SegmentInfo) (f vfs.File, size int64, now SegmentInfo, err error) {
	h, err := v.a.reach(s.Table, s.FirstRow, func(fs *files, h *handle) error {
		f, size, err = fs.find(h.info, vfs.SequentialReadsOption)
		return err
	})
	if errors.Is(err, segment.ErrRange) { // pruned or rewound meanwhile: the file stays for who began before
		h = &handle{info: s}
		f, size, err = v.a.files.find(s, vfs.SequentialReadsOption)
	}
	if errors.Is(err, iofs.ErrPermission) {
		err = fileFlaw(s, 0, fmt.Errorf("the file cannot be opened: %w", err))
	}
	if err != nil {
		return nil, 0, s, err
	}
	return f, size, h.info, nil
}

func (v *verifier) file(ctx context.Context, f vfs.File, size int64, s SegmentInfo) error {
	passes := 1.0
	if v.o.Depth == segment.Content {
		passes = 2
	}
	if size != s.StoredBytes && !v.flaw(*fileFlaw(s, size, fmt.Errorf("%d bytes, the manifest says %d", size, s.StoredBytes))) {
		return nil
	}
	depth, sum := v.o.Depth, s.Checksum
	if depth != segment.Structure {
		var err error
		sum, err = hashFile(ctx, f, size, s.File, func(n int64) { v.progress(s, float64(n)/float64(size)/passes) })
		if err != nil {
			return err
		}
		if sum == s.Checksum && depth == segment.Checksums {
			depth = segment.Structure // every byte is the one that was written
		}
	}
	found := size != s.StoredBytes
	o := segment.VerifyOptions{
		Name: s.File, Depth: depth, Encodings: v.a.o.Encodings,
		Progress: func(n int64) { v.progress(s, (passes-1+float64(n)/float64(max(size, 1)))/passes) },
	}
	for fl, err := range segment.Verify(ctx, f, size, o) {
		if err != nil {
			return err
		}
		found = true
		if !v.flaw(fl) {
			return nil
		}
	}
	if found {
		return nil // what the file is besides does not matter
	}
	if sum != s.Checksum && !v.flaw(*fileFlaw(s, size, fmt.Errorf("a whole segment, but not the one that the manifest names: checksum of the file is %s, the manifest says %s", sum, s.Checksum))) {
		return nil
	}
	r, err := segment.NewReader(f, size, segment.ReaderOptions{Name: s.File, Encodings: v.a.o.Encodings, Concurrency: 1})
	if err != nil {
		return err
	}
	if err := sameIdentity(r, s); err != nil {
		v.flaw(*fileFlaw(s, size, fmt.Errorf("not the segment that the manifest names: %w", err)))
	}
	v.progress(s, 1)
	return nil
}

// VerifyFile yields every flaw of one segment file, as segment.Verify does.
// Where the file belongs to an archive, its manifest is not asked.
func VerifyFile(ctx context.Context, fs vfs.FS, path string, o segment.VerifyOptions) iter.Seq2[segment.Flaw, error] {
	return func(yield func(segment.Flaw, error) bool) {
		f, size, err := openRead(fs, path, vfs.SequentialReadsOption)
		if err != nil {
			yield(segment.Flaw{}, err)
			return
		}
		stopped := false
		for flaw, err := range segment.Verify(ctx, f, size, o) {
			if stopped = !yield(flaw, err); stopped {
				break
			}
		}
		if err := f.Close(); err != nil && !stopped {
			yield(segment.Flaw{}, ioError("closing", path, err))
		}
	}
}
