//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package newfile

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// hold marks a file or directory as one at which somebody is at work, until it is closed or the process has died: by a lock,
// which the system takes back. ok is false where somebody else holds it or has removed it meanwhile. On a file system
// without locks c is nil: what nobody can hold, nobody removes.
func hold(path string) (c io.Closer, ok bool, err error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0) // network file systems lock only what is open for writing
	if errors.Is(err, syscall.EISDIR) || errors.Is(err, os.ErrPermission) {
		f, err = os.Open(path)
	}
	if errors.Is(err, os.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close() // the lock's error says all
		return nil, !errors.Is(err, syscall.EWOULDBLOCK), nil
	}
	was, err := f.Stat()
	if err == nil {
		var is os.FileInfo
		if is, err = os.Lstat(path); err == nil && os.SameFile(was, is) {
			return f, true, nil
		}
	}
	_ = f.Close() // it is not there any more
	return nil, false, nil
}
