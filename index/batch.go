package index

import (
	"fmt"
	"maps"

	"github.com/cockroachdb/pebble/v2"
)

// batchBytes is how much a batch holds before it writes entries ahead of the
// states: without a state that covers them, they are candidates like any that
// a rewind left.
const batchBytes = 1 << 20

// Batch collects what one commit of rows adds, for one goroutine. It holds at
// most 1 MiB or so; larger ones write entries while they are filled. After an
// error every call returns the error.
type Batch struct {
	s      *Store
	b      *pebble.Batch
	ids    map[string]batchID
	states map[string]State
	key    []byte
	err    error
}

// batchID is the id under which a batch's entries of an index are.
type batchID struct {
	id   uint32
	made bool // for an index that did not exist when the batch named it first
}

// Batch returns an empty batch; it needs no closing.
func (s *Store) Batch() *Batch {
	return &Batch{s: s, ids: map[string]batchID{}, states: map[string]State{}}
}

// Add adds the key of a row to an index: one that exists, or one that
// SetState makes in this batch. A key is of any length, also 0.
func (b *Batch) Add(name string, key []byte, row uint64) error {
	if b.err != nil {
		return b.err
	}
	id, ok := b.ids[name]
	if !ok {
		if id, b.err = b.s.idFor(name); b.err != nil {
			b.err = b.s.wrap("add", name, b.err)
			return b.err
		}
		b.ids[name] = id
	}
	b.key = appendRow(appendPrefix(b.key[:0], id.id, fingerprint(key)), row)
	if err := b.set(b.key, nil); err != nil {
		b.err = b.s.wrap("add", name, err)
		return b.err
	}
	if b.b.Len() >= batchBytes {
		b.err = b.s.wrap("add", name, b.s.change(func() error { return b.write(false) }))
	}
	return b.err
}

// SetState says what an index covers from this commit on, and makes the index
// if there is none. The last one counts. The entries must be added before
// Commit, in this batch or earlier.
func (b *Batch) SetState(name string, st State) error {
	if b.err != nil {
		return b.err
	}
	err := validName(name)
	if err == nil {
		err = st.validate()
	}
	if _, ok := b.ids[name]; err == nil && !ok {
		b.ids[name], err = b.s.idFor(name)
	}
	if err != nil {
		b.err = b.s.wrap("set state", name, err)
		return b.err
	}
	b.states[name] = st
	return nil
}

// Commit writes entries and states, all or none of the states, and empties
// the batch. With sync they are durable when it returns; else at the next
// synced one, Sync or Close, and after a crash a state that is lost takes all
// that followed with it.
func (b *Batch) Commit(sync bool) error {
	if b.err == nil {
		b.err = b.s.wrap("commit", "", b.s.change(func() error { return b.commit(sync) }))
	}
	return b.err
}

// commit and write are called within change.
func (b *Batch) commit(sync bool) error {
	known := func(name string) bool {
		_, ok := b.states[name]
		if !ok {
			_, ok = b.s.State(name)
		}
		return ok
	}
	for name := range b.ids {
		if !known(name) {
			return fmt.Errorf("%w: %q", ErrNoIndex, name)
		}
	}
	records := make(map[string]record, len(b.states))
	for name, st := range b.states {
		r := record{b.ids[name].id, st, b.s.lowest(name)}
		if err := b.set(catalogueKey(catalogueIndex, name), r.append(nil)); err != nil {
			return err
		}
		records[name] = r
	}
	if err := b.write(sync); err != nil {
		return err
	}
	b.s.publish(func(catalogue map[string]record) {
		maps.Copy(catalogue, records)
	})
	clear(b.ids)
	clear(b.states)
	return nil
}

func (b *Batch) set(key, value []byte) error {
	if b.b == nil {
		b.b = b.s.db.NewBatch()
	}
	return b.b.Set(key, value, nil)
}

// write writes what was set so far, unless an index was replaced.
func (b *Batch) write(sync bool) error {
	for name, id := range b.ids {
		if err := b.s.stillID(name, id); err != nil {
			return err
		}
	}
	if b.b == nil {
		if sync {
			return b.s.db.LogData(nil, pebble.Sync)
		}
		return nil
	}
	option := pebble.NoSync
	if sync {
		option = pebble.Sync
	}
	full := b.b
	b.b = nil
	return b.s.apply(full, option)
}

// idFor returns the id of an index, or a new one for an index to be.
func (s *Store) idFor(name string) (batchID, error) {
	if err := validName(name); err != nil {
		return batchID{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r, ok := s.catalogue[name]; ok {
		return batchID{id: r.id}, nil
	}
	id, err := s.newID()
	return batchID{id: id, made: true}, err
}

// newID is called with s.mu held. Ids are not used twice before the next Open,
// which removes what entries an unused one has.
func (s *Store) newID() (uint32, error) {
	if s.closed {
		return 0, ErrClosed
	}
	if s.lastID >= maxID {
		return 0, invalid("all %d ids used: load the store anew", s.lastID)
	}
	s.lastID++
	return s.lastID, nil
}

// stillID returns ErrReplaced if an index was loaded, dropped or made by
// another since the batch named it first.
func (s *Store) stillID(name string, id batchID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r, ok := s.catalogue[name]; ok && r.id != id.id || !ok && !id.made {
		return fmt.Errorf("%w: %q", ErrReplaced, name)
	}
	return nil
}

// publish changes the catalogue after the database.
func (s *Store) publish(f func(catalogue map[string]record)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s.catalogue)
	s.renewed()
}
