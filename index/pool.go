package index

import "github.com/cockroachdb/pebble/v2"

// maxFree is how many iterators wait for look-ups. One costs some 10 KiB and
// keeps the tables that it reads from being removed, until the next change.
const maxFree = 16

// reader is an iterator lent for one look-up.
type reader struct {
	it      *pebble.Iterator
	id      uint32 // of the index asked for
	version uint64
	key     [maxKeyBytes]byte // what to seek, here because it escapes
}

// acquire lends an iterator that sees the index as of now, or later.
func (s *Store) acquire(name string) (*reader, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	if s.wedged() {
		return nil, s.failure()
	}
	rec, ok := s.catalogue[name]
	if !ok {
		return nil, ErrNoIndex
	}
	if n := len(s.free); n > 0 {
		r := s.free[n-1]
		s.free = s.free[:n-1]
		r.id = rec.id
		s.users++
		return r, nil
	}
	return s.newReader(name, rec.id)
}

// newReader makes an iterator, for which it lets go of s.mu. The entries of
// an id are removed once no name has it; an iterator made meanwhile may lack
// them, and is made again.
func (s *Store) newReader(name string, id uint32) (*reader, error) {
	s.users++
	for {
		version := s.version
		s.mu.Unlock()
		it, err := s.iterator()
		s.mu.Lock()
		if err == nil {
			rec, ok := s.catalogue[name]
			if ok && rec.id == id {
				return &reader{it: it, id: id, version: version}, nil
			}
			id = rec.id
			s.mu.Unlock()
			err = s.try(it.Close)
			s.mu.Lock()
			if err == nil && !ok {
				err = ErrNoIndex
			}
		}
		if err != nil {
			s.left()
			return nil, err
		}
	}
}

func (s *Store) iterator() (it *pebble.Iterator, err error) {
	err = s.try(func() (err error) {
		it, err = s.db.NewIter(nil)
		return err
	})
	return it, err
}

// release takes an iterator back, for others if it is as good as new.
func (s *Store) release(r *reader, good bool) (err error) {
	s.mu.Lock()
	if good && !s.closed && r.version == s.version && len(s.free) < maxFree {
		s.free = append(s.free, r)
		s.left()
		s.mu.Unlock()
		return nil
	}
	s.mu.Unlock()
	if !s.wedged() {
		err = s.try(r.it.Close)
	}
	s.leave()
	return err
}

// renew makes look-ups to come see what was just written, and lets the tables
// go that no version names any more. It may be called with Pebble's locks held.
func (s *Store) renew() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.renewed()
}

// renewed is renew with s.mu held.
func (s *Store) renewed() {
	s.version++
	free := s.free
	s.free = nil
	if len(free) == 0 || s.wedged() {
		return
	}
	s.sweeping.Go(func() {
		for _, r := range free {
			if err := s.try(r.it.Close); err != nil {
				s.options.Logger.Warn("index: an iterator that was read to its end", "dir", s.dir, "error", err)
				return
			}
		}
	})
}
