package archive

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"

	"github.com/segstore/segstore/codec"
	"github.com/segstore/segstore/index"
)

// IndexStatus says in a word what an index is worth.
type IndexStatus string

// What an index can be.
const (
	IndexWhole   IndexStatus = "whole"   // it covers rows, and look-ups read the few that it lacks
	IndexStale   IndexStatus = "stale"   // built of other rows or by another version, or lacking more than look-ups read
	IndexMissing IndexStatus = "missing" // the manifest names it, and it was never built, or removed
	IndexDamaged IndexStatus = "damaged" // its files do not check, or its entries are not those of the rows
	IndexUnread  IndexStatus = "unread"  // its files, or the rows that it is held against, cannot be read: an error of I/O, or damage of rows
)

// IndexFault says how an entry and a row do not agree.
type IndexFault string

// What a check of an index finds.
const (
	IndexNoEntry IndexFault = "no_entry" // the row's key has no entry: look-ups miss the row
	IndexNoKey   IndexFault = "no_key"   // an entry of the row has not the row's key: some look-ups read the row in vain
)

// IndexFlaw is one difference between an index and its rows. Entries have
// fingerprints of 40 bits, not keys.
type IndexFlaw struct {
	Index       string     `json:"index"`
	Table       string     `json:"table"`
	Row         uint64     `json:"row"`
	Fault       IndexFault `json:"fault"`
	Key         string     `json:"key"`         // of the row, in hex; empty where it has none
	Fingerprint string     `json:"fingerprint"` // of the entry that is missing or too much, in hex
}

// Error returns place and fault in one line.
func (f IndexFlaw) Error() string {
	if f.Fault == IndexNoEntry {
		return fmt.Sprintf("index %q: row %d of %q is not found by its key %s", f.Index, f.Row, f.Table, f.Key)
	}
	return fmt.Sprintf("index %q: entry %s leads to row %d of %q, whose key is %s", f.Index, f.Fingerprint, f.Row, f.Table, f.keyText())
}

func (f IndexFlaw) keyText() string {
	if f.Key == "" {
		return "none"
	}
	return f.Key
}

// IndexCheck is what a check of an index found.
type IndexCheck struct {
	IndexSpec
	Status  IndexStatus `json:"status"`
	Reason  string      `json:"reason,omitempty"` // of another status than whole
	Rows    uint64      `json:"rows"`             // that were compared
	Behind  uint64      `json:"behind"`           // rows of the table that it has not; read-only, look-ups read them
	Keys    uint64      `json:"keys"`             // of the rows that were compared
	Entries uint64      `json:"entries"`          // of the index
	NoEntry uint64      `json:"no_entry"`         // flaws of that kind
	NoKey   uint64      `json:"no_key"`           // flaws of that kind
	Left    uint64      `json:"left"`             // entries that rewinds and prunes left: no flaws, gone when it is built anew
}

// CheckIndexOptions says how an index is checked. The zero value means defaults.
type CheckIndexOptions struct {
	// Flaw is called for each flaw, in no order of rows.
	Flaw func(IndexFlaw)

	// Progress is told how many rows were read, of how many.
	Progress func(rows, of uint64)

	// MemoryBytes bounds what is sorted at once; what is more is sorted in files of
	// 13 bytes a row. Default 64 MiB, at least 1. Decoding rows comes on top, as for
	// Table.Scan.
	MemoryBytes int

	// TempDir is the directory for these files, on the file system of the archive;
	// what is made there is removed. Default os.TempDir().
	TempDir string
}

// CheckIndex compares an index with the rows of its table in both directions: each
// row's key has its entry, each entry has the key of its row. A read-only archive's is
// the copy that the last writer left. It is compared as it is now, while commits,
// rewinds and prunes go on; nothing in the archive's directory is written.
//
// An index that cannot be compared (stale, missing, damaged files) is no error, but a
// status. ErrNoIndex; ErrIndex where its function is unknown; errors of reading rows,
// of I/O, of ctx.
func (a *Archive) CheckIndex(ctx context.Context, name string, o CheckIndexOptions) (IndexCheck, error) {
	ctx, end, err := a.begin(ctx, false)
	if err != nil {
		return IndexCheck{}, err
	}
	defer end()
	k, err := a.index(name)
	if err != nil {
		return IndexCheck{}, err
	}
	if o.TempDir == "" {
		o.TempDir = os.TempDir()
	}
	c := &indexChecker{a: a, k: k, o: o, r: IndexCheck{IndexSpec: k.IndexSpec}}
	if err := c.start(); err != nil {
		return c.r, err
	}
	defer a.unpin(c.st)
	if c.check == nil {
		return c.r, nil
	}
	err = c.run(ctx)
	if errors.Is(err, index.ErrDamaged) {
		c.r.Status, c.r.Reason, err = IndexDamaged, err.Error(), nil
	}
	return c.r, errors.Join(err, c.check.Close())
}

// indexChecker is a check that runs.
type indexChecker struct {
	a     *Archive
	k     *keyIndex
	o     CheckIndexOptions
	st    *state // pinned
	check *index.Check
	end   uint64 // of the rows to be compared
	r     IndexCheck
}

// start pins rows and index of one moment; without an error the caller unpins.
func (c *indexChecker) start() (err error) {
	a := c.a
	a.commits.Lock() // rows and entries of a commit come together
	defer a.commits.Unlock()
	if c.st, err = a.pin(); err != nil {
		return err
	}
	t := &c.st.tables[c.st.number[c.k.Table]]
	ix := a.indexesOf(c.st)
	have, status, reason := a.indexStatus(c.st, ix, c.k)
	c.end = max(have, t.firstRow)
	c.r.Status, c.r.Behind = status, t.end()-c.end
	if reason != nil {
		c.r.Reason = reason.Error()
	}
	switch {
	case status == IndexUnread:
		a.unpin(c.st)
		return fmt.Errorf("index %q: %w", c.k.Name, reason)
	case status == IndexMissing || status == IndexDamaged || status == IndexStale && have == 0:
		return nil
	}
	c.r.Rows = c.end - t.firstRow
	c.check, err = ix.store.NewCheck(c.k.Name, index.CheckOptions{
		First: t.firstRow, End: c.end, MemoryBytes: c.o.MemoryBytes,
		TempFS: a.fs, TempDir: a.fs.PathJoin(c.o.TempDir, fmt.Sprintf("segstore-check-%016x", rand.Uint64())),
	})
	if err != nil {
		a.unpin(c.st)
	}
	return err
}

// indexesOf returns the indexes that the cover of a state is of.
func (a *Archive) indexesOf(st *state) *indexes {
	if a.o.ReadOnly && st.ix != nil {
		return st.ix
	}
	return a.indexes.Load()
}

// indexStatus returns up to which row an index answers as st has it, and what it is
// worth. The status damaged is of its files; nothing is compared.
func (a *Archive) indexStatus(st *state, ix *indexes, k *keyIndex) (end uint64, status IndexStatus, reason error) {
	switch {
	case ix.err == nil && ix.store == nil:
		return 0, IndexMissing, errNotBuilt
	case errors.Is(ix.err, errNotBuilt), errors.Is(ix.err, index.ErrMissing):
		return 0, IndexMissing, ix.err
	case errors.Is(ix.err, index.ErrDamaged):
		return 0, IndexDamaged, ix.err
	case errors.Is(ix.err, index.ErrVersion):
		return 0, IndexStale, ix.err
	case ix.err != nil:
		return 0, IndexUnread, ix.err
	}
	have, ok := st.cover[k.Name]
	if !ok {
		_, err := a.covered(st, ix, k)
		switch {
		case errors.Is(err, errNotBuilt):
			return 0, IndexMissing, err
		case err == nil:
			err = errBehind
		case !errors.Is(err, errChanged): // building it anew would not read the rows either
			return 0, IndexUnread, err
		}
		return 0, IndexStale, err
	}
	t := &st.tables[st.number[k.Table]]
	if n := t.end() - max(have.end, t.firstRow); n > catchUpRows || n > 0 && !a.o.ReadOnly {
		return have.end, IndexStale, fmt.Errorf("it lacks %d rows", n)
	}
	return have.end, IndexWhole, nil
}

// errBehind says that an index fell behind, or is being built.
var errBehind = errors.New("it has not followed the rows")

func (c *indexChecker) run(ctx context.Context) error {
	for e, err := range c.a.entries(ctx, c.st, c.k, c.end, c.o.Progress) {
		if err == nil {
			err = c.check.Add(e.Key, e.Row)
		}
		if err != nil {
			return err
		}
	}
	column := &Column{t: &Table{a: c.a, name: c.k.Table, st: c.st}, name: c.k.Key.Column, number: c.k.column}
	var value, key []byte
	rep, err := c.check.Run(ctx, func(m index.Mismatch) (err error) {
		c.r.Status, c.r.Reason = IndexDamaged, "its entries are not those of the rows"
		if c.o.Flaw == nil {
			return nil
		}
		if value, err = column.Value(value[:0], m.Row); err != nil {
			return err
		}
		if key, err = c.k.fn.Append(key[:0], value); errors.Is(err, codec.ErrNoKey) {
			key, err = key[:0], nil
		}
		if err != nil {
			return err
		}
		f := IndexFlaw{Index: c.k.Name, Table: c.k.Table, Row: m.Row, Fault: IndexNoEntry, Key: hex.EncodeToString(key), Fingerprint: fmt.Sprintf("%010x", m.Fingerprint)}
		if m.Stray {
			f.Fault = IndexNoKey
		}
		c.o.Flaw(f)
		return nil
	})
	c.r.Keys, c.r.Entries, c.r.NoEntry, c.r.NoKey, c.r.Left = rep.Keys, rep.Entries, rep.Lacking, rep.Stray, rep.Left
	return err
}
