package index

import (
	"errors"
	"io/fs"

	"github.com/cockroachdb/pebble/v2"
)

// Lower makes an index end no later than a row, durably: what a rewind calls
// before it takes effect, with the anchor of the rows that stay. The entries
// of the others stay as candidates. An index that ends earlier stays as it is,
// and is durably so. One that would begin after its end covers nothing then.
func (s *Store) Lower(name string, end uint64, anchor [32]byte) error {
	return s.wrap("lower", name, s.change(func() error {
		return s.restate(name, pebble.Sync, func(r *record) {
			if st := &r.state; end < st.End {
				st.First, st.End, st.Anchor = min(st.First, end), end, anchor
			}
			r.lowest = min(r.lowest, end)
		})
	}))
}

// Raise makes an index begin no earlier than a row, after a prune. It is
// durable with the next synced commit or Sync: an index that covers pruned
// rows besides answers no worse.
func (s *Store) Raise(name string, first uint64) error {
	return s.wrap("raise", name, s.change(func() error {
		return s.restate(name, pebble.NoSync, func(r *record) {
			if st := &r.state; first > st.First {
				st.First, st.End = first, max(first, st.End)
			}
		})
	}))
}

// restate changes a state, within change.
func (s *Store) restate(name string, o *pebble.WriteOptions, f func(r *record)) error {
	s.mu.Lock()
	r, ok := s.catalogue[name]
	s.mu.Unlock()
	if !ok {
		return ErrNoIndex
	}
	f(&r)
	b := s.db.NewBatch()
	if err := b.Set(catalogueKey(catalogueIndex, name), r.append(nil), nil); err != nil {
		return err
	}
	if err := s.apply(b, o); err != nil {
		return err
	}
	s.publish(func(catalogue map[string]record) { catalogue[name] = r })
	return nil
}

// Drop removes an index, durably; ErrNoIndex if there is none.
func (s *Store) Drop(name string) error {
	return s.wrap("drop", name, s.change(func() error {
		s.mu.Lock()
		r, ok := s.catalogue[name]
		s.mu.Unlock()
		if !ok {
			return ErrNoIndex
		}
		b := s.db.NewBatch()
		return s.rename(b, b.Delete(catalogueKey(catalogueIndex, name), nil), r.id, func(catalogue map[string]record) {
			delete(catalogue, name)
		})
	}))
}

// rename commits a batch that changes a name's id, publishes the change, and
// only then deletes the entries of the old id, 0 for none: a look-up that
// still has the id finds them, or sees that the name has another. After a
// crash in between the next Open deletes them.
//
// Their space is free when Pebble has come to it. Its Excise would free it at
// once, but takes a block that it cannot read for one that is empty.
func (s *Store) rename(b *pebble.Batch, err error, old uint32, f func(catalogue map[string]record)) error {
	if err == nil {
		err = s.apply(b, pebble.Sync)
	}
	if err != nil {
		return err
	}
	s.publish(f)
	if old == 0 {
		return nil
	}
	b = s.db.NewBatch()
	if err := b.DeleteRange(appendID(nil, old), appendID(nil, old+1), nil); err != nil {
		return err
	}
	return s.apply(b, pebble.NoSync)
}

// apply commits a batch, within change.
func (s *Store) apply(b *pebble.Batch, o *pebble.WriteOptions) error {
	if err := s.db.Apply(b, o); err != nil {
		return err
	}
	if err := s.failure(); err != nil { // Pebble was not told
		return err
	}
	s.renew()
	return b.Close()
}

// Sync makes all that was committed durable.
func (s *Store) Sync() error {
	return s.wrap("sync", "", s.change(func() error { return s.db.LogData(nil, pebble.Sync) }))
}

// Checkpoint makes dir, which must not exist, a copy of the store as it is
// now, for others to open read-only while this one is written. Tables are
// hard links: it costs what is not yet in a table, and the space of tables
// that are replaced here while it exists. It is all there or, but for a name
// ending in .tmp that the next one removes, not at all.
func (s *Store) Checkpoint(dir string) error {
	return s.wrap("checkpoint to "+dir, "", s.change(func() (err error) {
		if _, err := s.guard.Stat(dir); err == nil {
			return invalid("%s exists", dir)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		tmp := clean(s.guard, dir) + ".tmp"
		if err := s.guard.RemoveAll(tmp); err != nil {
			return err
		}
		defer func() {
			if err != nil {
				err = errors.Join(err, s.guard.RemoveAll(tmp))
			}
		}()
		if err := s.db.Checkpoint(tmp, pebble.WithFlushedWAL()); err != nil {
			return err
		}
		if err := s.failure(); err != nil {
			return err
		}
		if err := s.guard.Rename(tmp, dir); err != nil {
			return err
		}
		return s.guard.syncDir(s.guard.PathDir(dir))
	}))
}

// Metrics is a store in numbers.
type Metrics struct {
	StoredBytes  uint64         `json:"stored_bytes"`  // of all tables and the log
	Tables       int            `json:"tables"`        // files
	TableEntries uint64         `json:"table_entries"` // of all indexes, without what is only in the log yet
	CacheHits    int64          `json:"cache_hits"`    // blocks found in the cache
	CacheMisses  int64          `json:"cache_misses"`  // blocks read
	CacheBytes   int64          `json:"cache_bytes"`   // held now
	Indexes      []NamedMetrics `json:"indexes"`       // by name
}

// NamedMetrics is one index in numbers.
type NamedMetrics struct {
	Name        string `json:"name"`
	StoredBytes uint64 `json:"stored_bytes"` // estimate, of its part of the tables
	Rows        uint64 `json:"rows"`         // covered
}

// Metrics counts. It reads a block of each table that is not in the cache.
func (s *Store) Metrics() (Metrics, error) {
	var m Metrics
	s.write.Lock()
	defer s.write.Unlock()
	if err := s.enter(); err != nil {
		return m, s.wrap("metrics", "", err)
	}
	defer s.leave()
	if s.wedged() {
		return m, s.wrap("metrics", "", s.failure())
	}
	err := s.try(func() error { return s.count(&m) })
	return m, s.wrap("metrics", "", err)
}

func (s *Store) count(m *Metrics) error {
	all := s.db.Metrics()
	m.StoredBytes = all.DiskSpaceUsage()
	m.CacheHits, m.CacheMisses, m.CacheBytes = all.BlockCache.Hits, all.BlockCache.Misses, all.BlockCache.Size
	levels, err := s.db.SSTables(pebble.WithProperties())
	if err != nil {
		return err
	}
	for _, tables := range levels {
		m.Tables += len(tables)
		for _, table := range tables {
			m.TableEntries += table.Properties.NumEntries
		}
	}
	for _, name := range s.Names() {
		s.mu.Lock()
		r := s.catalogue[name]
		s.mu.Unlock()
		bytes, err := s.db.EstimateDiskUsage(appendID(nil, r.id), appendID(nil, r.id+1))
		if err != nil {
			return err
		}
		m.Indexes = append(m.Indexes, NamedMetrics{Name: name, StoredBytes: bytes, Rows: r.state.Rows()})
	}
	return nil
}
