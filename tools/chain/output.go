package chain

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// Output is where an exporter puts files. It is used by one goroutine.
type Output interface {
	// Create starts a file. name is a base name without separators, no longer than 255 bytes and different, also when
	// case is ignored, from all names given before. An existing file is never replaced: that is an error.
	Create(name string) (OutputFile, error)
}

// OutputFile is a file being written. It appears under its name by Commit only.
type OutputFile interface {
	io.Writer
	// Commit makes the file durable and gives it its name. No method may be called after it.
	Commit() error
	// Abort drops what was written. It has no effect after Commit.
	Abort() error
}

// DirOutput returns an output that makes files in a directory, which is made where it does not exist (its parent must), and
// removed again when no file gets into it.
func DirOutput(dir string) Output { return &dirOutput{dir: dir} }

// FileOutput returns an output that makes the one file at path, whatever name it is given; a second one is an error.
func FileOutput(path string) Output { return &fileOutput{path: path} }

type dirOutput struct {
	dir string
}

func (d *dirOutput) Create(name string) (OutputFile, error) {
	if name != filepath.Base(name) || name == "." || name == ".." || name == string(filepath.Separator) {
		return nil, fmt.Errorf("chain: %q is not the name of a file in a directory", name)
	}
	made := false
	switch err := os.Mkdir(d.dir, 0o777); {
	case err == nil:
		made = true
	case !errors.Is(err, fs.ErrExist):
		return nil, err
	}
	f, err := createFile(filepath.Join(d.dir, name))
	if err != nil {
		if made {
			err = errors.Join(err, os.Remove(d.dir))
		}
		return nil, err
	}
	f.made = made
	return f, nil
}

type fileOutput struct {
	path string
	used bool
}

func (o *fileOutput) Create(name string) (OutputFile, error) {
	if o.used {
		return nil, fmt.Errorf("chain: %s is one file: no room for %q as well", o.path, name)
	}
	f, err := createFile(o.path)
	if err != nil {
		return nil, err
	}
	o.used = true
	return f, nil
}

// osFile is a temporary file beside the place where it will be.
type osFile struct {
	*os.File
	path string
	made bool // its directory was made for it
	done bool
}

func createFile(path string) (*osFile, error) {
	if err := refuseExisting(path); err != nil {
		return nil, err
	}
	// Not os.CreateTemp: its files are private, and the user's umask is to decide.
	for i := 0; ; i++ {
		name := filepath.Join(filepath.Dir(path), fmt.Sprintf(".export-%d-%d.tmp", os.Getpid(), i))
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if errors.Is(err, fs.ErrExist) && i < maxTemporary {
			continue
		}
		if err != nil {
			return nil, err
		}
		return &osFile{File: f, path: path}, nil
	}
}

// maxTemporary is how many names of temporary files are tried.
const maxTemporary = 1000

func refuseExisting(path string) error {
	switch _, err := os.Lstat(path); {
	case err == nil:
		return &os.PathError{Op: "create", Path: path, Err: fs.ErrExist}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return nil
}

// Commit syncs and closes the file, renames it, and syncs the directory: in this order a crash leaves the whole file or none.
func (f *osFile) Commit() error {
	err := f.Sync()
	if err == nil {
		err = refuseExisting(f.path)
	}
	if err != nil {
		return errors.Join(err, f.Abort())
	}
	f.done = true
	err = f.Close()
	if err == nil {
		err = os.Rename(f.Name(), f.path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return syncDir(filepath.Dir(f.path))
}

func (f *osFile) Abort() error {
	if f.done {
		return nil
	}
	f.done = true
	err := errors.Join(f.Close(), os.Remove(f.Name()))
	if f.made {
		err = errors.Join(err, os.Remove(filepath.Dir(f.path)))
	}
	return err
}

func syncDir(dir string) error {
	if runtime.GOOS == "windows" { // directories cannot be synced there
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
