package index

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/cockroachdb/pebble/v2"
)

// What went wrong, for errors.Is. The place is in *Error, which every method
// returns; the cause, a file system's error for example, is wrapped too.
var (
	// ErrMissing says that there is no store to open for reading.
	ErrMissing = errors.New("no index here")
	// ErrVersion says that a newer format was found; the entries may be fine.
	ErrVersion = errors.New("newer format")
	// ErrDamaged says that files of the store are damaged or missing: remove
	// the directory and load the indexes again. An I/O error is never this.
	ErrDamaged = errors.New("damaged")
	// ErrLocked says that the directory is open for writing elsewhere.
	ErrLocked = errors.New("locked")
	// ErrNoIndex says that the store has no index of this name.
	ErrNoIndex = errors.New("no such index")
	// ErrReplaced says that an index was loaded anew or dropped after the
	// batch named it first; nothing of the batch counts.
	ErrReplaced = errors.New("index was replaced meanwhile")
	// ErrReadOnly says that the store was opened for reading.
	ErrReadOnly = errors.New("read-only")
	// ErrClosed says that the store is closed.
	ErrClosed = errors.New("closed")
	// ErrFailed says that a write failed before. What it wrote may or may not
	// be durable, so nothing more is written; look-ups go on where they do not
	// need it. Close and open.
	ErrFailed = errors.New("failed before")
	// ErrInvalid says that an argument is out of its range.
	ErrInvalid = errors.New("invalid")
)

// Error is what every method returns: the operation, its place and the cause.
type Error struct {
	Op    string // "open", "commit", "load", "look up", …
	Dir   string // the store's directory
	Index string // the index's name, if one is concerned
	Err   error
}

func (e *Error) Error() string {
	if e.Index == "" {
		return fmt.Sprintf("index: %s: %s: %v", e.Dir, e.Op, e.Err)
	}
	return fmt.Sprintf("index: %s: %s %q: %v", e.Dir, e.Op, e.Index, e.Err)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// ioError marks an error that the file system returned, so that it is told
// apart from what Pebble says about the bytes that it did read.
type ioError struct{ error }

func (e ioError) Unwrap() error { return e.error }

// damage is ErrDamaged with its cause.
type damage struct{ cause error }

func (d damage) Error() string   { return ErrDamaged.Error() + ": " + d.cause.Error() }
func (d damage) Unwrap() []error { return []error{ErrDamaged, d.cause} }

// damaged returns an error that is ErrDamaged.
func damaged(format string, args ...any) error { return damage{fmt.Errorf(format, args...)} }

// invalid returns an error that is ErrInvalid.
func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrInvalid}, args...)...)
}

// classify says whether an error of Pebble is damage.
func classify(err error) error {
	if err == nil {
		return nil // without what errors.As allocates
	}
	var io ioError
	switch {
	case errors.As(err, &io), errors.Is(err, ErrLocked), errors.Is(err, ErrDamaged):
		return err
	case pebble.IsCorruptionError(err), errors.Is(err, fs.ErrNotExist):
		return damage{err}
	}
	return err
}

// classifyOpen is classify for opening a store that exists. Pebble has no
// types for most of what it says then, but whatever is neither of the file
// system nor the lock is about bytes that do not parse.
func classifyOpen(err error) error {
	err = classify(err)
	var io ioError
	switch {
	case err == nil, errors.As(err, &io), errors.Is(err, ErrLocked), errors.Is(err, ErrDamaged):
		return err
	case strings.Contains(err.Error(), "unknown format major version"):
		return fmt.Errorf("%w: %w", ErrVersion, err)
	}
	return damage{err}
}

// wrap places an error; nil stays nil.
func (s *Store) wrap(op, name string, err error) error {
	if err == nil {
		return nil
	}
	var placed *Error
	if errors.As(err, &placed) {
		return err
	}
	return &Error{Op: op, Dir: s.dir, Index: name, Err: err}
}
