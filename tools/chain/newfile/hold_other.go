//go:build !darwin && !dragonfly && !freebsd && !linux && !netbsd && !openbsd

package newfile

import "io"

// hold says nothing here: a lock would be in the way when the file gets its name. What a killed process leaves stays.
func hold(string) (c io.Closer, ok bool, err error) { return nil, true, nil }
