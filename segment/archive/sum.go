package archive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/cespare/xxhash/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/segstore/segstore/segment"
)

const hashBuffer = 1 << 20

// digest reads size bytes of r into h; done, if not nil, is told how many so far.
func digest(ctx context.Context, h hash.Hash, r io.ReaderAt, size int64, path string, done func(int64)) error {
	buf := make([]byte, min(size, hashBuffer))
	for off := int64(0); off < size; {
		if err := ctx.Err(); err != nil {
			return err
		}
		b := buf[:min(size-off, int64(len(buf)))]
		n, err := r.ReadAt(b, off)
		if n < len(b) {
			if err == nil || err == io.EOF {
				err = io.ErrUnexpectedEOF // the file is shorter than it was when its size was asked
			}
			return ioError("reading", path, err)
		}
		h.Write(b)
		off += int64(n)
		if done != nil {
			done(off)
		}
	}
	return nil
}

// hashFile returns the xxh64 of size bytes of f.
func hashFile(ctx context.Context, f io.ReaderAt, size int64, path string, done func(int64)) (segment.Checksum, error) {
	h := xxhash.New()
	err := digest(ctx, h, f, size, path, done)
	return segment.Checksum(h.Sum64()), err
}

// Checksum reads a file and returns its xxh64, as `xxhsum -H1` prints it, and its
// size in bytes.
func Checksum(ctx context.Context, fs vfs.FS, path string) (segment.Checksum, int64, error) {
	h := xxhash.New()
	size, err := sumFile(ctx, h, fs, path)
	return segment.Checksum(h.Sum64()), size, err
}

// SHA256 reads a file and returns its SHA-256 and its size in bytes.
func SHA256(ctx context.Context, fs vfs.FS, path string) ([sha256.Size]byte, int64, error) {
	h := sha256.New()
	size, err := sumFile(ctx, h, fs, path)
	return [sha256.Size]byte(h.Sum(nil)), size, err
}

func sumFile(ctx context.Context, h hash.Hash, fs vfs.FS, path string) (size int64, err error) {
	f, size, err := openRead(fs, path, vfs.SequentialReadsOption)
	if err != nil {
		return 0, err
	}
	err = digest(ctx, h, f, size, path, nil)
	return size, errors.Join(err, ioError("closing", path, f.Close()))
}

// hexSum is a checksum that somebody gave, of either kind.
type hexSum struct {
	text   string // lower-case
	xxh    segment.Checksum
	sha256 bool
}

// parseSum reads 16 hex digits (xxh64) or 64 (SHA-256).
func parseSum(s string) (hexSum, error) {
	b, err := hex.DecodeString(s)
	if err != nil {
		return hexSum{}, fmt.Errorf("archive: checksum %.80q: expected hex digits", s)
	}
	h := hexSum{text: hex.EncodeToString(b)}
	switch len(b) {
	case 8:
		return h, h.xxh.UnmarshalText([]byte(s))
	case sha256.Size:
		h.sha256 = true
		return h, nil
	}
	return hexSum{}, fmt.Errorf("archive: checksum of %d digits, expected 16 (xxh64) or 64 (SHA-256)", len(s))
}
