package archive

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/segstore/segstore/segment"
)

// files keeps segment files open: those in use, and about the ones used last. A
// file that was replaced goes when its last user has left.
type files struct {
	fs   vfs.FS
	path func(file string) string
	o    segment.ReaderOptions

	removed func(file string, bytes int64, err error) // told of each that was part of the archive
	failed  func(error)                               // told of what note keeps the first of

	closed atomic.Bool
	open   atomic.Int64
	opened atomic.Uint64

	mu     sync.Mutex
	lru    *simplelru.LRU[*handle, struct{}]
	limit  int
	doomed map[string]doom   // to be removed, by name
	births map[string]uint64 // by name: how often a file was given it, since it was last removed
	err    error             // the first from closing or removing a file
}

// doom is a file that is to be removed.
type doom struct {
	h     *handle // in use still; nil where removing failed
	bytes int64
}

// handle is one segment file, open or not.
//
// Whoever finds refs above zero may add to it without a lock: reading a row of a
// file that is open takes none. From zero it is raised under files.mu only, and
// there the file is opened and closed: f, r and columns do not change while refs
// is above zero.
type handle struct {
	info SegmentInfo

	refs atomic.Int64 // of users, and one of the LRU while it is in there
	used atomic.Bool  // since the LRU has last looked

	// The rest is guarded by files.mu.
	wait    chan struct{} // while one goroutine opens the file: closed when it is done
	gone    bool          // replaced by another file
	birth   uint64        // which of the files of this name it is, of those that files.births counts
	key     uint64        // by which the cache knows the file, however often it is opened
	f       vfs.File
	r       *segment.Reader
	columns []*segment.ColumnReader
}

func newFiles(fs vfs.FS, path func(string) string, limit int, o segment.ReaderOptions) *files {
	s := &files{fs: fs, path: path, o: o, limit: limit, doomed: map[string]doom{}, births: map[string]uint64{}}
	s.lru, _ = simplelru.NewLRU[*handle, struct{}](limit+1, nil) // fails for sizes < 1 only; evicted here, before it is full
	return s
}

// acquire opens the file of h, unless it is open. Every acquire without an error
// wants a release. Many goroutines may acquire: one opens, the others wait.
func (s *files) acquire(h *handle) error {
	if s.closed.Load() {
		return ErrClosed
	}
	for n := h.refs.Load(); n > 0; n = h.refs.Load() {
		if h.refs.CompareAndSwap(n, n+1) {
			h.touch()
			return nil
		}
	}
	return s.acquireSlow(h)
}

// touch notes that the file was used. Mostly it was before: nothing is written then,
// for which other processors would have to wait.
func (h *handle) touch() {
	if !h.used.Load() {
		h.used.Store(true)
	}
}

func (s *files) acquireSlow(h *handle) error {
	for {
		s.mu.Lock()
		switch {
		case s.closed.Load():
			s.mu.Unlock()
			return ErrClosed
		case h.r != nil: // opened meanwhile, or not closed yet
			h.refs.Add(1)
			h.touch()
			s.mu.Unlock()
			return nil
		case h.wait != nil:
			wait := h.wait
			s.mu.Unlock()
			<-wait
			continue
		}
		wait := make(chan struct{})
		h.wait = wait
		if h.key == 0 {
			h.key = s.o.Cache.Key()
		}
		key := h.key
		s.mu.Unlock()

		f, r, columns, err := s.openSegment(h.info, key)

		s.mu.Lock()
		h.wait = nil
		close(wait)
		if err == nil && s.closed.Load() {
			s.note(f.Close())
			err = ErrClosed
		}
		if err == nil {
			h.f, h.r, h.columns = f, r, columns
			s.open.Add(1)
			s.opened.Add(1)
			h.refs.Store(1) // from here on others may use it
			s.keep(h)
		}
		s.mu.Unlock()
		return err
	}
}

// keep puts a file that was opened into the LRU, and lets another one go if there
// are too many: the one used first, but for those that were used again since.
func (s *files) keep(h *handle) {
	if h.gone {
		return
	}
	h.refs.Add(1)
	h.touch()
	s.lru.Add(h, struct{}{})
	for range s.lru.Len() {
		if s.lru.Len() <= s.limit {
			return
		}
		oldest, _, _ := s.lru.GetOldest()
		if oldest.used.Swap(false) {
			s.lru.Get(oldest) // comes to the other end
			continue
		}
		s.lru.Remove(oldest)
		s.drop(oldest)
	}
	if s.lru.Len() > s.limit { // all of them were
		oldest, _, _ := s.lru.RemoveOldest()
		s.drop(oldest)
	}
}

// release ends a use.
func (s *files) release(h *handle) {
	if h.refs.Add(-1) > 0 {
		return
	}
	s.mu.Lock()
	s.finish(h)
	s.mu.Unlock()
}

// drop ends the use of the LRU. s.mu is held.
func (s *files) drop(h *handle) {
	if h.refs.Add(-1) == 0 {
		s.finish(h)
	}
}

// finish closes a file that nobody uses, and removes it if it was replaced. s.mu is
// held: a file of the same name cannot be published between the decision and the
// removal, nor another use begin. One may have begun, and ended, since the caller
// saw the last one end.
func (s *files) finish(h *handle) {
	if h.r == nil || h.refs.Load() > 0 {
		return
	}
	s.note(ioError("closing", h.info.File, h.f.Close()))
	h.f, h.r, h.columns = nil, nil, nil
	s.open.Add(-1)
	if s.doomed[h.info.File].h == h {
		delete(s.doomed, h.info.File)
		_ = s.remove(h.info.File, h.info.StoredBytes) // tried again by close
	}
}

// pending reports whether a file waits for its last user to be removed.
func (s *files) pending(file string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.doomed[file]
	return ok
}

// keepError keeps the first error from closing or removing a file, for close.
func (s *files) keepError(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.note(err)
}

func (s *files) note(err error) {
	if err == nil {
		return
	}
	s.failed(err)
	if s.err == nil {
		s.err = err
	}
}

// remove removes a file. Where that fails close tries again: Windows removes no
// file that is open, and Verify has some open by itself.
func (s *files) remove(file string, bytes int64) error {
	err := s.fs.Remove(s.path(file))
	if missing(err) {
		return nil
	}
	if err != nil {
		s.doomed[file] = doom{bytes: bytes}
		err = ioError("removing", file, err)
	}
	s.removed(file, bytes, err)
	return err
}

// retire removes the file of h, that is not needed any more: now, or when the last
// user has left. Where a newer file has its name, that one stays.
func (s *files) retire(h *handle) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed.Load() || s.births[h.info.File] != h.birth {
		s.forgetLocked(h)
		return
	}
	delete(s.births, h.info.File)
	h.gone = true
	inLRU := s.lru.Remove(h)
	if h.r == nil { // or being opened: that finds it, and keeps it, or does not
		_ = s.remove(h.info.File, h.info.StoredBytes) // tried again by close
		return
	}
	s.doomed[h.info.File] = doom{h, h.info.StoredBytes} // whoever closes it removes it
	if inLRU {
		s.drop(h)
	}
}

// forget closes the file of h when the last user has left; it stays on the disk.
func (s *files) forget(h *handle) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgetLocked(h)
}

func (s *files) forgetLocked(h *handle) {
	h.gone = true
	if s.lru.Remove(h) {
		s.drop(h)
	}
}

// known notes which file a new handle means: the last one that was given its name.
func (s *files) known(h *handle) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h.birth = s.births[h.info.File]
}

// withdraw takes a name back that publish gave, of a file that nobody was told of.
// needed says that an older file of this name is needed still, which it has become.
func (s *files) withdraw(file string, needed bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.births[file]--; s.births[file] == 0 {
		delete(s.births, file)
	}
	if needed {
		return nil
	}
	return ioError("removing", file, s.fs.Remove(s.path(file)))
}

// publish renames a draft to a segment's name. A file of this name that waits for
// its removal holds the same bytes: it is not removed any more.
func (s *files) publish(d *draft, file string) error {
	s.mu.Lock()
	delete(s.doomed, file)
	err := s.fs.Rename(d.path, s.path(file))
	if err == nil {
		s.births[file]++
	}
	s.mu.Unlock()
	if err != nil {
		return ioError("renaming", d.path, err)
	}
	return syncDir(s.fs, s.fs.PathDir(s.path(file)))
}

// close closes what nobody uses; the rest closes when it is released. It returns
// the first error from closing or removing a file since the start.
func (s *files) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed.Store(true)
	for s.lru.Len() > 0 {
		h, _, _ := s.lru.RemoveOldest()
		s.drop(h)
	}
	for file, d := range s.doomed { // the lock is about to go: a later removal could hit another writer's file
		s.note(s.remove(file, d.bytes))
	}
	clear(s.doomed) // whoever releases a handle later must not remove it again
	return s.err
}

// openSegment opens a file and holds it against the manifest.
func (s *files) openSegment(info SegmentInfo, key uint64) (vfs.File, *segment.Reader, []*segment.ColumnReader, error) {
	f, size, err := s.find(info, vfs.RandomReadsOption)
	if err != nil {
		return nil, nil, nil, err
	}
	r, columns, err := s.readSegment(f, size, info, key)
	if err != nil {
		_ = f.Close() // the error that led here is the one to report
		return nil, nil, nil, err
	}
	return f, r, columns, nil
}

// find opens a file that must be there.
func (s *files) find(info SegmentInfo, o vfs.OpenOption) (vfs.File, int64, error) {
	f, size, err := openRead(s.fs, s.path(info.File), o)
	switch {
	case missing(err):
		err = fileFlaw(info, 0, fmt.Errorf("the file is missing: %w", err))
	case errors.Is(err, ErrNotFile):
		err = fileFlaw(info, 0, fmt.Errorf("something else is in its place: %w", err))
	}
	return f, size, err
}

func (s *files) readSegment(f vfs.File, size int64, info SegmentInfo, key uint64) (*segment.Reader, []*segment.ColumnReader, error) {
	if size != info.StoredBytes {
		return nil, nil, fileFlaw(info, size, fmt.Errorf("%d bytes, the manifest says %d", size, info.StoredBytes))
	}
	o := s.o
	o.Name, o.CacheKey = info.File, key
	r, err := segment.NewReader(f, size, o)
	if err != nil {
		return nil, nil, err
	}
	if err := sameIdentity(r, info); err != nil {
		return nil, nil, fileFlaw(info, size, fmt.Errorf("not the segment that the manifest names: %w", err))
	}
	var columns []*segment.ColumnReader
	for _, c := range r.Schema().Columns {
		cr, err := r.Column(c.Name)
		if err != nil {
			return nil, nil, err
		}
		columns = append(columns, cr)
	}
	return r, columns, nil
}

// fileFlaw is damage of a segment's file as a whole.
func fileFlaw(s SegmentInfo, size int64, err error) *segment.CorruptionError {
	return &segment.CorruptionError{
		Place: segment.Place{File: s.File, Section: segment.SectionFile, Chunk: -1, FirstRow: s.FirstRow, Rows: s.Rows, Length: size},
		Err:   err,
	}
}
