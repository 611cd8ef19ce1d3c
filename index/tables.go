package index

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// tableWriter merges sorted runs into tables that Pebble takes over as they
// are. Parts of the fingerprints' range are written by several workers.
type tableWriter struct {
	s       *Store
	dir     string
	id      uint32
	sorted  runs
	options sstable.WriterOptions
	parts   int

	next  atomic.Int64 // part to write
	pairs atomic.Int64 // read so far

	mu     sync.Mutex
	tables []string
	err    error
}

// writeTables returns the paths of tables with all pairs of the runs.
func (s *Store) writeTables(ctx context.Context, dir string, id uint32, sorted runs, workers int) ([]string, error) {
	o := s.pebbleOptions(s.guard)
	o.EnsureDefaults()
	n := sorted.pairs()
	t := &tableWriter{
		s: s, dir: dir, id: id, sorted: sorted,
		options: o.MakeWriterOptions(len(o.Levels)-1, pebbleFormat.MaxTableFormat()),
		parts:   max(1, min(n/entriesPerPart, 4*workers)),
	}
	if n == 0 {
		return nil, nil
	}
	var wg sync.WaitGroup
	for range min(workers, t.parts) {
		wg.Go(func() { t.work(ctx) })
	}
	wg.Wait()
	if t.err != nil {
		return nil, t.err
	}
	if got := int(t.pairs.Load()); got != n {
		return nil, damaged("temporary files gave %d of %d entries", got, n)
	}
	return t.tables, nil
}

// work writes parts until there are none, or something fails.
func (t *tableWriter) work(ctx context.Context) {
	for {
		part := int(t.next.Add(1)) - 1
		if part >= t.parts {
			return
		}
		t.mu.Lock()
		failed := t.err != nil
		t.mu.Unlock()
		if failed {
			return
		}
		if _, err := t.s.recovered(func() error { return t.write(ctx, part) }); err != nil {
			t.mu.Lock()
			if t.err == nil {
				t.err = classify(err)
			}
			t.mu.Unlock()
			return
		}
	}
}

// write writes the tables of one part.
func (t *tableWriter) write(ctx context.Context, part int) (err error) {
	m, err := t.sorted.merge(t.bound(part), t.bound(part+1))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.close()) }()
	var w *sstable.Writer
	defer func() {
		if w != nil {
			err = errors.Join(err, w.Close()) // after an error: only to close the file
		}
	}()
	key := make([]byte, 0, maxKeyBytes)
	for n := 0; ; n++ {
		p, ok, err := m.next()
		if err != nil || !ok {
			t.pairs.Add(int64(m.read))
			return err
		}
		if n%ctxEntries == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if w != nil && n%ctxEntries == 0 && w.Raw().EstimatedSize() >= tableBytes {
			full := w
			w = nil
			if err := full.Close(); err != nil {
				return err
			}
		}
		if w == nil {
			if w, err = t.create(part); err != nil {
				return err
			}
		}
		key = appendRow(appendPrefix(key[:0], t.id, p.fp), p.row)
		if err := w.Set(key, nil); err != nil {
			return err
		}
	}
}

func (t *tableWriter) create(part int) (*sstable.Writer, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	name := t.s.guard.PathJoin(t.dir, fmt.Sprintf("%d-%d.sst", part, len(t.tables)))
	f, err := t.s.guard.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, err
	}
	t.tables = append(t.tables, name)
	return sstable.NewWriter(objstorageprovider.NewFileWritable(f), t.options), nil
}

// bound returns the first fingerprint of a part.
func (t *tableWriter) bound(part int) uint64 { return uint64(part) << fpBits / uint64(t.parts) }
