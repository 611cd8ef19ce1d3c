package archive

import (
	"errors"
	"fmt"
	"io"
	iofs "io/fs"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// writes is the category under which a file system accounts for what is written.
const writes vfs.DiskWriteCategory = "segstore"

// draft is a file under a temporary name, until it is whole. In this order:
// write, sync, close, read back and compare, rename, sync the directory. Whoever
// finds the final name finds a whole file.
type draft struct {
	fs   vfs.FS
	path string    // the temporary one
	f    vfs.File  // nil once closed
	held io.Closer // says that somebody is at work on it; nil where nobody asks
}

// newDraft starts a file. It gets the permissions of the file like, which it is to
// take the place of, before there is anything in it to read; where like is "", or
// not there, those of any new file.
func newDraft(fs vfs.FS, path, like string) (*draft, error) {
	f, err := fs.Create(path, writes)
	if err != nil {
		return nil, ioError("creating", path, err)
	}
	d := &draft{fs: fs, path: path, f: f}
	if like != "" {
		if err := keepMode(fs, like, path); err != nil {
			return nil, errors.Join(err, d.discard())
		}
	}
	return d, nil
}

// Write appends to the file. As a vfs.File it may change p.
func (d *draft) Write(p []byte) (int, error) {
	n, err := d.f.Write(p)
	return n, ioError("writing", d.path, err)
}

// close ends writing; after it without an error all is durable, but for the name.
func (d *draft) close() error {
	err := ioError("syncing", d.path, d.f.Sync())
	cerr := ioError("closing", d.path, d.f.Close())
	d.f = nil
	return errors.Join(err, cerr)
}

// discard closes and removes the file.
func (d *draft) discard() error {
	var err error
	if d.f != nil {
		err = ioError("closing", d.path, d.f.Close())
		d.f = nil
	}
	return errors.Join(err, ioError("removing", d.path, d.fs.Remove(d.path)), d.release())
}

// release says that nobody is at work on the file any more.
func (d *draft) release() error {
	if d.held == nil {
		return nil
	}
	h := d.held
	d.held = nil
	return ioError("releasing", d.path, h.Close())
}

// rename gives the file its final name, in the place of what has it, and makes
// that durable. After an error either name may be there.
func (d *draft) rename(to string) error {
	if err := d.fs.Rename(d.path, to); err != nil {
		return ioError("renaming", d.path, err)
	}
	return errors.Join(syncDir(d.fs, d.fs.PathDir(to)), d.release())
}

// link gives the file a final name that nothing has yet, and makes that durable:
// ErrExists where something has it, also since an instant ago, for a link is made
// only where there is nothing. A file system without links gets a look and a
// rename, between which another process can make a file that is then lost. After
// an error neither name is there.
func (d *draft) link(to string) error {
	err := d.fs.Link(d.path, to)
	if err == nil {
		err = ioError("removing", d.path, d.fs.Remove(d.path))
		if err = errors.Join(err, syncDir(d.fs, d.fs.PathDir(to)), d.release()); err != nil {
			_ = d.fs.Remove(d.path) // the error that led here is the one to report
			_ = d.fs.Remove(to)
		}
		return err
	}
	if errors.Is(err, iofs.ErrExist) {
		return errors.Join(fmt.Errorf("%w: %s", ErrExists, to), d.discard())
	}
	if !noLinks(err) {
		return errors.Join(ioError("linking", to, err), d.discard())
	}
	if err := notThere(d.fs, to); err != nil {
		return errors.Join(err, d.discard())
	}
	if err := d.rename(to); err != nil {
		_ = d.fs.Remove(d.path) // whichever of the two names it has
		_ = d.fs.Remove(to)
		return errors.Join(err, d.release())
	}
	return nil
}

// syncDir makes the names in a directory durable.
func syncDir(fs vfs.FS, dir string) error {
	d, err := fs.OpenDir(dir)
	if err != nil {
		return ioError("opening", dir, err)
	}
	err = ioError("syncing", dir, d.Sync())
	return errors.Join(err, ioError("closing", dir, d.Close()))
}
