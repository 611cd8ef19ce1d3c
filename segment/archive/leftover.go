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

// leftover is a file that no manifest names.
type leftover struct {
	file  string // path from the archive's directory, with slashes, or all of a path outside
	path  string
	known bool // an interrupted writer left it, and nothing needs it
}

// leftovers finds what a killed writer left: temporary files, and segments that the
// manifest does not name but whose rows it has elsewhere; and segments with rows that
// no table has, which are not known.
func (a *Archive) leftovers(st *state) (found []leftover, err error) {
	names, err := a.fs.List(a.dir)
	if err != nil {
		return nil, ioError("listing", a.dir, err)
	}
	if slices.Contains(names, ManifestName+tmpSuffix) {
		found = append(found, leftover{ManifestName + tmpSuffix, a.path(ManifestName + tmpSuffix), true})
	}
	if at, err := resolve(a.fs, a.path(ManifestName)); err == nil && a.fs.PathDir(at) != a.dir { // a link
		if _, err := a.fs.Stat(at + tmpSuffix); err == nil {
			found = append(found, leftover{at + tmpSuffix, at + tmpSuffix, true})
		} else if !missing(err) {
			return nil, ioError("finding", at+tmpSuffix, err)
		}
	}
	for i := range st.tables {
		t := &st.tables[i]
		if !slices.Contains(names, t.name) && len(t.tableEntry.segments) == 0 {
			continue // copying tools forget empty directories
		}
		if found, err = a.tableLeftovers(found, t, st.m.dropped); err != nil {
			return nil, err
		}
	}
	return found, nil
}

func (a *Archive) tableLeftovers(found []leftover, t *tableState, dropped []droppedFile) ([]leftover, error) {
	dir := a.fs.PathJoin(a.dir, t.name)
	names, err := a.fs.List(dir)
	if missing(err) {
		return found, nil // its segments are missing: that is said when they are read
	}
	if err != nil {
		return nil, ioError("listing", dir, err)
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
		l := leftover{file, a.path(file), true}
		switch {
		case strings.HasSuffix(name, tmpSuffix):
		case !segmentName.MatchString(name) || named[segmentOf(file)]:
			continue
		default:
			l.known = lastRow(name) < t.end() || drop[segmentOf(file)]
		}
		found = append(found, l)
	}
	return found, nil
}

// removeLeftovers removes the leftovers that are known. Everything else stays, whatever
// it is. The caller holds the lock.
func (a *Archive) removeLeftovers(st *state) error {
	found, err := a.leftovers(st)
	if err != nil {
		return err
	}
	for _, l := range found {
		if !l.known {
			a.log.Warn("segment with rows that no table has: left alone", "dir", a.dir, "file", l.file)
			continue
		}
		if err := a.removeLeftover(l); err != nil {
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

func (a *Archive) removeLeftover(l leftover) error {
	if err := a.fs.Remove(l.path); err != nil {
		err = ioError("removing", l.path, err)
		a.fileRemoved(l.file, 0, err)
		return err
	}
	a.fileRemoved(l.file, 0, nil)
	a.log.Info("removed what an interrupted writer left", "dir", a.dir, "file", l.file)
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
