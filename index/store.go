package index

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Store is a directory of indexes. Any number of goroutines may look keys up
// while others write.
type Store struct {
	dir     string
	options Options
	guard   *guard
	merges  *scheduler
	db      *pebble.DB

	// write is held by what changes the database: it would wait without end
	// for locks inside Pebble after one of its panics.
	write  sync.Mutex
	failed atomic.Pointer[failure]
	told   atomic.Bool // a caller was: the failure was returned by a change

	mu        sync.Mutex
	idle      sync.Cond // of mu: users became 0
	closed    bool
	users     int               // calls that use db
	catalogue map[string]record // as committed
	lastID    uint32            // given out, in the catalogue or not
	version   uint64            // of what iterators see
	free      []*reader         // of this version, for look-ups to come
	sweeping  sync.WaitGroup    // goroutines that close free iterators
}

// failure is the first thing that went wrong with a write.
type failure struct {
	err    error
	wedged bool // inside a panic of Pebble, which may hold its locks for ever
}

// Open opens the store in a directory, which it makes unless o.ReadOnly.
// Errors: ErrMissing, ErrVersion, ErrDamaged, ErrLocked, the file system's.
func Open(fs vfs.FS, dir string, o Options) (*Store, error) {
	o = o.withDefaults()
	s := &Store{dir: clean(fs, dir), options: o}
	s.guard = newGuard(fs, o.ReadOnly, s.fail)
	s.idle.L = &s.mu
	if err := o.validate(); err != nil {
		return nil, s.wrap("open", "", err)
	}
	err := s.open()
	if err == nil {
		err = s.failure()
	}
	if err != nil {
		_ = s.closeDB() // what it says follows from err
		return nil, s.wrap("open", "", err)
	}
	s.merges.start()
	return s, nil
}

// clean returns a directory as it is in the names of its files.
func clean(fs vfs.FS, dir string) string { return fs.PathDir(fs.PathJoin(dir, "x")) }

func (s *Store) open() error {
	exists, err := s.exists()
	switch {
	case err != nil:
		return err
	case exists:
	case s.options.ReadOnly:
		return ErrMissing
	default:
		if err := s.create(); err != nil {
			return err
		}
	}
	if err := s.openDB(s.dir); err != nil {
		return classifyOpen(err)
	}
	return s.try(func() error {
		catalogue, err := readCatalogue(s.db)
		if err != nil {
			return err
		}
		s.catalogue = catalogue
		for _, r := range catalogue {
			s.lastID = max(s.lastID, r.id)
		}
		if s.options.ReadOnly {
			return nil
		}
		return s.sweep()
	})
}

// exists reports whether there is a database.
func (s *Store) exists() (bool, error) {
	names, err := s.guard.List(s.dir)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && len(names) == 0:
		return false, nil
	case err != nil:
		return false, err
	}
	var desc *pebble.DBDesc
	err = s.try(func() (err error) {
		desc, err = pebble.Peek(s.dir, s.guard)
		return err
	})
	switch {
	case err != nil:
		return false, classifyOpen(err)
	case !desc.Exists:
		return false, damaged("files, but no database")
	}
	return true, classify(s.guard.checkManifest(desc.ManifestFilename))
}

// create makes an empty database, whole or not at all: beside its place, where
// a crash may leave half of one.
func (s *Store) create() error {
	tmp := s.dir + ".tmp"
	if err := s.guard.RemoveAll(tmp); err != nil {
		return err
	}
	if err := s.openDB(tmp); err != nil {
		return err
	}
	err := s.try(func() error {
		version := binary.AppendUvarint(nil, formatVersion)
		if err := s.db.Set(catalogueKey(catalogueFormat, ""), version, pebble.Sync); err != nil {
			return err
		}
		return s.failure()
	})
	if err != nil {
		return err // Open closes it
	}
	if err := s.closeDB(); err != nil {
		return err
	}
	s.db = nil
	if err := s.guard.Remove(s.dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := s.guard.Rename(tmp, s.dir); err != nil {
		return err
	}
	return s.guard.syncDir(s.guard.PathDir(s.dir))
}

func (s *Store) openDB(dir string) error {
	s.guard.dir = dir
	s.merges = newScheduler(func() bool { return s.failure() != nil })
	err := s.try(func() (err error) {
		s.db, err = pebble.Open(dir, s.pebbleOptions(s.guard))
		return err
	})
	if err == nil {
		err = s.failure()
	}
	return err
}

// sweep removes what a load or a drop left behind that did not end: files, and
// entries of ids that no index has.
func (s *Store) sweep() error {
	names, err := s.guard.List(s.dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if strings.HasPrefix(name, loadPrefix) {
			if err := s.guard.RemoveAll(s.guard.PathJoin(s.dir, name)); err != nil {
				return err
			}
		}
	}
	if err := s.guard.removeSums(names); err != nil {
		return err
	}
	it, err := s.db.NewIter(nil)
	if err != nil {
		return err
	}
	b := s.db.NewBatch()
	for _, gap := range s.gaps() {
		if !it.SeekGE(gap.Start) || string(it.Key()) >= string(gap.End) {
			continue
		}
		first := slices.Clone(it.Key()[:idBytes])
		if !it.SeekLT(gap.End) {
			continue
		}
		last := binary.BigEndian.Uint32(it.Key())
		if err := b.DeleteRange(first, appendID(nil, last+1), nil); err != nil {
			return errors.Join(err, it.Close())
		}
	}
	if err := errors.Join(it.Error(), it.Close()); err != nil || b.Empty() {
		return errors.Join(err, b.Close())
	}
	return s.apply(b, pebble.Sync)
}

// gaps returns the ranges of keys between those of the catalogue and indexes.
func (s *Store) gaps() (gaps []pebble.KeyRange) {
	ids := []uint32{0}
	for _, r := range s.catalogue {
		ids = append(ids, r.id)
	}
	slices.Sort(ids)
	for i, id := range ids {
		end := uint32(math.MaxUint32)
		if i+1 < len(ids) {
			end = ids[i+1]
		}
		if id+1 < end {
			gaps = append(gaps, pebble.KeyRange{Start: appendID(nil, id+1), End: appendID(nil, end)})
		}
	}
	return gaps
}

// try runs what calls the database, and turns Pebble's panics into errors.
func (s *Store) try(f func() error) error {
	panicked, err := s.recovered(f)
	if panicked {
		s.wedge(err)
	}
	return classify(err)
}

// recovered is try for what calls Pebble, but not the database.
func (s *Store) recovered(f func() error) (panicked bool, err error) {
	defer func() {
		r := recover()
		if r == nil {
			return
		}
		cause, ok := r.(error)
		if !ok {
			cause = fmt.Errorf("pebble: %v", r)
		}
		s.options.Logger.Error("index: panic in pebble", "dir", s.dir, "error", cause, "stack", string(debug.Stack()))
		var io ioError
		if !errors.As(cause, &io) {
			cause = damage{cause}
		}
		err, panicked = cause, true
	}()
	return false, f()
}

// fail records that a write failed, and stops all others.
func (s *Store) fail(err error) {
	err = classify(err)
	if s.failed.CompareAndSwap(nil, &failure{err: err}) {
		s.options.Logger.Error("index: stops writing", "dir", s.dir, "error", err)
	}
	s.guard.stopWrites(fmt.Errorf("%w: %w", ErrFailed, err))
}

// wedge records a panic of Pebble.
func (s *Store) wedge(err error) {
	s.fail(err)
	for {
		old := s.failed.Load()
		if s.failed.CompareAndSwap(old, &failure{err: old.err, wedged: true}) {
			return
		}
	}
}

func (s *Store) failure() error {
	if f := s.failed.Load(); f != nil {
		return f.err
	}
	return nil
}

func (s *Store) wedged() bool {
	f := s.failed.Load()
	return f != nil && f.wedged
}

// change runs what writes to the database, one at a time.
func (s *Store) change(f func() error) error {
	if s.options.ReadOnly {
		return ErrReadOnly
	}
	s.write.Lock()
	defer s.write.Unlock()
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	if err := s.failure(); err != nil {
		s.told.Store(true)
		return fmt.Errorf("%w: %w", ErrFailed, err)
	}
	err := s.try(f)
	if err == nil {
		err = s.failure() // Pebble went on where it would have ended the process
	}
	if err != nil && s.failure() != nil {
		s.told.Store(true)
	}
	return err
}

// enter keeps the database open until leave.
func (s *Store) enter() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	s.users++
	return nil
}

func (s *Store) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left()
}

// left is leave with s.mu held.
func (s *Store) left() {
	s.users--
	if s.users == 0 {
		s.idle.Broadcast()
	}
}

// Names returns the names of all indexes, sorted.
func (s *Store) Names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.catalogue))
}

// State returns what an index covers; false if there is no such index.
func (s *Store) State(name string) (State, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.catalogue[name]
	return r.state, ok
}

// Close waits for calls that run, look-ups that are iterated among them, and
// makes what was committed durable. A write that failed meanwhile in the
// background, and that no call returned, is returned. Later calls do nothing.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	for s.users > 0 {
		s.idle.Wait()
	}
	s.mu.Unlock()
	return s.wrap("close", "", s.closeDB())
}

func (s *Store) closeDB() error {
	if s.db != nil && !s.wedged() {
		s.renew()
		s.sweeping.Wait()
	}
	var err error
	if s.db != nil && !s.wedged() {
		err = s.try(s.db.Close)
	}
	if s.wedged() || s.db == nil {
		err = errors.Join(err, s.guard.unlock())
	}
	if s.told.Load() {
		return nil // all else follows from what was said when it happened
	}
	return errors.Join(err, s.failure())
}
