// Package newfile makes files and directories that appear under their names whole or not at all, and never in the place of
// anything else. Until then they have a temporary name beside it: NAME.tmp- and 16 hex digits. What a killed process has
// left of the same name is removed by the next one; what a living one is at work on is not.
package newfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// maxTries is how many temporary names are tried: one is taken away only in the instant in which it is made.
const maxTries = 10

var errTaken = errors.New("newfile: temporary files are taken away again and again")

// File is a file being written. It is used by one goroutine.
type File struct {
	f    *os.File
	path string // the final one
	held io.Closer
	done bool
}

var _ io.Writer = (*File)(nil)

// Create starts the file that will be path. The error is fs.ErrExist where path exists, as whatever it may be.
func Create(path string) (*File, error) {
	path = filepath.Clean(path)
	if err := absent(path); err != nil {
		return nil, err
	}
	removeDead(path)
	for range maxTries {
		// Not os.CreateTemp: its files are private, and the user's umask is to decide.
		f, err := os.OpenFile(tmpPath(path), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		held, ok, err := hold(f.Name())
		if err != nil {
			return nil, errors.Join(err, f.Close(), os.Remove(f.Name()))
		}
		if ok {
			return &File{f: f, path: path, held: held}, nil
		}
		_ = f.Close() // removed by another process, which took it for one of a dead one
	}
	return nil, &fs.PathError{Op: "create", Path: path, Err: errTaken}
}

// Write appends to the file.
func (f *File) Write(p []byte) (int, error) { return f.f.Write(p) }

// Commit makes the file durable and gives it its name, also across a crash the whole file or none. The error is fs.ErrExist
// where something has got the name meanwhile; after any error nothing is left. No method but Abort may be called after it.
func (f *File) Commit() error {
	if err := f.f.Sync(); err != nil {
		return errors.Join(err, f.Abort())
	}
	f.done = true
	err := f.f.Close()
	if err == nil {
		err = place(f.f.Name(), f.path, os.Link)
	}
	if err != nil {
		_ = os.Remove(f.f.Name()) // perhaps it is not there any more
		return errors.Join(err, release(f.held))
	}
	if err := SyncDir(filepath.Dir(f.path)); err != nil {
		return errors.Join(err, os.Remove(f.path), release(f.held))
	}
	return release(f.held)
}

// Abort drops what was written. It has no effect after Commit.
func (f *File) Abort() error {
	if f.done {
		return nil
	}
	f.done = true
	return errors.Join(f.f.Close(), os.Remove(f.f.Name()), release(f.held))
}

// place gives a file its final name, if nothing has it. A link is made only where there is nothing. Where there are no
// links, an empty file is, which the rename replaces: a crash between the two leaves it.
func place(tmp, path string, link func(old, new string) error) error {
	err := link(tmp, path)
	if err == nil {
		if err = os.Remove(tmp); err != nil {
			return errors.Join(err, os.Remove(path))
		}
		return nil
	}
	if errors.Is(err, fs.ErrExist) {
		return &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	if err = f.Close(); err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

// Dir is a directory being filled. It is used by one goroutine.
type Dir struct {
	path, tmp string
	held      io.Closer
	done      bool
}

// MakeDir starts the directory that will be path. The error is fs.ErrExist where path exists, as whatever it may be.
func MakeDir(path string) (*Dir, error) {
	path = filepath.Clean(path)
	if err := absent(path); err != nil {
		return nil, err
	}
	removeDead(path)
	for range maxTries {
		tmp := tmpPath(path)
		err := os.Mkdir(tmp, 0o777)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		held, ok, err := hold(tmp)
		if err != nil {
			return nil, errors.Join(err, os.Remove(tmp))
		}
		if ok {
			return &Dir{path: path, tmp: tmp, held: held}, nil
		}
	}
	return nil, &fs.PathError{Op: "mkdir", Path: path, Err: errTaken}
}

// Path returns where files go until Commit.
func (d *Dir) Path() string { return d.tmp }

// Commit gives the directory its name and makes that durable; the files in it are durable already. After an error nothing
// is left. No method but Abort may be called after it.
func (d *Dir) Commit() error {
	err := SyncDir(d.tmp)
	if err == nil {
		err = os.Rename(d.tmp, d.path) // replaces an empty directory at the most
	}
	if err != nil {
		return errors.Join(err, d.Abort())
	}
	d.done = true
	return errors.Join(SyncDir(filepath.Dir(d.path)), release(d.held))
}

// Abort removes the directory and what is in it. It has no effect after Commit.
func (d *Dir) Abort() error {
	if d.done {
		return nil
	}
	d.done = true
	return errors.Join(os.RemoveAll(d.tmp), release(d.held))
}

// absent wants nothing at path.
func absent(path string) error {
	switch _, err := os.Lstat(path); {
	case err == nil:
		return &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return nil
}

func release(held io.Closer) error {
	if held == nil {
		return nil
	}
	return held.Close()
}

// SyncDir makes the names in a directory durable.
func SyncDir(dir string) error {
	if runtime.GOOS == "windows" { // directories cannot be synced there
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
