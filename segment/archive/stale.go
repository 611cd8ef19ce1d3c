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
		h, again, err := a.tryHandle(st, t.handles[i], try)
		if !again {
			return h, err
		}
	}
}

// tryHandle does something with the file of a handle of the state of now; again says
// that there is a newer state.
func (a *Archive) tryHandle(st *state, h *handle, try func(*files, *handle) error) (_ *handle, again bool, err error) {
	if err = try(a.files, h); err == nil {
		return h, false, nil
	}
	if !missing(err) {
		return nil, false, err
	}
	again, rerr := a.follow(st, h)
	if rerr != nil {
		err = rerr
	}
	return nil, again && rerr == nil, err
}

// spot is where a row is: in a segment's file or in a log, which is in use.
type spot struct {
	h *handle
	f frame
}

// locate finds a row of a table, as st has it; of now where st is nil. It wants a leave.
func (a *Archive) locate(st *state, table string, row uint64) (spot, error) {
	pinned := st != nil
	for {
		if !pinned {
			st = a.state.Load()
		}
		k, ok := st.number[table]
		if !ok {
			return spot{}, st.noTable(table)
		}
		t := &st.tables[k]
		if i := t.find(row); i >= 0 {
			if pinned {
				h, err := a.pinned(t.handles[i])
				return spot{h: h}, err
			}
			h, again, err := a.tryHandle(st, t.handles[i], (*files).acquire)
			if again {
				continue
			}
			return spot{h: h}, err
		}
		f := t.frameOf(row)
		switch {
		case f == nil:
			return spot{}, t.outside(row)
		case f.log.acquire():
			return spot{f: *f}, nil
		case a.closed.Load():
			return spot{}, ErrClosed
		case pinned || a.state.Load() == st:
			return spot{}, fmt.Errorf("%w: %s", ErrStale, f.log.path)
		}
	}
}

// leave ends the use of what locate found.
func (a *Archive) leave(s spot) {
	if s.h != nil {
		a.files.release(s.h)
		return
	}
	if err := s.f.log.release(); err != nil {
		a.files.keepError(err)
	}
}

// pinned opens the file of a handle that a view has. Under a read-only archive another
// process may have replaced it.
func (a *Archive) pinned(h *handle) (*handle, error) {
	err := a.files.acquire(h)
	if err == nil || !missing(err) || !a.o.ReadOnly {
		return h, err
	}
	a.change.Lock()
	defer a.change.Unlock()
	m, size, rerr := readManifest(a.fs, a.dir)
	if rerr != nil {
		return nil, rerr
	}
	st := a.state.Load()
	fresh := newState(st.m.follow(m), size, st)
	a.swap(st, fresh)
	t := &fresh.tables[fresh.number[h.info.Table]]
	i := t.find(h.info.FirstRow)
	if i < 0 || !t.tableEntry.segments[i].sameRows(h.info) {
		return nil, fmt.Errorf("%w: %s", ErrStale, h.info.File)
	}
	if t.handles[i].info.File != h.info.File {
		return t.handles[i], a.files.acquire(t.handles[i])
	}
	if now := newState(m, size, nil).segment(h.info.Table, h.info.FirstRow); now == nil || now.File != h.info.File {
		return nil, fmt.Errorf("%w: %s", ErrStale, h.info.File)
	}
	return h, a.files.acquire(h) // named still, or again: else it is lost
}

// sameRows reports whether two segments hold the same rows.
func (s SegmentInfo) sameRows(o SegmentInfo) bool {
	return s.FirstRow == o.FirstRow && s.Rows == o.Rows && s.ContentRoot == o.ContentRoot
}

func (t *tableState) outside(row uint64) error {
	if t.end() == t.firstRow {
		return fmt.Errorf("%w: row %d, table %q has none", segment.ErrRange, row, t.name)
	}
	return fmt.Errorf("%w: row %d, table %q has %d to %d", segment.ErrRange, row, t.name, t.firstRow, t.end()-1)
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
	next := &manifest{chainID: m.chainID, log: m.log, tables: slices.Clone(m.tables)}
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
			if n := newer.tables[k].segments[at]; n.sameRows(*old) {
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

// Refresh reads manifest and logs again, and takes over what another process has
// changed; for an archive that is open read-only. Views stay as they are. ErrStale
// where the tables are not the ones they were.
func (a *Archive) Refresh() error {
	a.refresh.Lock()
	defer a.refresh.Unlock()
	if a.closed.Load() {
		return ErrClosed
	}
	if !a.o.ReadOnly {
		return nil
	}
	fresh, ls, err := a.load()
	if err != nil {
		return a.saw("", err)
	}
	st := a.state.Load()
	for i := range st.tables {
		t := &st.tables[i]
		k, ok := fresh.number[t.name]
		if !ok || !fresh.tables[k].schema.Equal(t.schema) {
			ls.close()
			return fmt.Errorf("%w: table %q is gone", ErrStale, t.name)
		}
	}
	next := newState(fresh.m, fresh.size, st) // takes over handles
	for i := range next.tables {
		next.tables[i].frames, next.tables[i].rewinds = fresh.tables[i].frames, fresh.tables[i].rewinds
	}
	next.sequence = fresh.sequence
	store := a.indexes.Load().store
	next = a.openIndexes(next) // reads rows, whose files may just have been replaced: no lock is held
	next.countRaw()

	a.change.Lock()
	defer a.change.Unlock()
	a.commits.Lock()
	defer a.commits.Unlock()
	st = a.state.Load() // files may have been replaced in it
	old := a.logs
	a.logs, a.tail = ls.files, ls.tail
	a.countLogs()
	next.epoch = st.epoch + 1
	a.swap(st, next)
	a.views.retire(st.epoch, retired{logs: old, store: store})
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
