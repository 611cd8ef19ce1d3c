package index

import (
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Pebble ends the process when its log cannot be written: by a panic that
// unlocks what is not locked, which nothing recovers from. So its log never
// fails. Where the file system does, the guard stops all writing, the store
// learns of it before it acknowledges anything, and what Pebble still writes
// to its log is dropped.

// isLog reports whether a file is a log of the database.
func (g *guard) isLog(name string) bool {
	return strings.HasSuffix(name, ".log") && g.FS.PathDir(name) == g.dir
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

// log returns a log, also where none could be opened.
func (g *guard) log(open func() (vfs.File, error)) (vfs.File, error) {
	l := &logFile{g: g}
	g.hide(func() (err error) {
		if l.File, err = open(); err == nil {
			g.enter(l.File)
		}
		return err
	})
	return l, nil
}

// logFile is a log. File is nil if it could not be opened; nothing is written
// to it then, because writing has stopped.
type logFile struct {
	vfs.File
	g *guard
}

func (l *logFile) Write(p []byte) (int, error) {
	l.g.hide(func() error { _, err := l.File.Write(p); return err })
	return len(p), nil
}

func (l *logFile) Preallocate(off, length int64) error {
	l.g.hide(func() error { return l.File.Preallocate(off, length) })
	return nil
}

func (l *logFile) Sync() error {
	l.g.hide(func() error { return l.File.Sync() })
	return nil
}

func (l *logFile) SyncData() error {
	l.g.hide(func() error { return l.File.SyncData() })
	return nil
}

func (l *logFile) SyncTo(length int64) (full bool, err error) {
	l.g.hide(func() error { full, err = l.File.SyncTo(length); return err })
	return full, nil
}

func (l *logFile) Stat() (vfs.FileInfo, error) {
	if l.File != nil {
		info, err := l.File.Stat()
		if err == nil {
			return info, nil
		}
		l.g.fail(ioError{err})
	}
	return noInfo{}, nil
}

func (l *logFile) Close() error {
	if l.File == nil || !l.g.leave(l.File) {
		return nil
	}
	if err := l.File.Close(); err != nil {
		l.g.fail(ioError{err})
	}
	return nil
}

func (l *logFile) Fd() uintptr {
	if l.File == nil {
		return vfs.InvalidFd
	}
	return l.File.Fd()
}

// noInfo is of a log that could not be opened: Pebble asks for its size only.
type noInfo struct{ vfs.FileInfo }

func (noInfo) Size() int64 { return 0 }

// logDir is the database's directory: what syncs a new log's name must not
// fail either.
type logDir struct {
	vfs.File
	g *guard
}

func (d *logDir) Sync() error {
	d.g.hide(d.File.Sync)
	return nil
}
