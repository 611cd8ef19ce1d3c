package archive

import (
	"errors"
	"fmt"
	iofs "io/fs"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/segstore/segstore/segment"
)

// What a caller may ask of an error with errors.Is. Rows that are not there are
// segment.ErrRange, columns segment.ErrColumn, damage segment.ErrCorrupt.
var (
	ErrNotArchive = errors.New("archive: not an archive")             // no MANIFEST.json in the directory, or no directory
	ErrExists     = errors.New("archive: exists already")             // what should be created is there
	ErrLocked     = errors.New("archive: in use by another writer")   // LOCK is held
	ErrManifest   = errors.New("archive: damaged manifest")           // the error is a *ManifestError, and ErrCorrupt too
	ErrVersion    = segment.ErrVersion                                // manifest or segment of a newer version
	ErrNoTable    = errors.New("archive: no such table")              //
	ErrReadOnly   = errors.New("archive: opened read-only")           // by Options.ReadOnly
	ErrClosed     = errors.New("archive: use after Close")            // of an Archive or Builder
	ErrCommitted  = errors.New("archive: the batch was committed")    // and takes neither rows nor another Commit
	ErrStale      = errors.New("archive: rows replaced since opened") // a file is gone, and nothing of the same identity is there
	ErrInArchive  = errors.New("archive: file belongs to an archive") // and is changed through it only
	ErrNotFile    = errors.New("archive: not a file")                 // but a directory, a pipe, or the like
	ErrNoSpace    = errors.New("archive: not enough space")           // the error may be a *SpaceError
)

// ManifestError says what is wrong with a manifest. errors.Is holds for
// ErrManifest and for segment.ErrCorrupt.
type ManifestError struct {
	File string
	Err  error
}

// Error returns the file and the cause in one line.
func (e *ManifestError) Error() string { return e.File + ": damaged manifest: " + e.Err.Error() }

// Unwrap returns ErrManifest, segment.ErrCorrupt and the cause.
func (e *ManifestError) Unwrap() []error { return []error{ErrManifest, segment.ErrCorrupt, e.Err} }

// SpaceError says how much space is missing. errors.Is holds for ErrNoSpace.
type SpaceError struct {
	Path      string
	Need      uint64 // bytes, as estimated
	Available uint64 // bytes
}

// Error returns the path and both numbers.
func (e *SpaceError) Error() string {
	return fmt.Sprintf("%s: not enough space: about %d bytes needed, %d available", e.Path, e.Need, e.Available)
}

// Unwrap returns ErrNoSpace.
func (e *SpaceError) Unwrap() error { return ErrNoSpace }

// SegmentError is what kept a segment from being verified, other than damage: what
// is not known of it is not known of the others.
type SegmentError struct {
	Segment SegmentInfo
	Err     error
}

// Error returns the file and the cause.
func (e *SegmentError) Error() string { return inSegment(e.Segment.File, e.Err).Error() }

// Unwrap returns the cause.
func (e *SegmentError) Unwrap() error { return e.Err }

// ioError adds what was done to an I/O error, and ErrNoSpace where the disk is full.
func ioError(what, path string, err error) error {
	if err == nil {
		return nil
	}
	var pe *iofs.PathError
	if errors.As(err, &pe) && pe.Path == path {
		err = pe.Err // said here already
	}
	if vfs.IsNoSpaceError(err) && !errors.Is(err, ErrNoSpace) {
		return fmt.Errorf("%w: %s %s: %w", ErrNoSpace, what, path, err)
	}
	return fmt.Errorf("archive: %s %s: %w", what, path, err)
}

// noSpace adds ErrNoSpace to an error of a full disk that another package has placed.
func noSpace(err error) error {
	if vfs.IsNoSpaceError(err) && !errors.Is(err, ErrNoSpace) {
		return fmt.Errorf("%w: %w", ErrNoSpace, err)
	}
	return err
}

// notArchive returns ErrNotArchive with the path that is not there.
func notArchive(path string, err error) error {
	var pe *iofs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return fmt.Errorf("%w: %s: %w", ErrNotArchive, path, err)
}
