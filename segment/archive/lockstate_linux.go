package archive

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// diskLock looks for the lock in the system's list, whose lines are
//
//	1: POSIX  ADVISORY  WRITE 4711 fd:01:1234567 0 EOF
//
// with process, device and inode. File systems in layers show one device there and
// another one to Stat: then the process's open files tell.
func diskLock(path string) LockState {
	info, err := os.Stat(path)
	if err != nil {
		return LockUnknown
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return LockUnknown
	}
	list, err := os.ReadFile("/proc/locks")
	if err != nil {
		return LockUnknown
	}
	dev := uint64(st.Dev)
	major, minor := dev>>8&0xfff|dev>>32&^0xfff, dev&0xff|dev>>12&^0xff
	inode := fmt.Sprintf(":%d", st.Ino)
	for line := range strings.Lines(string(list)) {
		f := strings.Fields(line)
		if len(f) < 8 || f[1] != "POSIX" || f[3] != "WRITE" || !strings.HasSuffix(f[5], inode) {
			continue
		}
		if f[5] == fmt.Sprintf("%02x:%02x%s", major, uint32(minor), inode) || hasOpen(f[4], path) {
			return LockHeld
		}
	}
	return LockFree
}

// hasOpen reports whether a process has a file open, as far as it may be asked.
func hasOpen(process, path string) bool {
	dir := filepath.Join("/proc", process, "fd")
	list, err := os.ReadDir(dir)
	if err != nil {
		return false
	}
	for _, e := range list {
		if to, err := os.Readlink(filepath.Join(dir, e.Name())); err == nil && to == path {
			return true
		}
	}
	return false
}
