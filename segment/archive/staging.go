package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/segstore/segstore/codec"
	"github.com/segstore/segstore/segment"
)

// staging is a new archive on its way to its name: everything is written in a
// directory beside it, which is renamed when it is whole. Whoever is killed
// before leaves nothing of that name.
type staging struct {
	fs   vfs.FS
	dir  string // that it will be
	tmp  string // that it is now
	lock io.Closer
	enc  []codec.Encoding

	m       manifest
	drafts  int
	renamed bool
	done    bool
}

// stage makes the directory beside dir. It refuses a dir that exists, and one
// whose parent does not.
func stage(fs vfs.FS, dir string, log *slog.Logger, encodings []codec.Encoding) (*staging, error) {
	dir, err := resolve(fs, dir)
	if err != nil {
		return nil, err
	}
	s := &staging{fs: fs, dir: dir, enc: encodings}
	if err := s.free(); err != nil {
		return nil, err
	}
	if err := removeStale(fs, dir, log); err != nil {
		return nil, err
	}
	s.tmp = tmpName(fs, dir)
	if err := fs.MkdirAll(s.tmp, 0o777); err != nil {
		return nil, ioError("making", s.tmp, err)
	}
	if s.lock, err = lockDir(fs, s.tmp); err != nil {
		_ = fs.RemoveAll(s.tmp) // the error that led here is the one to report
		return nil, err
	}
	return s, nil
}

// free returns ErrExists where something is in the way.
func (s *staging) free() error {
	if err := notThere(s.fs, s.dir); err != nil {
		return err
	}
	parent := s.fs.PathDir(s.dir)
	if _, err := s.fs.Stat(parent); err != nil {
		return ioError("finding", parent, err)
	}
	return nil
}

// addTable makes a table's directory. It returns the number of the table.
func (s *staging) addTable(t tableEntry) (int, error) {
	next := manifest{chainID: s.m.chainID, tables: append(s.m.tables[:len(s.m.tables):len(s.m.tables)], t)}
	if err := next.validate(); err != nil {
		return 0, fmt.Errorf("archive: %w", err)
	}
	dir := s.fs.PathJoin(s.tmp, t.name)
	if err := s.fs.MkdirAll(dir, 0o777); err != nil {
		return 0, ioError("making", dir, err)
	}
	s.m = next
	return len(s.m.tables) - 1, nil
}

// draft starts a file in a table's directory.
func (s *staging) draft(table string) (*draft, error) {
	s.drafts++
	return newDraft(s.fs, s.fs.PathJoin(s.tmp, table, fmt.Sprintf("%d%s", s.drafts, tmpSuffix)), "")
}

// add publishes a draft that holds the segment which follows a table's last one.
func (s *staging) add(ctx context.Context, table int, d *draft, info segment.Info, replaced []Replaced) error {
	if err := d.close(); err != nil {
		return err
	}
	if err := checkWritten(ctx, s.fs, d.path, info, s.enc); err != nil {
		return err
	}
	si := describe(info)
	si.Replaced = replaced
	t := &s.m.tables[table]
	t.segments = append(t.segments, si)
	return d.rename(s.fs.PathJoin(s.tmp, t.name, s.fs.PathBase(si.File)))
}

// finish writes the manifest and gives the archive its name.
func (s *staging) finish() (Info, error) {
	size, _, err := writeManifest(s.fs, s.tmp, &s.m)
	if err != nil {
		return Info{}, err
	}
	for i := range s.m.tables { // also those without segments, of which nobody has synced the directory
		if err := syncDir(s.fs, s.fs.PathJoin(s.tmp, s.m.tables[i].name)); err != nil {
			return Info{}, err
		}
	}
	if err := s.free(); err != nil {
		return Info{}, err
	}
	if runtime.GOOS == "windows" { // renames no directory in which a file is open
		if err := s.unlock(); err != nil {
			return Info{}, err
		}
	}
	if err := s.fs.Rename(s.tmp, s.dir); err != nil {
		return Info{}, errors.Join(ioError("renaming", s.tmp, err), s.free())
	}
	s.renamed = true
	if err := syncDir(s.fs, s.fs.PathDir(s.dir)); err != nil {
		return Info{}, err
	}
	if err := s.unlock(); err != nil {
		return Info{}, err
	}
	s.done = true
	i := s.m.info()
	i.ManifestBytes = size
	return i, nil
}

func (s *staging) unlock() error {
	if s.lock == nil {
		return nil
	}
	l := s.lock
	s.lock = nil
	return ioError("unlocking", s.tmp, l.Close())
}

// abort removes everything. After finish it does nothing.
func (s *staging) abort() error {
	if s.done {
		return nil
	}
	s.done = true
	err := s.unlock()
	path := s.tmp
	if s.renamed { // but nobody knows whether that is durable: a failed build leaves nothing
		path = s.dir
	}
	return errors.Join(err, ioError("removing", path, s.fs.RemoveAll(path)))
}
