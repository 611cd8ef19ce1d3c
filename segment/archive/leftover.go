package archive

import (
	"errors"
	"log/slog"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// segmentName matches the base name of a segment, and of what is derived from it.
var segmentName = regexp.MustCompile(`^(\d{10,20})-(\d{10,20})-[0-9a-f]{16}\.seg(\.tree|\.par)?$`)

// removeLeftovers removes what a killed writer left: temporary files, and
// segments that the manifest does not name but whose rows it has elsewhere.
// Everything else stays, whatever it is. The caller holds the lock.
func (a *Archive) removeLeftovers(st *state) error {
	names, err := a.fs.List(a.dir)
	if err != nil {
		return ioError("listing", a.dir, err)
	}
	if slices.Contains(names, ManifestName+tmpSuffix) {
		if err := a.removeLeftover(ManifestName + tmpSuffix); err != nil {
			return err
		}
	}
	if at, err := resolve(a.fs, a.path(ManifestName)); err == nil && a.fs.PathDir(at) != a.dir { // a link
		if err := a.fs.Remove(at + tmpSuffix); err != nil && !missing(err) {
			return ioError("removing", at+tmpSuffix, err)
		}
	}
	for i := range st.tables {
		t := &st.tables[i]
		if !slices.Contains(names, t.name) && len(t.tableEntry.segments) == 0 {
			continue // copying tools forget empty directories
		}
		if err := a.removeTableLeftovers(t, st.m.dropped); err != nil {
			return err
		}
	}
	return nil
}

func (a *Archive) removeTableLeftovers(t *tableState, dropped []droppedFile) error {
	dir := a.fs.PathJoin(a.dir, t.name)
	names, err := a.fs.List(dir)
	if missing(err) {
		return nil // its segments are missing: that is said when they are read
	}
	if err != nil {
		return ioError("listing", dir, err)
	}
	slices.Sort(names)
	named, drop := make(map[string]bool, len(t.tableEntry.segments)), map[string]bool{}
	for _, d := range dropped {
		drop[d.File] = true
	}
	for i := range t.tableEntry.segments {
		named[t.tableEntry.segments[i].File] = true
	}
	for _, name := range names {
		file := t.name + "/" + name
		switch {
		case strings.HasSuffix(name, tmpSuffix):
			err = a.removeLeftover(file)
		case !segmentName.MatchString(name) || named[segmentOf(file)]:
		case lastRow(name) < t.end() || drop[segmentOf(file)]:
			err = a.removeLeftover(file)
		default:
			a.log.Warn("segment with rows that the table does not have: left alone", "dir", a.dir, "file", file, "end_row", t.end())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// segmentOf returns the segment's file to which a file belongs.
func segmentOf(file string) string {
	file = strings.TrimSuffix(file, ".tree")
	return strings.TrimSuffix(file, ".par")
}

// lastRow returns the last row by a segment's name; the largest number where the
// name has none that fits.
func lastRow(name string) uint64 {
	v, err := strconv.ParseUint(segmentName.FindStringSubmatch(name)[2], 10, 64)
	if err != nil {
		return ^uint64(0)
	}
	return v
}

func (a *Archive) removeLeftover(file string) error {
	if err := a.fs.Remove(a.path(file)); err != nil {
		err = ioError("removing", a.path(file), err)
		a.fileRemoved(file, 0, err)
		return err
	}
	a.fileRemoved(file, 0, nil)
	a.log.Info("removed what an interrupted writer left", "dir", a.dir, "file", file)
	return nil
}

// removeStale removes the directories of builders of dir that were killed: those
// beside it whose lock is free.
func removeStale(fs vfs.FS, dir string, log *slog.Logger) error {
	parent, base := fs.PathDir(dir), fs.PathBase(dir)
	names, err := fs.List(parent)
	if err != nil {
		return ioError("listing", parent, err)
	}
	slices.Sort(names)
	for _, name := range names {
		if !isTmpName(name, base) {
			continue
		}
		path := fs.PathJoin(parent, name)
		l, err := lockDir(fs, path)
		if err != nil { // in use, or not ours to touch
			if !errors.Is(err, ErrLocked) {
				log.Warn("what an interrupted builder may have left cannot be locked: left alone", "dir", path, "error", err)
			}
			continue
		}
		// Its builder is dead. The lock goes first: Windows removes no open file.
		err = errors.Join(ioError("unlocking", path, l.Close()), ioError("removing", path, fs.RemoveAll(path)))
		if err != nil {
			return err
		}
		log.Info("removed what an interrupted builder left", "dir", path)
	}
	return nil
}
