package archive

import (
	"errors"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/segstore/segstore/codec"
)

// spare is what must be free beside a new segment: for the manifest, and so that
// others on the disk go on.
const spare = 1 << 20

// checkSpace returns a *SpaceError where a file of need bytes will not fit beside
// what is there. File systems that cannot say are believed to have room: a full
// disk is an error later, and harmless.
func checkSpace(fs vfs.FS, dir string, need uint64) error {
	u, err := fs.GetDiskUsage(dir)
	if errors.Is(err, vfs.ErrUnsupported) {
		return nil
	}
	if err != nil {
		return ioError("asking for the free space of", dir, err)
	}
	if need += spare; u.AvailBytes < need {
		return &SpaceError{Path: dir, Need: need, Available: u.AvailBytes}
	}
	return nil
}

// checkSpace checks that the recompressed segment fits into dir.
func (j *job) checkSpace(fs vfs.FS, dir string) error {
	p := j.o.Policy
	if len(p.Rules) == 0 { // another level or encoding does not change the codecs
		var err error
		if p, err = j.r.Policy(); err != nil {
			return err
		}
	}
	return checkSpace(fs, dir, needed(j.s, p))
}

// needed returns about how many bytes a segment may take under another policy:
// a quarter more than now, or all that it can be where the policy hardly
// compresses.
func needed(s SegmentInfo, p codec.Policy) uint64 {
	n := uint64(s.StoredBytes) + uint64(s.StoredBytes)/4
	for _, r := range p.Rules {
		if r.Spec.ID != codec.Zstd {
			return max(n, s.RawBytes+s.RawBytes/16)
		}
	}
	return n
}
