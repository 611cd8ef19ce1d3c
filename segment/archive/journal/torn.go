package journal

import (
	"errors"
	"io"
)

// Empty reports whether no whole record of log number lies anywhere in the first size
// bytes of r, whatever its head says: a log whose making was interrupted.
func Empty(r io.ReaderAt, number uint64, size int64) (bool, error) {
	s := &scanner{r: r, number: number, size: size}
	err := s.judge(-1, 0, true, errNoHead)
	if errors.Is(err, ErrDamaged) {
		return false, nil
	}
	return err == nil, err
}

var errNoHead = errors.New("the head does not check")
