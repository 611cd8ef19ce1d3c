package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	iofs "io/fs"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/segstore/segstore/codec"
	"github.com/segstore/segstore/segment"
)

// writeManifest replaces the manifest in dir, whose permissions it keeps. done says whether the new one may
// be there already although there is an error.
func writeManifest(fs vfs.FS, dir string, m *manifest) (size int64, done bool, err error) {
	b, err := m.encode()
	if err == nil {
		_, err = decodeManifest(b) // never write what could not be read
	}
	if err != nil {
		return 0, false, err
	}
	path, err := resolve(fs, fs.PathJoin(dir, ManifestName)) // where it is a link, the link stays
	if err != nil {
		return 0, false, err
	}
	d, err := newDraft(fs, path+tmpSuffix, path)
	if err != nil {
		return 0, false, err
	}
	_, err = d.Write(bytes.Clone(b))
	if err == nil {
		err = d.close()
	}
	if err == nil {
		var back []byte
		if back, err = readSmall(fs, d.path); err == nil && !bytes.Equal(b, back) {
			err = fmt.Errorf("archive: %s: other bytes came back than were written", d.path)
		}
	}
	if err != nil {
		_ = d.discard() // the error that led here is the one to report
		return 0, false, err
	}
	return int64(len(b)), true, d.rename(path)
}

// readManifest reads the manifest in dir, and returns its size.
func readManifest(fs vfs.FS, dir string) (*manifest, int64, error) {
	b, err := manifestBytes(fs, dir)
	if err != nil {
		return nil, 0, err
	}
	m, err := parseManifest(fs, dir, b)
	return m, int64(len(b)), err
}

// manifestBytes returns the bytes of the manifest in dir. ErrNotArchive.
func manifestBytes(fs vfs.FS, dir string) ([]byte, error) {
	path := fs.PathJoin(dir, ManifestName)
	b, err := readSmall(fs, path)
	if missing(err) {
		return nil, notArchive(path, iofs.ErrNotExist)
	}
	return b, err
}

// parseManifest parses the manifest in dir. ErrVersion, *ManifestError.
func parseManifest(fs vfs.FS, dir string, b []byte) (*manifest, error) {
	path := fs.PathJoin(dir, ManifestName)
	m, err := decodeManifest(b)
	if errors.Is(err, ErrVersion) {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err != nil {
		return nil, &ManifestError{File: path, Err: err}
	}
	return m, nil
}

// readSmall reads a whole file that cannot be larger than a manifest.
func readSmall(fs vfs.FS, path string) (b []byte, err error) {
	f, size, err := openRead(fs, path)
	if errors.Is(err, ErrNotFile) {
		return nil, &ManifestError{File: path, Err: err}
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, ioError("closing", path, f.Close())) }()
	if size > maxManifestBytes {
		return nil, &ManifestError{File: path, Err: fmt.Errorf("%d bytes, at most %d", size, maxManifestBytes)}
	}
	b = make([]byte, size)
	if _, err := io.ReadFull(f, b); err != nil {
		return nil, ioError("reading", path, err)
	}
	return b, nil
}

// checkWritten reads a file back that was written and closed: it must be the
// segment that want describes, every byte and every checksum of it.
func checkWritten(ctx context.Context, fs vfs.FS, path string, want segment.Info, encodings []codec.Encoding) error {
	f, size, err := openRead(fs, path)
	if err != nil {
		return err
	}
	err = checkSegment(ctx, f, size, path, want, encodings)
	return errors.Join(err, ioError("closing", path, f.Close()))
}

func checkSegment(ctx context.Context, f vfs.File, size int64, path string, want segment.Info, encodings []codec.Encoding) error {
	if size != want.StoredBytes {
		return fmt.Errorf("archive: %s: %d bytes came back, %d were written", path, size, want.StoredBytes)
	}
	sum, err := hashFile(ctx, f, size, path, nil)
	if err != nil {
		return err
	}
	if sum != want.Checksum {
		return fmt.Errorf("archive: %s: other bytes came back than were written: checksum %s, not %s", path, sum, want.Checksum)
	}
	// These are the bytes that were written, each block of which was decoded again before.
	for flaw, err := range segment.Verify(ctx, f, size, segment.VerifyOptions{Name: path, Depth: segment.Structure, Encodings: encodings}) {
		if err != nil {
			return err
		}
		return fmt.Errorf("archive: %s was written with a flaw: %w", path, &flaw)
	}
	r, err := segment.NewReader(f, size, segment.ReaderOptions{Name: path, Encodings: encodings, Concurrency: 1})
	if err != nil {
		return err
	}
	return sameIdentity(r, describe(want))
}

// columnsOf is a schema in one line, for messages.
func columnsOf(s segment.Schema) string {
	var names []string
	for _, c := range s.Columns {
		names = append(names, c.Name+" "+c.KindString()+" "+c.Format)
	}
	return fmt.Sprintf("%q", names)
}

// sameIdentity compares a file with what is known of it.
func sameIdentity(r *segment.Reader, want SegmentInfo) error {
	i := r.Info()
	switch {
	case i.Table != want.Table:
		return fmt.Errorf("holds table %q, not %q", i.Table, want.Table)
	case i.FirstRow != want.FirstRow || i.Rows != want.Rows:
		return fmt.Errorf("holds %d rows from %d, not %d from %d", i.Rows, i.FirstRow, want.Rows, want.FirstRow)
	case !i.Schema.Equal(want.schema):
		return fmt.Errorf("has the columns %s, not %s", columnsOf(i.Schema), columnsOf(want.schema))
	case i.RawBytes != want.RawBytes:
		return fmt.Errorf("holds %d bytes of values, not %d", i.RawBytes, want.RawBytes)
	case i.ContentRoot != want.ContentRoot:
		return fmt.Errorf("content root is %s, not %s", i.ContentRoot, want.ContentRoot)
	case i.ID != want.ID:
		return fmt.Errorf("ID is %s, not %s", i.ID, want.ID)
	}
	return nil
}
