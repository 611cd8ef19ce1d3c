package archive

import (
	"errors"
	"fmt"
	"io"
	iofs "io/fs"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// lockDir takes the lock of an archive, which keeps a second writer out. The
// file stays: it is the lock on it that counts, and that ends with the process.
func lockDir(fs vfs.FS, dir string) (io.Closer, error) {
	path := fs.PathJoin(dir, LockName)
	l, err := fs.Lock(path)
	if err == nil {
		return l, nil
	}
	var pe *iofs.PathError
	if errors.As(err, &pe) { // the file cannot be made: nobody holds it
		return nil, ioError("locking", path, err)
	}
	return nil, fmt.Errorf("%w: %s: %w", ErrLocked, path, err)
}
