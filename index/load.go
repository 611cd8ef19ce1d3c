package index

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"runtime"
)

// Entry is a row and its key, which is of any length, also 0, and valid until
// the next entry.
type Entry struct {
	Key []byte
	Row uint64
}

// LoadOptions are how to load; the zero value is ready.
type LoadOptions struct {
	// MemoryBytes bounds what is sorted at once; the rest is sorted in runs,
	// in temporary files of 13 bytes an entry in the store's directory, and
	// merged. Each worker needs 16 KiB more a run. Default 64 MiB, at least 1.
	MemoryBytes int
	// Workers merge and write tables. Default: one a processor.
	Workers int
}

const (
	loadPrefix     = "load-" // of the folders for temporary files
	minMemory      = 1 << 20
	ctxEntries     = 4096 // entries between two looks at the context
	tableBytes     = 64 << 20
	entriesPerPart = 64 << 10 // fewer are not worth a table of their own
)

func (o LoadOptions) withDefaults() LoadOptions {
	o.MemoryBytes = cmp.Or(o.MemoryBytes, 64<<20)
	o.Workers = cmp.Or(o.Workers, runtime.GOMAXPROCS(0))
	return o
}

func (o LoadOptions) validate() error {
	switch {
	case o.MemoryBytes < minMemory:
		return invalid("MemoryBytes %d, expected %d or more", o.MemoryBytes, minMemory)
	case o.Workers < 1:
		return invalid("Workers %d", o.Workers)
	}
	return nil
}

// Load makes an index of all entries, in any order, in place of the one of
// that name, if there is one; that one answers until the new one is whole, and
// again after a crash or an error before. Entries' rows must be in the state's
// range, or the load is ErrInvalid. It is durable when it returns. Several
// loads may run at once, each with memory of its own.
func (s *Store) Load(ctx context.Context, name string, st State, entries iter.Seq2[Entry, error], o LoadOptions) error {
	o = o.withDefaults()
	for _, err := range []error{validName(name), st.validate(), o.validate()} {
		if err != nil {
			return s.wrap("load", name, err)
		}
	}
	return s.wrap("load", name, s.load(ctx, name, st, entries, o))
}

func (s *Store) load(ctx context.Context, name string, st State, entries iter.Seq2[Entry, error], o LoadOptions) (err error) {
	if s.options.ReadOnly {
		return ErrReadOnly
	}
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	s.mu.Lock()
	id, err := s.newID()
	s.mu.Unlock()
	if err != nil {
		return err
	}
	dir := s.guard.PathJoin(s.dir, fmt.Sprintf("%s%d", loadPrefix, id))
	if err := s.guard.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	defer func() {
		// Left behind, it is removed by the next Open.
		if removing := s.guard.RemoveAll(dir); err == nil {
			err = removing
		}
	}()
	sorted, err := s.sortEntries(ctx, dir, st, entries, o)
	if err != nil {
		return err
	}
	tables, err := s.writeTables(ctx, dir, id, sorted, o.Workers)
	if err != nil {
		return err
	}
	return s.change(func() error { return s.adopt(ctx, name, record{id, st, noRow}, tables) })
}

// adopt makes tables an index, within change: first the entries, then the
// state that says that they are there.
func (s *Store) adopt(ctx context.Context, name string, r record, tables []string) error {
	if len(tables) > 0 {
		if err := s.db.Ingest(ctx, tables); err != nil {
			return err
		}
		if err := s.failure(); err != nil {
			return err
		}
	}
	s.mu.Lock()
	old := s.catalogue[name]
	s.mu.Unlock()
	b := s.db.NewBatch()
	return s.rename(b, b.Set(catalogueKey(catalogueIndex, name), r.append(nil), nil), old.id, func(catalogue map[string]record) {
		catalogue[name] = r
	})
}

// sortEntries reads all entries into sorted runs.
func (s *Store) sortEntries(ctx context.Context, dir string, st State, entries iter.Seq2[Entry, error], o LoadOptions) (sorted runs, err error) {
	sorter := newSorter(s.guard, dir, o.MemoryBytes)
	defer sorter.abort()
	n := 0
	for e, err := range entries {
		if err != nil {
			return sorted, err
		}
		if n++; n%ctxEntries == 0 && ctx.Err() != nil {
			return sorted, context.Cause(ctx)
		}
		if e.Row < st.First || e.Row >= st.End {
			return sorted, invalid("row %d is not in [%d, %d)", e.Row, st.First, st.End)
		}
		if err := sorter.add(pair{fingerprint(e.Key), e.Row}); err != nil {
			return sorted, err
		}
	}
	if ctx.Err() != nil {
		return sorted, context.Cause(ctx)
	}
	return sorter.finish()
}
