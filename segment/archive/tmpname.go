package archive

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/cespare/xxhash/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// tmpSuffix is in the names of what is being written. In an archive's directory
// it ends them, and a writer that opens the archive removes them: nobody can be
// writing any more. Beside an archive or a lone file a random number follows, for
// any number may be at work there.
const tmpSuffix = ".tmp"

// Names can have 255 bytes, here and there 143.
const (
	maxTmpBase = 100 // bytes of a name that are taken over
	cutTmpBase = 80  // bytes of a longer one; its hash follows
)

// tmpBase returns what the temporary names for a final one begin with.
func tmpBase(base string) string {
	if len(base) > maxTmpBase {
		base = fmt.Sprintf("%s-%016x", strings.ToValidUTF8(base[:cutTmpBase], ""), xxhash.Sum64String(base))
	}
	return base + tmpSuffix + "-"
}

// tmpName returns a path beside the final one, which nobody has had yet.
func tmpName(fs vfs.FS, path string) string {
	return fs.PathJoin(fs.PathDir(path), fmt.Sprintf("%s%016x", tmpBase(fs.PathBase(path)), rand.Uint64()))
}

// isTmpName reports whether name is one that tmpName returns for base.
func isTmpName(name, base string) bool {
	digits, ok := strings.CutPrefix(name, tmpBase(base))
	return ok && len(digits) == 16 && strings.Trim(digits, "0123456789abcdef") == ""
}
