//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package archive

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// hold marks a file as one at which somebody is at work, until it is closed or the
// process has died: by a lock on it, which the system takes back, and which no
// other descriptor of the same file disturbs. ok is false where somebody else
// holds it, or has removed it meanwhile. A file system without locks is no
// error: what nobody can hold, nobody removes.
func hold(path string) (c io.Closer, ok bool, err error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0) // network file systems lock only what is open for writing
	if errors.Is(err, os.ErrPermission) {
		f, err = os.Open(path)
	}
	if err != nil {
		return nil, false, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close() // the error of the lock says what there is to say
		return nil, !errors.Is(err, syscall.EWOULDBLOCK), nil
	}
	was, err := f.Stat()
	if err == nil {
		var is os.FileInfo
		if is, err = os.Stat(path); err == nil && os.SameFile(was, is) {
			return f, true, nil
		}
	}
	_ = f.Close() // the file is not there any more
	return nil, false, nil
}
