package index

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// guard is the file system that Pebble gets. It marks errors as the file
// system's own, and it can stop all writing: from the start for a read-only
// store, or once a write failed, of which hide.go has more.
type guard struct {
	vfs.FS
	dir      string // of the database
	readOnly bool
	fail     func(error) // records what is hidden
	stop     atomic.Pointer[error]

	mu    sync.Mutex
	locks map[io.Closer]struct{} // held, to be let go of when Pebble cannot be closed
}

func newGuard(fs vfs.FS, readOnly bool, fail func(error)) *guard {
	return &guard{FS: fs, readOnly: readOnly, fail: fail, locks: map[io.Closer]struct{}{}}
}

// stopWrites makes all further writes fail with err.
func (g *guard) stopWrites(err error) { g.stop.CompareAndSwap(nil, &err) }

// writable returns why nothing may be written.
func (g *guard) writable() error {
	if g.readOnly {
		return ioError{ErrReadOnly}
	}
	if err := g.stop.Load(); err != nil {
		return ioError{*err}
	}
	return nil
}

// unlock lets go of the locks that Pebble left.
func (g *guard) unlock() (err error) {
	g.mu.Lock()
	left := g.locks
	g.locks = nil
	g.mu.Unlock()
	for c := range left {
		err = errors.Join(err, c.Close())
	}
	return err
}

// mark marks an error of the file system. What says that a file ends, or is
// not there, speaks of the bytes: Pebble looks at these itself.
func mark(err error) error {
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return ioError{err}
}

func (g *guard) file(f vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, mark(err)
	}
	return &guardedFile{File: f, g: g}, nil
}

func (g *guard) write(op func() error) error {
	if err := g.writable(); err != nil {
		return err
	}
	return mark(op())
}

func (g *guard) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := g.create(name, c)
	if err == nil && g.isManifest(name) {
		return g.summed(name, f, c)
	}
	return f, err
}

func (g *guard) create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if g.owned(name) {
		return g.hidden(func() (vfs.File, error) { return g.FS.Create(name, c) })
	}
	if err := g.writable(); err != nil {
		return nil, err
	}
	f, err := g.FS.Create(name, c)
	return g.file(f, err)
}

func (g *guard) OpenReadWrite(name string, c vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	if g.owned(name) {
		return g.hidden(func() (vfs.File, error) { return g.FS.OpenReadWrite(name, c, opts...) })
	}
	if err := g.writable(); err != nil {
		return nil, err
	}
	f, err := g.FS.OpenReadWrite(name, c, opts...)
	return g.file(f, err)
}

func (g *guard) ReuseForWrite(oldname, newname string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if g.owned(newname) {
		return g.hidden(func() (vfs.File, error) { return g.FS.ReuseForWrite(oldname, newname, c) })
	}
	if err := g.writable(); err != nil {
		return nil, err
	}
	f, err := g.FS.ReuseForWrite(oldname, newname, c)
	return g.file(f, err)
}

func (g *guard) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	f, err := g.FS.Open(name, opts...)
	return g.file(f, err)
}

func (g *guard) OpenDir(name string) (vfs.File, error) {
	f, err := g.FS.OpenDir(name)
	if f, err = g.file(f, err); err == nil && name == g.dir && !g.readOnly {
		return &hiddenDir{f, g}, nil
	}
	return f, err
}

func (g *guard) Link(oldname, newname string) error {
	return g.write(func() error { return g.FS.Link(oldname, newname) })
}

func (g *guard) Remove(name string) error {
	if g.owned(name) && g.writable() != nil {
		return nil
	}
	return g.write(func() error { return g.FS.Remove(name) })
}

func (g *guard) RemoveAll(name string) error {
	return g.write(func() error { return g.FS.RemoveAll(name) })
}

func (g *guard) Rename(oldname, newname string) error {
	if g.owned(newname) {
		g.hide(func() error { return g.FS.Rename(oldname, newname) })
		return nil
	}
	return g.write(func() error { return g.FS.Rename(oldname, newname) })
}

func (g *guard) MkdirAll(dir string, perm os.FileMode) error {
	return g.write(func() error { return g.FS.MkdirAll(dir, perm) })
}

func (g *guard) List(dir string) ([]string, error) {
	names, err := g.FS.List(dir)
	return names, mark(err)
}

func (g *guard) Stat(name string) (vfs.FileInfo, error) {
	info, err := g.FS.Stat(name)
	return info, mark(err)
}

func (g *guard) Unwrap() vfs.FS { return g.FS }

// GetDiskUsage is asked for what Pebble can do without.
func (g *guard) GetDiskUsage(path string) (vfs.DiskUsage, error) {
	usage, err := g.FS.GetDiskUsage(path)
	if err != nil {
		return usage, vfs.ErrUnsupported
	}
	return usage, nil
}

// Lock takes no lock when nothing is written: a reader needs none, and a
// read-only mount would refuse it.
func (g *guard) Lock(name string) (io.Closer, error) {
	if g.readOnly {
		return noLock{}, nil
	}
	c, err := g.FS.Lock(name)
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		return nil, mark(err) // there is no such directory, or it is not ours
	} else if err != nil {
		return nil, lockError{ioError{err}}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.locks[c] = struct{}{}
	return &guardedLock{c, g}, nil
}

type noLock struct{}

func (noLock) Close() error { return nil }

type lockError struct{ cause error }

func (e lockError) Error() string   { return ErrLocked.Error() + ": " + e.cause.Error() }
func (e lockError) Unwrap() []error { return []error{ErrLocked, e.cause} }

type guardedLock struct {
	io.Closer
	g *guard
}

func (l *guardedLock) Close() error {
	l.g.mu.Lock()
	_, held := l.g.locks[l.Closer]
	delete(l.g.locks, l.Closer)
	l.g.mu.Unlock()
	if !held {
		return nil
	}
	return mark(l.Closer.Close())
}

type guardedFile struct {
	vfs.File
	g *guard
}

func (f *guardedFile) Close() error { return mark(f.File.Close()) }

func (f *guardedFile) Read(p []byte) (int, error) {
	n, err := f.File.Read(p)
	return n, mark(err)
}

func (f *guardedFile) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.File.ReadAt(p, off)
	return n, mark(err)
}

func (f *guardedFile) Write(p []byte) (int, error) {
	if err := f.g.writable(); err != nil {
		return 0, err
	}
	n, err := f.File.Write(p)
	return n, mark(err)
}

func (f *guardedFile) WriteAt(p []byte, off int64) (int, error) {
	if err := f.g.writable(); err != nil {
		return 0, err
	}
	n, err := f.File.WriteAt(p, off)
	return n, mark(err)
}

func (f *guardedFile) Preallocate(off, length int64) error {
	return f.g.write(func() error { return f.File.Preallocate(off, length) })
}

func (f *guardedFile) Stat() (vfs.FileInfo, error) {
	info, err := f.File.Stat()
	return info, mark(err)
}

func (f *guardedFile) Sync() error {
	return f.g.write(f.File.Sync)
}

func (f *guardedFile) SyncData() error {
	return f.g.write(f.File.SyncData)
}

func (f *guardedFile) SyncTo(length int64) (full bool, err error) {
	err = f.g.write(func() error { full, err = f.File.SyncTo(length); return err })
	return full, err
}
