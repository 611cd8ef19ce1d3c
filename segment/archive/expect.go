package archive

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/segstore/segstore/segment"
)

// Answer is what a checksum that somebody expects has to do with a file.
type Answer string

// The answers.
const (
	SameFile    Answer = "same_file"    // the file has this checksum
	SameContent Answer = "same_content" // a file of the same rows had it, that recompression has replaced since, or it is the rows' content root
	Different   Answer = "different"    // neither
	Unknown     Answer = "unknown"      // neither, but a replaced file, whose SHA-256 nobody has noted, may have had it
)

// Expectation is the answer for one expected checksum.
type Expectation struct {
	Expected string           `json:"expected"` // hex digits, lower-case
	Answer   Answer           `json:"answer"`
	File     string           `json:"file,omitempty"`    // path of the file that has the content now
	Checksum segment.Checksum `json:"checksum,omitzero"` // of that file: of the bytes that are there
	Segment  *SegmentInfo     `json:"segment,omitempty"` // where the file belongs to an archive
	Reason   string           `json:"reason,omitempty"`  // why Different or Unknown
	Name     string           `json:"name,omitempty"`    // in the list
	Line     int              `json:"line,omitempty"`    // in the list, from 1
}

// Expect says what a checksum (16 hex digits: xxh64, 64: SHA-256 or content root)
// has to do with the archive: which of its segment files has it, or had it before
// it was recompressed. The file concerned is read: SameFile and SameContent say
// that it is whole. A read-only archive is refreshed first. Replaced files are known
// by their xxh64 only. For a SHA-256 every file is read until one has it; one that
// is missing, or no file, is passed over.
func (a *Archive) Expect(ctx context.Context, sum string) (Expectation, error) {
	want, err := parseSum(sum)
	if err != nil {
		return Expectation{}, err
	}
	if err := a.Refresh(); err != nil {
		return Expectation{}, err
	}
	all, err := a.Segments()
	if err != nil {
		return Expectation{}, err
	}
	e := Expectation{Expected: want.text, Answer: Different, Reason: "no segment of the archive has this checksum, or had it before"}
	if want.sha256 {
		e.Reason = "no segment of the archive has this SHA-256 or content root"
		for i := range all {
			if all[i].ContentRoot.String() == want.text {
				return expectSegment(ctx, a.fs, a.Path(all[i]), &all[i], want)
			}
		}
		for i := range all {
			if len(all[i].Replaced) > 0 {
				e.Answer, e.Reason = Unknown, unknownSHA
			}
			got, _, err := SHA256(ctx, a.fs, a.Path(all[i]))
			if missing(err) || errors.Is(err, ErrNotFile) {
				continue
			}
			if err != nil {
				return e, err
			}
			if hex.EncodeToString(got[:]) == want.text {
				return expectSegment(ctx, a.fs, a.Path(all[i]), &all[i], want)
			}
		}
		return e, nil
	}
	for _, had := range []bool{false, true} { // a file that is there comes before one that was
		for i := range all {
			if !had && all[i].Checksum == want.xxh || had && all[i].had(want.xxh) {
				return expectSegment(ctx, a.fs, a.Path(all[i]), &all[i], want)
			}
		}
	}
	return e, nil
}

const unknownSHA = "no segment has this SHA-256 or content root; of the files that were replaced it is not known"

// had reports whether a replaced file had the checksum.
func (s *SegmentInfo) had(sum segment.Checksum) bool {
	for _, r := range s.Replaced {
		if r.Checksum == sum {
			return true
		}
	}
	return false
}

// ExpectFile says what a checksum (16 hex digits: xxh64, 64: SHA-256 or content
// root) has to do with a file. A file that was replaced is known of only where an
// archive's manifest names this one. A file that is not there is Different.
func ExpectFile(ctx context.Context, fs vfs.FS, path, sum string) (Expectation, error) {
	want, err := parseSum(sum)
	if err != nil {
		return Expectation{}, err
	}
	_, s, err := owner(fs, path)
	if err != nil && !errors.Is(err, ErrManifest) { // a damaged manifest says nothing of the file
		return Expectation{}, err
	}
	return expectSegment(ctx, fs, path, s, want)
}

// expectSegment answers for one file; s is what the manifest says of it, if any.
func expectSegment(ctx context.Context, fs vfs.FS, path string, s *SegmentInfo, want hexSum) (Expectation, error) {
	e := Expectation{Expected: want.text, Answer: Different, File: path, Segment: s}
	sum, _, err := Checksum(ctx, fs, path)
	if missing(err) {
		e.Reason = "the file is missing"
		return e, nil
	}
	if s != nil && errors.Is(err, ErrNotFile) {
		e.Reason = "something else is in the place of the file: " + err.Error()
		return e, nil
	}
	if err != nil {
		return e, err
	}
	e.Checksum = sum
	got := sum.String()
	if want.sha256 {
		sha, _, err := SHA256(ctx, fs, path)
		if err != nil {
			return e, err
		}
		got = hex.EncodeToString(sha[:])
	}
	switch {
	case got == want.text:
		e.Answer = SameFile
	case s != nil && sum != s.Checksum:
		e.Reason = fmt.Sprintf("the file is damaged: its checksum is %s, the manifest says %s", sum, s.Checksum)
	case s != nil && (!want.sha256 && s.had(want.xxh) || s.ContentRoot.String() == want.text):
		e.Answer = SameContent
	case s != nil && want.sha256 && len(s.Replaced) > 0:
		e.Answer, e.Reason = Unknown, unknownSHA
	case s == nil && want.sha256:
		whole, err := hasRoot(ctx, fs, path, want.text)
		if err != nil {
			return e, err
		}
		if whole {
			e.Answer = SameContent
		} else {
			e.Reason = "the checksum of the file is " + got
		}
	default:
		e.Reason = "the checksum of the file is " + got
	}
	return e, nil
}

// hasRoot reports whether a file is a whole segment of that content root.
func hasRoot(ctx context.Context, fs vfs.FS, path, root string) (bool, error) {
	f, err := OpenFile(fs, path, segment.ReaderOptions{})
	if errors.Is(err, segment.ErrCorrupt) || errors.Is(err, segment.ErrVersion) {
		return false, nil // no segment, or none that can be read
	}
	if err != nil {
		return false, err
	}
	same := f.Info().ContentRoot.String() == root
	if err := f.Close(); err != nil || !same {
		return false, err
	}
	for _, err := range VerifyFile(ctx, fs, path, segment.VerifyOptions{}) {
		return false, err // a flaw, or the error
	}
	return true, nil
}
