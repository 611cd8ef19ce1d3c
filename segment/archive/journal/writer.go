package journal

import (
	"errors"
	"fmt"
	"io"
	iofs "io/fs"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Writer appends records to a new log. One goroutine at a time may use it. After an
// error it is dead, and returns that error again: what the file holds behind the
// last record that was written whole is unknown.
type Writer struct {
	f      vfs.File
	number uint64
	next   uint64 // sequence number
	off    int64
	synced int64
	buf    []byte
	err    error
}

// category is what a file system accounts for writes under.
const category vfs.DiskWriteCategory = "segstore-log"

// Create makes a log: head and body, synced. It is an error if path exists. The
// caller syncs the directory.
func Create(fs vfs.FS, path string, h Head) (_ *Writer, err error) {
	if h.Number == 0 || len(h.Body) > MaxBody {
		return nil, fmt.Errorf("journal: log %d with a body of %d bytes, at most %d", h.Number, len(h.Body), MaxBody)
	}
	if _, err := fs.Stat(path); err == nil {
		return nil, fmt.Errorf("journal: %s exists", path)
	} else if !errors.Is(err, iofs.ErrNotExist) {
		return nil, err
	}
	f, err := fs.Create(path, category)
	if err != nil {
		return nil, err
	}
	w := &Writer{f: f, number: h.Number, next: h.Sequence}
	w.buf = h.appendTo(w.buf)
	if err = w.flush(); err == nil {
		err = w.Sync()
	}
	if err != nil {
		return nil, errors.Join(err, f.Close(), fs.Remove(path))
	}
	return w, nil
}

// Append writes a record of the parts one after another, and returns where its bytes
// lie. It is durable after the next Sync. ErrTooLong leaves the Writer alive.
func (w *Writer) Append(kind uint8, parts ...[]byte) (offset int64, err error) {
	if w.err != nil {
		return 0, w.err
	}
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	if n > MaxRecord {
		return 0, fmt.Errorf("%w: %d bytes, at most %d", ErrTooLong, n, MaxRecord)
	}
	w.buf = appendRecordHead(w.buf[:0], kind, w.next, w.synced, n)
	for _, p := range parts {
		w.buf = append(w.buf, p...)
	}
	w.buf = le.AppendUint64(w.buf, recordSum(w.number, w.off, w.buf))
	offset = w.off + recordHead
	if err := w.flush(); err != nil {
		return 0, err
	}
	w.next++
	return offset, nil
}

func (w *Writer) flush() error {
	n, err := w.f.Write(w.buf) // as a vfs.File it may change buf
	if err == nil && n < len(w.buf) {
		err = io.ErrShortWrite
	}
	if err != nil {
		w.err = err
		return err
	}
	w.off += int64(n)
	if cap(w.buf) > maxKept {
		w.buf = nil
	}
	return nil
}

const maxKept = 4 << 20 // a buffer above this is not kept for the next record

// Sync makes what was appended durable.
func (w *Writer) Sync() error {
	if w.err != nil {
		return w.err
	}
	if w.synced == w.off {
		return nil
	}
	if err := w.f.SyncData(); err != nil {
		w.err = err // what reached the disk is unknown, and asking again would not say
		return err
	}
	w.synced = w.off
	return nil
}

// Unsynced returns how many bytes were appended since the last Sync.
func (w *Writer) Unsynced() int64 { return w.off - w.synced }

// Size returns the bytes of the file.
func (w *Writer) Size() int64 { return w.off }

// Sequence returns the sequence number of the next record.
func (w *Writer) Sequence() uint64 { return w.next }

// Close closes the file; it does not sync.
func (w *Writer) Close() error {
	if w.err == nil {
		w.err = errClosed
	}
	return w.f.Close()
}

var errClosed = errors.New("journal: use after Close")
