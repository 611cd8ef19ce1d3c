package archive

import (
	"fmt"
	"slices"

	"github.com/segstore/segstore/segment"
)

// acquire opens the segment of a table that holds row. Every acquire without an
// error wants a files.release.
//
// A file may have been replaced since this archive read the manifest: by this
// process, or, under a read-only archive, by another one. Then the one that
// replaced it is opened, if it has the same identity.
func (a *Archive) acquire(table string, row uint64) (*handle, error) {
	return a.reach(table, row, (*files).acquire)
}

// reach is acquire for whatever should be done with the file.
func (a *Archive) reach(table string, row uint64, try func(*files, *handle) error) (*handle, error) {
	for {
		st := a.state.Load()
		k, ok := st.number[table]
		if !ok {
			return nil, st.noTable(table)
		}
		t := &st.tables[k]
		i := t.find(row)
		if i < 0 {
			return nil, t.outside(row)
		}
		h := t.handles[i]
		err := try(a.files, h)
		if err == nil {
			return h, nil
		}
		if !missing(err) {
			return nil, err
		}
		again, rerr := a.follow(st, h)
		if rerr != nil {
			return nil, rerr
		}
		if !again {
			return nil, err
		}
	}
}

func (t *tableEntry) outside(row uint64) error {
	if len(t.segments) == 0 {
		return fmt.Errorf("%w: row %d, table %q has none", segment.ErrRange, row, t.name)
	}
	return fmt.Errorf("%w: row %d, table %q has %d to %d", segment.ErrRange, row, t.name, t.firstRow, t.endRow()-1)
}

// follow takes over what replaced the missing file of h, and whatever else was
// replaced by the same rows. again says that there is something new to try.
func (a *Archive) follow(st *state, h *handle) (again bool, err error) {
	if a.state.Load() != st {
		return true, nil
	}
	if !a.o.ReadOnly {
		return false, nil // nobody else can have replaced it
	}
	a.change.Lock()
	defer a.change.Unlock()
	if a.state.Load() != st {
		return true, nil
	}
	m, size, err := readManifest(a.fs, a.dir)
	if err != nil {
		return false, err
	}
	fresh := newState(st.m.follow(m), size, st)
	now := fresh.segment(h.info.Table, h.info.FirstRow)
	if now.File == h.info.File {
		if s := newState(m, size, nil).segment(h.info.Table, h.info.FirstRow); s != nil && s.File == now.File {
			return false, nil // the manifest names it still: it is lost
		}
		return false, fmt.Errorf("%w: %s", ErrStale, h.info.File)
	}
	a.swap(st, fresh)
	return true, nil
}

// follow returns the manifest with each segment replaced by the one of the same
// identity that newer has.
func (m *manifest) follow(newer *manifest) *manifest {
	next := &manifest{chainID: m.chainID, tables: slices.Clone(m.tables)}
	for i := range next.tables {
		t := &next.tables[i]
		k := slices.IndexFunc(newer.tables, func(n tableEntry) bool { return n.name == t.name && n.schema.Equal(t.schema) })
		if k < 0 {
			continue
		}
		t.segments = slices.Clone(t.segments)
		for s := range t.segments {
			old := &t.segments[s]
			at := newer.tables[k].find(old.FirstRow)
			if at < 0 {
				continue
			}
			if n := newer.tables[k].segments[at]; n.FirstRow == old.FirstRow && n.Rows == old.Rows && n.ContentRoot == old.ContentRoot {
				*old = n
			}
		}
	}
	return next
}

// segment returns the segment of a table that begins with row, or nil.
func (st *state) segment(table string, row uint64) *SegmentInfo {
	k, ok := st.number[table]
	if !ok {
		return nil
	}
	t := st.tables[k]
	if i := t.find(row); i >= 0 && t.segments[i].FirstRow == row {
		return &t.segments[i]
	}
	return nil
}

// Refresh reads the manifest again, and takes over what another process has
// changed; for an archive that is open read-only. ErrStale where the tables are
// not the ones they were.
func (a *Archive) Refresh() error {
	a.change.Lock()
	defer a.change.Unlock()
	if a.closed.Load() {
		return ErrClosed
	}
	if !a.o.ReadOnly {
		return nil
	}
	m, size, err := readManifest(a.fs, a.dir)
	if err != nil {
		return err
	}
	st := a.state.Load()
	fresh := newState(m, size, st)
	for i := range st.tables {
		t := &st.tables[i]
		k, ok := fresh.number[t.name]
		if !ok || !fresh.tables[k].schema.Equal(t.schema) {
			return fmt.Errorf("%w: table %q is gone", ErrStale, t.name)
		}
	}
	a.swap(st, fresh)
	return nil
}

// swap makes fresh the state, and closes the files that only the old one names
// when nobody uses them any more.
func (a *Archive) swap(old, fresh *state) {
	a.state.Store(fresh)
	kept := map[*handle]bool{}
	for i := range fresh.tables {
		for _, h := range fresh.tables[i].handles {
			kept[h] = true
		}
	}
	for i := range old.tables {
		for _, h := range old.tables[i].handles {
			if !kept[h] {
				a.files.forget(h)
			}
		}
	}
}
