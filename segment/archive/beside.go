package archive

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2/vfs"
)

const maxHolds = 10 // names tried: one is taken away only in the instant in which it is made

// newDraftBeside starts the draft of a lone file beside its final name, with the
// permissions of the file like, and removes what killed processes have left of
// others for the same name. A living one holds its draft by a lock, which ends with
// it; where there are no such locks (Windows, some network file systems), and on
// file systems that are not the disk, nothing is removed.
func newDraftBeside(fs vfs.FS, path, like string) (*draft, error) {
	if !onDisk(fs) {
		return newDraft(fs, tmpName(fs, path), like)
	}
	removeDead(fs, path)
	for range maxHolds {
		d, err := newDraft(fs, tmpName(fs, path), "")
		if err != nil {
			return nil, err
		}
		var ok bool
		if d.held, ok, err = hold(d.path); err == nil && ok && like != "" {
			err = keepMode(fs, like, d.path) // after hold, which wants to open the file
		}
		if err == nil && ok {
			return d, nil
		}
		if err != nil && !missing(err) {
			return nil, errors.Join(ioError("holding", d.path, err), d.discard())
		}
		_ = d.discard() // another process takes it for one of a dead one, and removes it too
	}
	return nil, fmt.Errorf("archive: %s: a temporary file beside it is taken away again and again", path)
}

// removeDead removes drafts of path that nobody holds. That some stay, for want of
// permission or so, keeps nobody from writing another.
func removeDead(fs vfs.FS, path string) {
	dir, base := fs.PathDir(path), fs.PathBase(path)
	names, err := fs.List(dir)
	if err != nil {
		return
	}
	for _, name := range names {
		if !isTmpName(name, base) {
			continue
		}
		tmp := fs.PathJoin(dir, name)
		if st, err := fs.Stat(tmp); err != nil || !st.Mode().IsRegular() {
			continue // a builder's directory of the same name is its own affair
		}
		if held, ok, err := hold(tmp); err == nil && ok && held != nil {
			_ = fs.Remove(tmp)
			_ = held.Close() // nothing was written
		}
	}
}
