//go:build unix

package cmd

import (
	"runtime"
	"syscall"
)

// peakUsage returns the peak by getrusage: bytes on Apple's systems, else KiB.
func peakUsage() int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return int64(u.Maxrss)
	}
	return int64(u.Maxrss) << 10
}
