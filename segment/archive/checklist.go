package archive

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// maxListLine is how long a line of a list may be: names have at most 4 KiB, or 8
// with every byte escaped.
const maxListLine = 64 << 10

// LineError is a line of a list of checksums that cannot be read.
type LineError struct {
	Line int // from 1
	Err  error
}

// Error returns the number of the line, and what is wrong with it.
func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap returns the cause.
func (e *LineError) Unwrap() error { return e.Err }

// CheckList answers for every line of a list of checksums, as xxhsum, sha256sum
// and their like print them: hex digits, a space, a space or an asterisk, name; or,
// in the style of --tag, XXH64 or SHA256 (name) = hex digits. A backslash at the
// start of a line says that in the name \\, \n and \r stand for a backslash and the
// ends of lines. Empty lines and those that begin with # are skipped.
//
// A line that is none of these, or longer than 64 KiB, is a *LineError with the
// Line of its Expectation; a file that cannot be read is an error with its Name and
// Line. The rest follows. An error without a Line, of the list or of ctx, is the last.
//
// A name is looked for as it is, or, where a is not nil, among the archive's
// segments: by table and rows, so that a list made before files were recompressed
// finds those that hold the same rows now.
func CheckList(ctx context.Context, fs vfs.FS, a *Archive, list io.Reader) iter.Seq2[Expectation, error] {
	return func(yield func(Expectation, error) bool) {
		lines := bufio.NewReaderSize(list, maxListLine)
		for n := 1; ; n++ {
			text, err := listLine(lines)
			if errors.Is(err, io.EOF) {
				return
			}
			var e Expectation
			switch {
			case errors.Is(err, bufio.ErrBufferFull):
				err = &LineError{n, fmt.Errorf("archive: longer than %d bytes", maxListLine)}
			case err != nil:
				yield(e, fmt.Errorf("archive: line %d of the list: %w", n, err))
				return
			case text == "" || text[0] == '#':
				continue
			default:
				e, err = checkLine(ctx, fs, a, n, text)
			}
			if ctx.Err() != nil {
				yield(Expectation{}, ctx.Err())
				return
			}
			e.Line = n
			if !yield(e, err) {
				return
			}
		}
	}
}

// listLine returns the next line without its end; bufio.ErrBufferFull for one that
// is too long, all of which is passed over.
func listLine(r *bufio.Reader) (string, error) {
	b, err := r.ReadSlice('\n')
	if errors.Is(err, io.EOF) && len(b) > 0 {
		err = nil // the last line has no end
	}
	if !errors.Is(err, bufio.ErrBufferFull) {
		return string(bytes.TrimSuffix(bytes.TrimSuffix(b, []byte("\n")), []byte("\r"))), err
	}
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = r.ReadSlice('\n')
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	return "", bufio.ErrBufferFull
}

func checkLine(ctx context.Context, fs vfs.FS, a *Archive, n int, text string) (e Expectation, err error) {
	sum, name, err := parseLine(text)
	var want hexSum
	if err == nil {
		want, err = parseSum(sum)
	}
	if err != nil {
		return e, &LineError{n, err}
	}
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
	plain, escaped := strings.CutPrefix(text, `\`)
	if sum, name, _ = strings.Cut(plain, " "); len(name) > 1 && (name[0] == ' ' || name[0] == '*') {
		name = name[1:]
	} else if sum, name, err = parseTagged(plain); err != nil {
		return "", "", err
	}
	if escaped {
		name, err = unescape(name)
	}
	return sum, name, err
}

// parseTagged reads "ALGORITHM (name) = digits". Other algorithms than ours are
// refused by their name: some have as many digits.
func parseTagged(text string) (sum, name string, err error) {
	tag, rest, ok := strings.Cut(text, " (")
	i := strings.LastIndex(rest, ") = ")
	if !ok || i < 1 {
		return "", "", fmt.Errorf("archive: %.80q, expected hex digits, two spaces, and a name", text)
	}
	sum, name = rest[i+len(") = "):], rest[:i]
	digits, ok := map[string]int{"XXH64": 16, "SHA256": 64}[tag]
	switch {
	case !ok:
		return "", "", fmt.Errorf("archive: a checksum by %.80q, expected XXH64 or SHA256", tag)
	case len(sum) != digits:
		return "", "", fmt.Errorf("archive: %s of %d digits, expected %d", tag, len(sum), digits)
	}
	return sum, name, nil
}

// unescape gives a name its backslashes and ends of lines back.
func unescape(name string) (string, error) {
	b := make([]byte, 0, len(name))
	for i := 0; i < len(name); i++ {
		c := name[i]
		if c == '\\' {
			if i++; i == len(name) {
				return "", errors.New("archive: the name ends within an escape")
			}
			switch name[i] {
			case '\\':
			case 'n':
				c = '\n'
			case 'r':
				c = '\r'
			default:
				return "", fmt.Errorf("archive: the name has the escape %q, expected \\\\, \\n or \\r", name[i-1:i+1])
			}
		}
		b = append(b, c)
	}
	return string(b), nil
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
