package chain

import (
	"io"
	"os"
	"path"
	"strings"
)

// File is a file to import, wherever it lies.
type File struct {
	// Name is its path or address; the last part is what the table sources keeps.
	Name string
	// Size in bytes as it lies; below 0 when not known. Used for progress and to refuse lengths that the file cannot hold.
	Size int64
	// Open returns its bytes from the start. It may be called more than once, also before an earlier reader is closed.
	// Where the reader is an io.Seeker, a first walk over the file may skip bytes instead of reading them.
	Open func() (io.ReadCloser, error)
}

// Base returns the last part of the name, whatever the separator.
func (f File) Base() string {
	b := path.Base(strings.ReplaceAll(f.Name, `\`, "/"))
	if b == "." || b == "/" || b == ".." {
		return "unnamed"
	}
	return b
}

// OSFile returns the file of the operating system at path. Only a regular file can be read twice, as imports do: a
// directory, a pipe or a device is an error.
func OSFile(path string) (File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return File{}, err
	}
	switch {
	case info.IsDir():
		return File{}, &os.PathError{Op: "import", Path: path, Err: errIsDirectory}
	case !info.Mode().IsRegular():
		return File{}, &os.PathError{Op: "import", Path: path, Err: errNotRegular}
	}
	return File{Name: path, Size: info.Size(), Open: func() (io.ReadCloser, error) { return os.Open(path) }}, nil
}
