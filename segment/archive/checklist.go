package archive

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// CheckList answers for every line of a list of checksums, as xxhsum, sha256sum
// and their like print them: hex digits, two characters, name; or, in the style
// of --tag, algorithm (name) = hex digits. Empty lines and those that begin with
// # are skipped. A line that is none of these is an error, and the last. A file that
// cannot be read is an error with the Name and Line of its Expectation, and the
// rest follows.
//
// A name is looked for as it is, or, where a is not nil, among the archive's
// segments: by table and rows, so that a list made before files were recompressed
// finds those that hold the same rows now.
func CheckList(ctx context.Context, fs vfs.FS, a *Archive, list io.Reader) iter.Seq2[Expectation, error] {
	return func(yield func(Expectation, error) bool) {
		lines := bufio.NewScanner(list)
		n := 0
		for lines.Scan() {
			n++
			text := strings.TrimSuffix(lines.Text(), "\r")
			if text == "" || strings.HasPrefix(text, "#") {
				continue
			}
			e, err := checkLine(ctx, fs, a, text)
			if err != nil && (e.Name == "" || ctx.Err() != nil) {
				yield(Expectation{}, fmt.Errorf("line %d: %w", n, err))
				return
			}
			e.Line = n
			if !yield(e, err) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(Expectation{}, fmt.Errorf("archive: line %d: %w", n+1, err))
		}
	}
}

func checkLine(ctx context.Context, fs vfs.FS, a *Archive, text string) (Expectation, error) {
	sum, name, err := parseLine(text)
	if err != nil {
		return Expectation{}, err
	}
	want, err := parseSum(sum)
	if err != nil {
		return Expectation{}, err
	}
	var e Expectation
	if s := a.named(name); s != nil {
		e, err = expectSegment(ctx, fs, a.Path(*s), s, want)
	} else {
		e, err = ExpectFile(ctx, fs, name, sum)
	}
	e.Name = name
	return e, err
}

// parseLine takes a line apart.
func parseLine(text string) (sum, name string, err error) {
	if before, after, ok := cutLast(text, ") = "); ok {
		if _, name, ok := strings.Cut(before, " ("); ok && name != "" {
			return after, name, nil
		}
	}
	sum, name, ok := strings.Cut(text, " ")
	if !ok || len(name) < 2 || name[0] != ' ' && name[0] != '*' {
		return "", "", fmt.Errorf("archive: %.80q, expected hex digits, two spaces, and a name", text)
	}
	return sum, name[1:], nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// named returns the segment that holds the rows which a file's name says: of the
// table that is its directory. nil where the archive has none.
func (a *Archive) named(path string) *SegmentInfo {
	if a == nil {
		return nil
	}
	parts := strings.FieldsFunc(path, func(r rune) bool { return r == '/' || r == '\\' })
	if len(parts) < 2 {
		return nil
	}
	table, base := parts[len(parts)-2], parts[len(parts)-1]
	m := segmentName.FindStringSubmatch(base)
	if m == nil || m[3] != "" {
		return nil
	}
	segments, err := a.Segments(table)
	if err != nil {
		return nil // no table of this name
	}
	for i := range segments {
		if s := &segments[i]; strings.HasPrefix(base, fmt.Sprintf("%010d-%010d-", s.FirstRow, s.EndRow()-1)) {
			return s
		}
	}
	return nil
}
