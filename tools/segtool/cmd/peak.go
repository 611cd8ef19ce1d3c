package cmd

import (
	"bufio"
	"os"
	"strconv"
	"strings"
)

// peakMemory returns the most bytes of memory that this process has had resident,
// or 0 where nobody knows.
func peakMemory() int64 {
	// VmHWM is of this program alone; what getrusage says starts, on Linux, with what
	// the program had that started this one.
	f, err := os.Open("/proc/self/status")
	if err != nil {
		return peakUsage()
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if rest, ok := strings.CutPrefix(s.Text(), "VmHWM:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(rest, "kB")), 10, 64)
			if err == nil {
				return kib << 10
			}
		}
	}
	return peakUsage()
}
