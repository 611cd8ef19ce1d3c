package cmd

import (
	"context"
	"errors"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/segment/archive"
	"github.com/spf13/cobra"
)

// isDir reports whether path is a directory: an archive, if anything of ours.
func (a *app) isDir(path string) (bool, error) {
	info, err := a.fs.Stat(path)
	if err != nil {
		return false, err
	}
	if !info.IsDir() && filepath.Base(path) == archive.ManifestName {
		return false, usagef("%s is a part of the archive %s: name that", path, filepath.Dir(path))
	}
	if !info.IsDir() && !info.Mode().IsRegular() { // opening a pipe could wait for ever
		return false, usagef("%s is neither a file nor a directory", path)
	}
	return info.IsDir(), nil
}

// openArchive opens an archive for reading.
func (a *app) openArchive(dir string) (*archive.Archive, error) {
	return archive.Open(a.fs, dir, archive.Options{ReadOnly: true, Logger: a.logger(), KeyFunctions: keyFunctions()})
}

// openFile opens a segment file.
func (a *app) openFile(path string) (*archive.File, error) {
	return archive.OpenFile(a.fs, path, segment.ReaderOptions{Name: path})
}

// rows is a table of an archive or a lone segment.
type rows interface {
	Schema() segment.Schema
	FirstRow() uint64
	EndRow() uint64
	Row(dst segment.Row, n uint64) (segment.Row, error)
	Scan(ctx context.Context, from, to uint64, o segment.ScanOptions) iter.Seq2[segment.Row, error]
}

var (
	_ rows = (*archive.Table)(nil)
	_ rows = (*segment.Reader)(nil)
)

// openRows opens the table of that name; name may be empty where there is one
// only, beside the one of the sources.
func (a *app) openRows(path, name string) (r rows, table string, done func() error, err error) {
	dir, err := a.isDir(path)
	if err != nil {
		return nil, "", nil, err
	}
	if !dir {
		f, err := a.openFile(path)
		if err != nil {
			return nil, "", nil, err
		}
		if name != "" && name != f.Table() {
			return nil, "", nil, errors.Join(missingf("%s holds rows of the table %q", path, f.Table()), f.Close())
		}
		return f.Reader, f.Table(), f.Close, nil
	}
	ar, err := a.openArchive(path)
	if err != nil {
		return nil, "", nil, err
	}
	t, err := pickTable(ar, name)
	if err != nil {
		return nil, "", nil, errors.Join(err, ar.Close())
	}
	return t, t.Name(), ar.Close, nil
}

func pickTable(ar *archive.Archive, name string) (*archive.Table, error) {
	if name == "" {
		var names []string
		for _, t := range ar.Tables() {
			names = append(names, t.Table)
		}
		if i := slices.Index(names, "sources"); i >= 0 && len(names) == 2 {
			names = slices.Delete(names, i, i+1)
		}
		if len(names) != 1 {
			return nil, usagef("which table? --table is one of %s", strings.Join(names, ", "))
		}
		name = names[0]
	}
	return ar.Table(name)
}

// segmentFlags adds the flags that name a segment of an archive.
func (a *app) segmentFlags(c *cobra.Command, table *string, number *int) {
	textFlag(c, table, "table", "of an archive: the table", nil)
	intFlag(c, number, "segment", 0, 0, maxNumber, "of an archive: the number of the table's segment, from 0")
}

// openSegment opens a segment file, or the segment of that number of a table of
// an archive.
func (a *app) openSegment(path, table string, number int) (*segment.Reader, func() error, error) {
	dir, err := a.isDir(path)
	if err != nil {
		return nil, nil, err
	}
	if !dir {
		if table != "" || number != 0 {
			return nil, nil, usagef("%s is one segment: --table and --segment are for archives", path)
		}
		f, err := a.openFile(path)
		if err != nil {
			return nil, nil, err
		}
		return f.Reader, f.Close, nil
	}
	ar, err := a.openArchive(path)
	if err != nil {
		return nil, nil, err
	}
	t, err := pickTable(ar, table)
	if err == nil && (number < 0 || number >= len(t.Segments())) {
		err = missingf("table %q has %d segments, no number %d", t.Name(), len(t.Segments()), number)
	}
	if err != nil {
		return nil, nil, errors.Join(err, ar.Close())
	}
	r, release, err := ar.OpenSegment(t.Name(), number)
	if err != nil {
		return nil, nil, errors.Join(err, ar.Close())
	}
	return r, func() error { release(); return ar.Close() }, nil
}
