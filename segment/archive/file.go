package archive

import (
	"bytes"
	"context"
	"errors"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/segstore/segstore/codec"
	"github.com/segstore/segstore/segment"
)

// File is a segment file that is open for reading, by itself.
type File struct {
	*segment.Reader
	path string
	f    vfs.File
	size int64
}

// OpenFile opens a segment file. Close it when its Reader is no longer used.
func OpenFile(fs vfs.FS, path string, o segment.ReaderOptions) (*File, error) {
	if o.Name == "" {
		o.Name = path
	}
	f, size, err := openRead(fs, path, vfs.RandomReadsOption)
	if err != nil {
		return nil, err
	}
	r, err := segment.NewReader(f, size, o)
	if err != nil {
		return nil, errors.Join(err, ioError("closing", path, f.Close()))
	}
	return &File{Reader: r, path: path, f: f, size: size}, nil
}

// Close closes the file. The Reader must not be used any more.
func (f *File) Close() error { return ioError("closing", f.path, f.f.Close()) }

// FileWriter writes a segment into a file by itself. One goroutine may use it.
type FileWriter struct {
	*segment.Writer
	d         *draft
	path      string
	ctx       context.Context
	encodings []codec.Encoding
}

// CreateFile starts a segment file that will be path, under another name beside
// it. Call Finish or Abort. ErrExists where path is there already, as whatever it
// may be, also a link that leads nowhere. What processes that were killed have left
// of the same file is removed, where the system says that they are dead.
func CreateFile(fs vfs.FS, path string, o segment.WriterOptions) (*FileWriter, error) {
	if o.Context == nil {
		o.Context = context.Background()
	}
	d, err := draftFor(fs, path)
	if err != nil {
		return nil, err
	}
	w, err := segment.NewWriter(d, o)
	if err != nil {
		return nil, errors.Join(err, d.discard())
	}
	return &FileWriter{Writer: w, d: d, path: path, ctx: o.Context, encodings: o.Encodings}, nil
}

// Finish ends the segment, reads it back and compares, and gives it its name.
// When it returns without an error, all of it is durable. ErrExists where another
// process has made a file of that name meanwhile: it is never replaced, on file
// systems with hard links; on others it is if it is made in the same instant.
func (w *FileWriter) Finish() (segment.Info, error) {
	if w.d == nil {
		return segment.Info{}, segment.ErrClosed
	}
	info, err := w.Writer.Finish()
	if err == nil {
		err = w.d.close()
	}
	if err == nil {
		err = checkWritten(w.ctx, w.d.fs, w.d.path, info, w.encodings)
	}
	if err != nil {
		return segment.Info{}, err
	}
	d := w.d
	w.d = nil
	if err := d.link(w.path); err != nil {
		return segment.Info{}, err
	}
	return info, nil
}

// Abort ends the Writer and removes what was written. After Finish without an
// error it does nothing.
func (w *FileWriter) Abort() error {
	w.Writer.Abort()
	if w.d == nil {
		return nil
	}
	d := w.d
	w.d = nil
	return d.discard()
}

// draftFor starts a draft beside path, of which nothing may be there.
func draftFor(fs vfs.FS, path string) (*draft, error) {
	if err := notThere(fs, path); err != nil {
		return nil, err
	}
	return newDraftBeside(fs, path, "")
}

// owner returns the archive to which a file belongs: the manifest in the parent
// of its directory, and the segment by which it names the file; nil where none does.
func owner(fs vfs.FS, path string) (m *manifest, s *SegmentInfo, err error) {
	if path, err = resolve(fs, path); err != nil {
		return nil, nil, err
	}
	table := fs.PathDir(path)
	manifestPath := fs.PathJoin(fs.PathDir(table), ManifestName)
	b, err := readSmall(fs, manifestPath)
	if missing(err) || err == nil && !bytes.HasPrefix(b, []byte(manifestHead)) {
		// Of another program; but beside a LOCK it is one of ours that was damaged or lost.
		lock := fs.PathJoin(fs.PathDir(table), LockName)
		if _, err := fs.Stat(lock); missing(err) {
			return nil, nil, nil
		} else if err != nil {
			return nil, nil, ioError("finding", lock, err)
		}
		return nil, nil, &ManifestError{File: manifestPath, Err: errors.New("missing or damaged, in what a LOCK says is an archive")}
	}
	if err != nil {
		return nil, nil, err
	}
	if m, err = decodeManifest(b); err != nil {
		return nil, nil, &ManifestError{File: manifestPath, Err: err}
	}
	file := fs.PathBase(table) + "/" + fs.PathBase(path)
	for i := range m.tables {
		for k := range m.tables[i].segments {
			if m.tables[i].segments[k].File == file {
				return m, &m.tables[i].segments[k], nil
			}
		}
	}
	return m, nil, nil
}
