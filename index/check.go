package index

import (
	"cmp"
	"context"
	"errors"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// CheckOptions are what an index is compared with, and by which means.
type CheckOptions struct {
	// First and End are the rows [First, End) that are added to the check: all
	// of them must be covered by the index.
	First, End uint64
	// MemoryBytes bounds what is sorted at once, as with a load. Default
	// 64 MiB, at least 1.
	MemoryBytes int
	// TempFS and TempDir are where runs are sorted to if that is not enough:
	// 13 bytes an entry. The directory is made then, and removed by Close. It
	// need not be beside the store, which may be read-only.
	TempFS  vfs.FS
	TempDir string
}

// CheckReport counts what a check has seen.
type CheckReport struct {
	Keys    uint64 // that were added
	Entries uint64 // of the index, also those of other rows
	Lacking uint64 // keys that the index has no entry for: their rows are not found
	Stray   uint64 // entries of rows that have another key or none: each costs some look-ups a read
	Left    uint64 // entries that rewinds and prunes leave: of rows not added, and of numbers that others took over
}

// Mismatch is a key without its entry, or an entry without its key.
type Mismatch struct {
	Row         uint64
	Fingerprint uint64 // of the key, 40 bits
	Stray       bool   // an entry without its key
}

// Check compares an index, as it is when the check is made, with keys that the
// caller takes from the rows. One goroutine may use it; it wants a Close, for
// which Store.Close waits.
type Check struct {
	s      *Store
	name   string
	r      *reader
	lowest uint64
	o      CheckOptions
	sorter *sorter
	keys   uint64
}

// NewCheck begins a check. ErrNoIndex; ErrInvalid where the index does not
// cover the rows.
func (s *Store) NewCheck(name string, o CheckOptions) (*Check, error) {
	o.MemoryBytes = cmp.Or(o.MemoryBytes, LoadOptions{}.withDefaults().MemoryBytes)
	err := LoadOptions{MemoryBytes: o.MemoryBytes, Workers: 1}.validate()
	switch {
	case err != nil:
	case o.First > o.End:
		err = invalid("rows [%d, %d)", o.First, o.End)
	case o.TempFS == nil || o.TempDir == "":
		err = invalid("no TempFS or TempDir")
	}
	if err != nil {
		return nil, s.wrap("check", name, err)
	}
	r, err := s.acquire(name)
	if err != nil {
		return nil, s.wrap("check", name, err)
	}
	c := &Check{s: s, name: name, r: r, o: o, sorter: newSorter(o.TempFS, o.TempDir, o.MemoryBytes)}
	s.mu.Lock()
	rec := s.catalogue[name]
	s.mu.Unlock()
	c.lowest = rec.lowest // a Lower since then takes nothing from what was read
	switch {
	case rec.id != r.id:
		err = ErrReplaced
	case o.First < o.End && (o.First < rec.state.First || o.End > rec.state.End):
		err = invalid("rows [%d, %d), covered are [%d, %d)", o.First, o.End, rec.state.First, rec.state.End)
	}
	if err != nil {
		return nil, errors.Join(s.wrap("check", name, err), c.Close())
	}
	return c, nil
}

// Add adds the key of a row of the options' range. Rows may come in any order;
// those without a key are left out.
func (c *Check) Add(key []byte, row uint64) error {
	if row < c.o.First || row >= c.o.End {
		return c.s.wrap("check", c.name, invalid("row %d is not in [%d, %d)", row, c.o.First, c.o.End))
	}
	c.keys++
	return c.s.wrap("check", c.name, c.sorter.add(pair{fingerprint(key), row}))
}

// Run compares, after all keys were added, and calls found for each mismatch,
// in the order of fingerprints; its error ends the check. Errors: those of
// found and of ctx as they are, ErrDamaged, the file systems'.
func (c *Check) Run(ctx context.Context, found func(Mismatch) error) (CheckReport, error) {
	rep := CheckReport{Keys: c.keys}
	sorted, err := c.sorter.finish()
	if err != nil {
		return rep, c.s.wrap("check", c.name, err)
	}
	keys, err := sorted.merge(0, 1<<fpBits)
	if err != nil {
		return rep, c.s.wrap("check", c.name, err)
	}
	err = c.compare(ctx, keys, &rep, found)
	if closing := keys.close(); err == nil && closing != nil {
		err = c.s.wrap("check", c.name, closing)
	}
	return rep, err
}

// compare steps through keys and entries, which have one order.
func (c *Check) compare(ctx context.Context, keys *merger, rep *CheckReport, found func(Mismatch) error) error {
	key, more, err := keys.next()
	// lacking reports keys before an entry, or all that are left.
	lacking := func(before func(pair) bool) error {
		for err == nil && more && before(key) {
			rep.Lacking++
			if err := found(Mismatch{Row: key.row, Fingerprint: key.fp}); err != nil {
				return err
			}
			key, more, err = keys.next()
		}
		return c.s.wrap("check", c.name, err)
	}
	for first := true; ; first = false {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		entries, done, err := c.entries(first)
		if err != nil {
			return c.s.wrap("check", c.name, err)
		}
		for _, e := range entries {
			rep.Entries++
			if err := lacking(func(k pair) bool { return k.before(e) }); err != nil {
				return err
			}
			switch {
			case more && key == e:
				key, more, err = keys.next()
				if err != nil {
					return c.s.wrap("check", c.name, err)
				}
			case e.row < c.o.First || e.row >= c.o.End || e.row >= c.lowest:
				rep.Left++
			default:
				rep.Stray++
				if err := found(Mismatch{Row: e.row, Fingerprint: e.fp, Stray: true}); err != nil {
					return err
				}
			}
		}
		if done {
			return lacking(func(pair) bool { return true })
		}
	}
}

// entries returns the next entries of the index, ctxEntries of them at most.
// The caller's functions run outside of it: their panics are not Pebble's.
func (c *Check) entries(first bool) (list []pair, done bool, err error) {
	list = make([]pair, 0, ctxEntries)
	err = c.s.try(func() error {
		it, id := c.r.it, appendID(nil, c.r.id)
		more := false
		if first {
			more = it.SeekGE(id)
		} else {
			more = it.Next()
		}
		for ; more; more = it.Next() {
			k := it.Key()
			if len(k) < idBytes || string(k[:idBytes]) != string(id) {
				break
			}
			p, ok := parseEntry(k)
			if !ok {
				return damaged("entry %x", k)
			}
			if list = append(list, p); len(list) == ctxEntries {
				return nil
			}
		}
		done = true
		return it.Error()
	})
	return list, done, err
}

// parseEntry reads the key of an entry, behind its id.
func parseEntry(k []byte) (p pair, ok bool) {
	if len(k) < prefixBytes {
		return p, false
	}
	for _, b := range k[idBytes:prefixBytes] {
		p.fp = p.fp<<8 | uint64(b)
	}
	p.row, ok = parseRow(k[prefixBytes:])
	return p, ok
}

// Close ends the check and removes its temporary files. Later calls do nothing.
func (c *Check) Close() error {
	if c.r == nil {
		return nil
	}
	c.sorter.abort()
	err := c.sorter.remove()
	err = errors.Join(err, c.s.release(c.r, false))
	c.r = nil
	return c.s.wrap("check", c.name, err)
}
