package archive

import (
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"runtime"
	"strings"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// lockDir takes the lock of an archive, which keeps a second writer out. The
// file stays: it is the lock on it that counts, and that ends with the process.
func lockDir(fs vfs.FS, dir string) (io.Closer, error) {
	path := fs.PathJoin(dir, LockName)
	l, err := fs.Lock(path)
	switch {
	case err == nil:
		return l, nil
	case held(err):
		return nil, fmt.Errorf("%w: %s: %w", ErrLocked, path, err)
	}
	return nil, ioError("locking", path, err)
}

// held reports whether a lock failed because somebody has it: package vfs has no
// error for that, but leaves the one of the system as it is.
func held(err error) bool {
	var pe *iofs.PathError
	if errors.As(err, &pe) { // the file could not be made
		return false
	}
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return strings.Contains(err.Error(), "lock held by current process")
	}
	if runtime.GOOS == "windows" {
		return errno == 32 // ERROR_SHARING_VIOLATION
	}
	return errno == syscall.EAGAIN || errno == syscall.EACCES
}
