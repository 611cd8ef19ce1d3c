package chain

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/segstore/segstore/tools/chain/newfile"
)

// Output is where an exporter puts files. It is used by one goroutine.
type Output interface {
	// Create starts a file. name is a base name without separators, no longer than 255 bytes and different, also when
	// case is ignored, from all names given before. An existing file is never replaced: it is an error, or, if the output
	// says so, one where what is written is not what the file holds.
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
// removed again when no file gets into it. A file that is there already is compared and stays; other bytes are fs.ErrExist.
// So an export that failed goes on where it is run again. What killed ones have left of a file of that name is removed.
func DirOutput(dir string) Output { return &dirOutput{dir: filepath.Clean(dir)} }

// FileOutput returns an output that makes the one file at path, whatever name it is given; a second one is an error. As with
// DirOutput, one that is there already is compared.
func FileOutput(path string) Output { return &fileOutput{path: filepath.Clean(path)} }

type dirOutput struct {
	dir string
}

func (d *dirOutput) Create(name string) (OutputFile, error) {
	if name != filepath.Base(name) || name == "." || name == ".." || name == string(filepath.Separator) {
		return nil, fmt.Errorf("chain: %q is not the name of a file in a directory", name)
	}
	switch err := os.Mkdir(d.dir, 0o777); {
	case errors.Is(err, fs.ErrExist):
		return createOrCompare(filepath.Join(d.dir, name))
	case err != nil:
		return nil, err
	}
	err := newfile.SyncDir(filepath.Dir(d.dir))
	var f *newfile.File
	if err == nil {
		f, err = newfile.Create(filepath.Join(d.dir, name))
	}
	if err != nil {
		return nil, errors.Join(err, os.Remove(d.dir))
	}
	return &firstFile{f, d.dir}, nil
}

// firstFile is a file whose directory was made for it.
type firstFile struct {
	*newfile.File
	dir string
}

func (f *firstFile) Commit() error {
	err := f.File.Commit()
	if err != nil {
		_ = os.Remove(f.dir) // if it is empty
	}
	return err
}

func (f *firstFile) Abort() error {
	err := f.File.Abort()
	_ = os.Remove(f.dir) // if it is empty: it is not after Commit
	return err
}

type fileOutput struct {
	path string
	used bool
}

func (o *fileOutput) Create(name string) (OutputFile, error) {
	if o.used {
		return nil, fmt.Errorf("chain: %s is one file: no room for %q as well", o.path, name)
	}
	f, err := createOrCompare(o.path)
	if err != nil {
		return nil, err
	}
	o.used = true
	return f, nil
}

func createOrCompare(path string) (OutputFile, error) {
	info, err := os.Stat(path)
	if err == nil && info.Mode().IsRegular() {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		return &keptFile{f: f, r: bufio.NewReaderSize(f, InputBuffer), path: path}, nil
	}
	f, err := newfile.Create(path) // which refuses what is no file
	if err != nil {
		return nil, err
	}
	return f, nil
}

// keptFile is a file that is there already: what is written to it must be what it holds.
type keptFile struct {
	f    *os.File
	r    *bufio.Reader
	path string
	n    int64
}

var _ keeper = (*keptFile)(nil)

// keeper is an OutputFile that may have been there already.
type keeper interface{ kept() bool }

func (f *keptFile) kept() bool { return true }

func (f *keptFile) Write(p []byte) (done int, err error) {
	for done < len(p) {
		have, err := f.r.Peek(min(len(p)-done, InputBuffer))
		if err != nil && !errors.Is(err, io.EOF) {
			return done, err
		}
		want := p[done : done+len(have)]
		if len(have) == 0 || !bytes.Equal(have, want) {
			same := 0
			for same < len(have) && have[same] == want[same] {
				same++
			}
			return done, f.differs(f.n + int64(same))
		}
		if _, err := f.r.Discard(len(have)); err != nil {
			return done, err
		}
		f.n += int64(len(have))
		done += len(have)
	}
	return done, nil
}

func (f *keptFile) differs(at int64) error {
	return &fs.PathError{Op: "create", Path: f.path, Err: fmt.Errorf("%w, with other bytes from byte %d on", fs.ErrExist, at)}
}

func (f *keptFile) Commit() error {
	_, err := f.r.Peek(1)
	switch {
	case err == nil:
		err = f.differs(f.n)
	case errors.Is(err, io.EOF):
		err = nil
	}
	return errors.Join(err, f.f.Close())
}

func (f *keptFile) Abort() error {
	_ = f.f.Close() // nothing was written
	return nil
}
