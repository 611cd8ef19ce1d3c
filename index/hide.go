package index

import "github.com/cockroachdb/pebble/v2/vfs"

// Pebble does not live with a write that fails. On a log it ends the process,
// by a panic that unlocks what is not locked and that nothing recovers from;
// on a manifest it calls Fatalf; a flush it repeats without end, while Open,
// Excise or a commit waits for it. So none of its writes fails. Where the file
// system fails one, the guard stops all writing, the store learns of it before
// it acknowledges anything, and what Pebble goes on to write is dropped: the
// files are left as by a crash. What Pebble reads of it later is missing, an
// error, never something else.

// owned reports whether a file is the database's own. Others, of a load or a
// checkpoint, fail openly.
func (g *guard) owned(name string) bool {
	return !g.readOnly && g.FS.PathDir(name) == g.dir
}

// hide runs a write, unless writing has stopped, and keeps its error to itself.
func (g *guard) hide(op func() error) {
	if g.writable() != nil {
		return
	}
	if err := op(); err != nil {
		g.fail(ioError{err})
	}
}

// hidden returns a file to be written, also where none could be opened.
func (g *guard) hidden(open func() (vfs.File, error)) (vfs.File, error) {
	f := &hiddenFile{g: g}
	g.hide(func() (err error) {
		f.File, err = open()
		return err
	})
	return f, nil
}

// hiddenFile is a file of the database that is written. File is nil if it
// could not be opened; nothing is written to it then: writing has stopped.
type hiddenFile struct {
	vfs.File
	g *guard
}

func (f *hiddenFile) Write(p []byte) (int, error) {
	f.g.hide(func() error { _, err := f.File.Write(p); return err })
	return len(p), nil
}

func (f *hiddenFile) Preallocate(off, length int64) error {
	f.g.hide(func() error { return f.File.Preallocate(off, length) })
	return nil
}

func (f *hiddenFile) Sync() error {
	f.g.hide(func() error { return f.File.Sync() })
	return nil
}

func (f *hiddenFile) SyncData() error {
	f.g.hide(func() error { return f.File.SyncData() })
	return nil
}

func (f *hiddenFile) SyncTo(length int64) (full bool, err error) {
	f.g.hide(func() error { full, err = f.File.SyncTo(length); return err })
	return full, nil
}

func (f *hiddenFile) Stat() (vfs.FileInfo, error) {
	if f.File != nil {
		info, err := f.File.Stat()
		if err == nil {
			return info, nil
		}
		f.g.fail(ioError{err})
	}
	return noInfo{}, nil
}

func (f *hiddenFile) Close() error {
	if f.File == nil {
		return nil
	}
	if err := f.File.Close(); err != nil {
		f.g.fail(ioError{err})
	}
	return nil
}

func (f *hiddenFile) Fd() uintptr {
	if f.File == nil {
		return vfs.InvalidFd
	}
	return f.File.Fd()
}

// noInfo is of a file that could not be opened: Pebble asks for its size only.
type noInfo struct{ vfs.FileInfo }

func (noInfo) Size() int64 { return 0 }

// hiddenDir is the database's directory.
type hiddenDir struct {
	vfs.File
	g *guard
}

func (d *hiddenDir) Sync() error {
	d.g.hide(d.File.Sync)
	return nil
}
