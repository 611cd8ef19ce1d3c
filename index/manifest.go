package index

import (
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"strings"

	"github.com/cespare/xxhash/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Pebble takes a record of its manifest that does not check for the end, as a
// crash may leave it. A flipped bit would so take tables away in silence. Next
// to each manifest is therefore NAME.sum, of records that say what the manifest
// was whenever it was synced; little-endian:
//
//	0:8 length   8:16 xxh64 of as much of the manifest   16:24 xxh64 of 0:16
//
// Both names are durable before the manifest counts, which Pebble does not see
// to. The records are not synced: the last one that checks, if any, tells of
// bytes that cannot have changed.
const (
	manifestPrefix = "MANIFEST-"
	sumSuffix      = ".sum"
	sumBytes       = 24
)

func (g *guard) isManifest(name string) bool {
	base := g.FS.PathBase(name)
	return strings.HasPrefix(base, manifestPrefix) && !strings.HasSuffix(base, sumSuffix)
}

// manifestFile is a manifest that is written.
type manifestFile struct {
	vfs.File
	sums   vfs.File
	hash   *xxhash.Digest
	length uint64
}

// summed makes the sums of a manifest that was just made.
func (g *guard) summed(name string, f vfs.File, c vfs.DiskWriteCategory) (vfs.File, error) {
	sums, err := g.Create(name+sumSuffix, c)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	sync := func() error { return g.syncDir(g.FS.PathDir(name)) }
	if g.owned(name) {
		g.hide(sync)
	} else if err := sync(); err != nil {
		return nil, errors.Join(err, f.Close(), sums.Close())
	}
	return &manifestFile{File: f, sums: sums, hash: xxhash.New()}, nil
}

func (g *guard) syncDir(dir string) error {
	d, err := g.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func (f *manifestFile) Write(p []byte) (int, error) {
	f.hash.Write(p)
	f.length += uint64(len(p))
	return f.File.Write(p)
}

func (f *manifestFile) Sync() error {
	if err := f.File.Sync(); err != nil {
		return err
	}
	b := binary.LittleEndian.AppendUint64(make([]byte, 0, sumBytes), f.length)
	b = binary.LittleEndian.AppendUint64(b, f.hash.Sum64())
	b = binary.LittleEndian.AppendUint64(b, xxhash.Sum64(b))
	_, err := f.sums.Write(b)
	return err
}

func (f *manifestFile) SyncData() error { return f.Sync() }

func (f *manifestFile) Close() error { return errors.Join(f.File.Close(), f.sums.Close()) }

// parseSum reads a record; false if it does not check.
func parseSum(b []byte) (length, sum uint64, ok bool) {
	if len(b) != sumBytes || xxhash.Sum64(b[:16]) != binary.LittleEndian.Uint64(b[16:]) {
		return 0, 0, false
	}
	return binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:]), true
}

// lastSum returns the last record that checks.
func lastSum(b []byte) (length, sum uint64, ok bool) {
	for n := len(b) / sumBytes; n > 0 && !ok; n-- {
		length, sum, ok = parseSum(b[(n-1)*sumBytes : n*sumBytes])
	}
	return length, sum, ok
}

// checkManifest holds a manifest to its sums.
func (g *guard) checkManifest(name string) error {
	b, err := g.readFile(name + sumSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return damaged("%s has no sums", name)
	} else if err != nil {
		return err
	}
	length, sum, ok := lastSum(b)
	if !ok {
		return nil // it was made just before a crash
	}
	manifest, err := g.readFile(name)
	switch {
	case err != nil:
		return err
	case uint64(len(manifest)) < length:
		return damaged("%s: %d bytes, expected %d or more", name, len(manifest), length)
	case xxhash.Sum64(manifest[:length]) != sum:
		return damaged("%s: checksum", name)
	}
	return nil
}

func (g *guard) readFile(name string) (b []byte, err error) {
	f, err := g.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return io.ReadAll(f)
}

// removeSums removes those of manifests that are gone.
func (g *guard) removeSums(names []string) error {
	for _, name := range names {
		manifest, ok := strings.CutSuffix(name, sumSuffix)
		if !ok || !strings.HasPrefix(name, manifestPrefix) {
			continue
		}
		if _, err := g.Stat(g.FS.PathJoin(g.dir, manifest)); !errors.Is(err, fs.ErrNotExist) {
			if err != nil {
				return err
			}
			continue
		}
		if err := g.Remove(g.FS.PathJoin(g.dir, name)); err != nil {
			return err
		}
	}
	return nil
}
