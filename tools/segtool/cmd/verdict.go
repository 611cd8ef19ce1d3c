package cmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/segment/archive"
)

// closedFile is a file that does not open.
type closedFile struct {
	File  string  `json:"file"`
	Rows  *uint64 `json:"rows"` // null where nothing says how many it holds
	Error string  `json:"error"`
}

var errForeign = errors.New("not the segment that the manifest names")

// span is a run of rows: first to end, without end.
type span struct{ first, end uint64 }

// judge says what the flaws mean for the rows, and what to do next.
func (a *app) judge(ctx context.Context, v *verdict, dir bool) (err error) {
	if len(v.Flaws) == 0 {
		return nil
	}
	v.Verdict = "damaged"
	named := map[string]archive.SegmentInfo{}
	if dir {
		ar, err := a.openArchive(v.Path)
		if err != nil {
			return err
		}
		segments, err := ar.Segments()
		if err = errors.Join(err, ar.Close()); err != nil {
			return err
		}
		for _, s := range segments {
			named[s.File] = s
		}
	}
	var files []string
	flaws := map[string][]segment.Flaw{}
	for _, f := range v.Flaws {
		if flaws[f.File] == nil {
			files = append(files, f.File)
		}
		flaws[f.File] = append(flaws[f.File], f)
	}
	for _, file := range files {
		path, info := v.Path, (*archive.SegmentInfo)(nil)
		if dir {
			path = filepath.Join(v.Path, filepath.FromSlash(file))
			s, ok := named[file]
			if strings.HasPrefix(file, "log-") { // all of it can be read but for the frames that are damaged
				v.Rows += distinct(touched(flaws[file]), span{0, ^uint64(0)})
				continue
			}
			if ok {
				info = &s
			}
		}
		all, err := a.opens(path, info)
		switch {
		case err == nil:
			v.Rows += distinct(touched(flaws[file]), all)
		case !errors.Is(err, segment.ErrCorrupt) && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, archive.ErrNotFile) && !errors.Is(err, fs.ErrPermission):
			return err
		default:
			c := closedFile{File: or(file, path), Error: err.Error()}
			if info != nil {
				c.Rows = &info.Rows
				v.Rows += info.Rows
			}
			v.Closed = append(v.Closed, c)
		}
		if !errors.Is(err, errForeign) {
			if c := recoverCommand(ctx, path); c != "" {
				v.Next = append(v.Next, c)
			}
		}
	}
	return ctx.Err()
}

// opens opens a segment file as whoever reads it does, held against what the
// manifest says of it, if anything, and returns its rows.
func (a *app) opens(path string, info *archive.SegmentInfo) (span, error) {
	f, err := a.openFile(path)
	if err != nil {
		return span{}, err
	}
	all := span{f.FirstRow(), f.EndRow()}
	got := f.Info()
	if err := f.Close(); err != nil {
		return all, err
	}
	if info != nil && (got.ID != info.ID || got.ContentRoot != info.ContentRoot) {
		return all, &segment.CorruptionError{
			Place: segment.Place{File: path, Section: segment.SectionFile, Chunk: -1, Length: got.StoredBytes},
			Err:   errForeign,
		}
	}
	return all, nil
}

// touched returns the rows of the flaws, without those of the file as a whole: the
// file opens.
func touched(flaws []segment.Flaw) []span {
	var list []span
	for _, f := range flaws {
		if f.Rows > 0 && f.Section != segment.SectionFile {
			list = append(list, span{f.FirstRow, f.FirstRow + min(f.Rows, ^uint64(0)-f.FirstRow)})
		}
	}
	return list
}

// distinct counts the rows of all that are in one span or more.
func distinct(list []span, all span) (n uint64) {
	slices.SortFunc(list, func(a, b span) int {
		switch {
		case a.first < b.first:
			return -1
		case a.first > b.first:
			return 1
		}
		return 0
	})
	next := all.first
	for _, s := range list {
		first, end := max(s.first, next), min(s.end, all.end)
		if first < end {
			n += end - first
			next = end
		}
	}
	return n
}

// recoverCommand is what saves rows of a damaged file, or nothing where none can be.
func recoverCommand(ctx context.Context, path string) string {
	if !recoverable(ctx, path) {
		return ""
	}
	return "segtool recover " + quote(path) + " " + quote(strings.TrimSuffix(filepath.Base(path), ".seg")+".recovered")
}

// recoverable reports whether recover could save a row of a file.
func recoverable(ctx context.Context, path string) bool {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() { // a pipe would be waited for
		return false
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	d, err := segment.Recover(f, info.Size(), segment.RecoverOptions{Name: path})
	if err != nil {
		return false
	}
	for _, err := range d.Rows(ctx) {
		if err == nil {
			return true
		}
	}
	return false
}

// quote makes a path one word of a shell where it is not.
func quote(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !strings.ContainsRune("/._-+:,@%=~", r) && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) {
		return s
	}
	if shown(s) != s { // as bash and others read it
		var b strings.Builder
		for _, c := range []byte(s) {
			if c < ' ' || c > '~' || c == '\'' || c == '\\' {
				fmt.Fprintf(&b, `\x%02x`, c)
			} else {
				b.WriteByte(c)
			}
		}
		return "$'" + b.String() + "'"
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func (a *app) verdict(v verdict) {
	how := map[string]string{
		"quick":     "what its files say of themselves agrees; no row was read",
		"checksums": "every byte has the checksum it should have",
		"content":   "every byte has the checksum it should have, and the rows have the content root",
	}[v.Depth]
	switch {
	case len(v.Flaws) > 0:
		a.damaged(v)
	case len(v.Failed) == 0:
		a.printf("%s is whole: %s\n", v.Path, how)
	}
	if n := len(v.Failed); n > 0 {
		a.printf("%s was not verified as a whole: %s could not be read\n", v.Path, plural(n, "file"))
	}
	if v.Tail != nil {
		a.printf("%s ends with %s, from %s on, that are no whole record: cut off by a crash before they were durable, or damaged\n",
			v.Tail.File, exact(v.Tail.Length), count(v.Tail.Offset))
	}
	if v.Expect != nil {
		a.printf("%s: %s\n", v.Expect.Expected, answer(*v.Expect))
	}
}

// damaged says what can be read and what to do.
func (a *app) damaged(v verdict) {
	for _, c := range v.Closed {
		a.printf("%s: rows cannot be read: the file does not open; ", c.File)
		if c.Rows != nil {
			a.printf("it should hold %s\n", plural(*c.Rows, "row"))
		} else {
			a.printf("how many it holds is unknown\n")
		}
	}
	a.printf("%s is damaged: %s", v.Path, plural(len(v.Flaws), "flaw"))
	unknown := slices.ContainsFunc(v.Closed, func(c closedFile) bool { return c.Rows == nil })
	switch {
	case unknown:
		a.printf("; no row can be read as it is\n")
	case len(v.Closed) > 0:
		a.printf(" in files that do not open, or chunks, of %s; all other rows can be read\n", plural(v.Rows, "row"))
	case v.Rows > 0:
		a.printf(" in chunks of %s; all other rows can be read\n", plural(v.Rows, "row"))
	default:
		a.printf("; the file opens, and no chunk of rows is touched\n")
	}
	for _, n := range v.Next {
		a.printf("next: %s\n", n)
	}
	if len(v.Next) == 0 {
		a.printf("nothing is left to recover: what is damaged can only come from a copy\n")
	}
}
