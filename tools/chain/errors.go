package chain

import (
	"errors"
	"fmt"
)

// ErrInput is what every *InputError is, for errors.Is: the file is not what was expected. An error of reading the file is
// never ErrInput.
var ErrInput = errors.New("chain: input is not of the format")

// ErrTruncated is the cause of an *InputError where a file ends too early.
var ErrTruncated = errors.New("the file ends here")

var errIsDirectory = errors.New("is a directory")

var errNotRegular = errors.New("is not a regular file: imports read a file twice")

// InputError says where a source file is not what it should be.
type InputError struct {
	File   string // File.Name
	Offset int64  // of the thing that is wrong, in bytes of the file, decompressed where it is a .gz
	Want   string // what was expected there: "a list of 3 items", "entry type 0x0003 (compressed header)"
	Err    error  // what was found; may be nil
}

// Error returns file, offset, what was expected and what was found.
func (e *InputError) Error() string {
	s := fmt.Sprintf("%s: at byte %d: expected %s", e.File, e.Offset, e.Want)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *InputError) Unwrap() error { return e.Err }

// Is reports whether target is ErrInput.
func (e *InputError) Is(target error) bool { return target == ErrInput }
