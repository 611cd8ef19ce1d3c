package newfile

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/cespare/xxhash/v2"
)

const tmpMark = ".tmp-"

// Names can have 255 bytes, on some file systems 143. A name up to maxBase is taken over whole into the temporary one, of a
// longer one cutBase bytes and its hash.
const (
	maxBase = 100
	cutBase = 80
)

// tmpBase returns what the temporary names for a final one begin with.
func tmpBase(base string) string {
	if len(base) > maxBase {
		base = fmt.Sprintf("%s-%016x", strings.ToValidUTF8(base[:cutBase], ""), xxhash.Sum64String(base))
	}
	return base + tmpMark
}

// tmpPath returns a path beside the final one that nobody has had yet.
func tmpPath(path string) string {
	return filepath.Join(filepath.Dir(path), fmt.Sprintf("%s%016x", tmpBase(filepath.Base(path)), rand.Uint64()))
}

// isTmp reports whether name is one that tmpPath gives to a final name.
func isTmp(name, base string) bool {
	digits, ok := strings.CutPrefix(name, tmpBase(base))
	return ok && len(digits) == 16 && strings.Trim(digits, "0123456789abcdef") == ""
}

// removeDead removes what killed processes have left of path: what has one of its temporary names and is held by nobody.
// That something stays, for want of permission or of locks, keeps nobody from making path.
func removeDead(path string) {
	dir, base := filepath.Dir(path), filepath.Base(path)
	list, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range list {
		if !isTmp(e.Name(), base) || !e.Type().IsRegular() && !e.IsDir() {
			continue
		}
		tmp := filepath.Join(dir, e.Name())
		if held, ok, err := hold(tmp); err == nil && ok && held != nil {
			_ = os.RemoveAll(tmp) // see above
			_ = held.Close()      // nothing was written
		}
	}
}
