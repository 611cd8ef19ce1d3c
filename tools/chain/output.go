package chain

import "io"

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
