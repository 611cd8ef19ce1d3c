package archive

import (
	"errors"
	"fmt"
	iofs "io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// What package vfs has no words for is asked of the system, and of file systems
// that are the disk in the end: others have neither links nor permissions.

func onDisk(fs vfs.FS) bool { return vfs.Root(fs) == vfs.Default }

// resolve returns the absolute path of a directory or file on the disk, with
// links followed where it exists: it must mean the same place, and the lock the
// same lock, also when the process changes its directory.
func resolve(fs vfs.FS, path string) (string, error) {
	if !onDisk(fs) {
		return path, nil
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		return real, nil
	}
	parent, err := filepath.EvalSymlinks(filepath.Dir(abs))
	if err != nil {
		return "", ioError("finding", filepath.Dir(abs), err)
	}
	return filepath.Join(parent, filepath.Base(abs)), nil
}

// keepMode gives the file to the permissions of the file from: what few could
// read stays with them. The owner is whoever writes. Nothing happens where from is
// not there.
func keepMode(fs vfs.FS, from, to string) error {
	if !onDisk(fs) {
		return nil
	}
	was, err := os.Stat(from)
	if missing(err) {
		return nil
	}
	if err != nil {
		return ioError("asking for the permissions of", from, err)
	}
	is, err := os.Stat(to)
	if err == nil && is.Mode().Perm() != was.Mode().Perm() {
		err = os.Chmod(to, was.Mode().Perm())
	}
	return ioError("giving its permissions to", to, err)
}

// notThere returns ErrExists where a name is taken: also by a link that leads
// nowhere.
func notThere(fs vfs.FS, path string) error {
	if onDisk(fs) {
		if to, err := os.Readlink(path); err == nil {
			return fmt.Errorf("%w: %s, a link to %s", ErrExists, path, to)
		}
	}
	_, err := fs.Stat(path)
	if err == nil {
		return fmt.Errorf("%w: %s", ErrExists, path)
	}
	if !missing(err) {
		return ioError("finding", path, err)
	}
	return nil
}

// noLinks reports whether a link could not be made because the file system has
// none: they say so in different ways.
func noLinks(err error) bool {
	return errors.Is(err, errors.ErrUnsupported) || errors.Is(err, iofs.ErrPermission) ||
		runtime.GOOS == "windows" && errors.Is(err, syscall.Errno(1)) // ERROR_INVALID_FUNCTION
}

// missing reports whether an error says that a file is not there.
func missing(err error) bool { return errors.Is(err, iofs.ErrNotExist) }

// openRead opens a file, and returns its size. ErrNotFile for what has no bytes at places, such as a
// directory, or a pipe, opening which can wait for ever.
func openRead(fs vfs.FS, path string, opts ...vfs.OpenOption) (vfs.File, int64, error) {
	st, err := fs.Stat(path)
	if err == nil && !st.Mode().IsRegular() {
		err = fmt.Errorf("%w: %s", ErrNotFile, kindOf(st.Mode()))
	}
	if err != nil {
		return nil, 0, ioError("opening", path, err)
	}
	f, err := fs.Open(path, opts...)
	if err != nil {
		return nil, 0, ioError("opening", path, err)
	}
	if st, err = f.Stat(); err != nil {
		_ = f.Close() // the error that led here is the one to report
		return nil, 0, ioError("asking for the size of", path, err)
	}
	return f, st.Size(), nil
}

func kindOf(m iofs.FileMode) string {
	switch {
	case m.IsDir():
		return "a directory"
	case m&iofs.ModeSocket != 0:
		return "a socket"
	case m&iofs.ModeNamedPipe != 0:
		return "a pipe"
	case m&iofs.ModeDevice != 0:
		return "a device"
	}
	return "of mode " + m.String()
}
