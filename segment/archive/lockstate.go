package archive

import "github.com/cockroachdb/pebble/v2/vfs"

// LockState says whether a writer has the lock of an archive, as far as that can be told
// without taking it.
type LockState string

// What is known of a lock.
const (
	LockHeld    LockState = "held"
	LockFree    LockState = "free"    // no process that this one can see has it: not one in another container, or on another machine
	LockUnknown LockState = "unknown" // the file system, or the operating system, does not say
)

// lockState looks at a lock. Trying it would make a file, and refuse a writer that comes
// at that moment; opening and closing the file would give back a lock that this process
// holds.
func lockState(fs vfs.FS, path string) LockState {
	if !onDisk(fs) {
		return LockUnknown
	}
	if _, err := fs.Stat(path); missing(err) {
		return LockFree
	}
	return diskLock(path)
}
