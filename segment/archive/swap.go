package archive

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// plan is what a change makes of a state.
type plan struct {
	m    *manifest         // a copy, to be changed
	ends map[string]uint64 // where tables end that lose rows of logs
}

// swapManifest replaces the manifest by what edit plans, and the state with it; what
// goes out of use is removed when no view needs it. Commits go on meanwhile, unless
// the plan takes rows away (hold). a.change is held.
//
// done says that the new manifest may be there although there is an error: nothing is
// changed any more then.
func (a *Archive) swapManifest(hold bool, edit func(st *state, p *plan) error) (done bool, err error) {
	a.commits.Lock()
	if hold {
		defer a.commits.Unlock()
	}
	p, err := a.plan(edit)
	if !hold {
		a.commits.Unlock()
	}
	if err != nil {
		return false, err
	}
	size, done, err := writeManifest(a.fs, a.dir, p.m)
	if err != nil {
		if done {
			a.failed.set(fmt.Errorf("archive: %s: closed for changes, until it is opened anew, after: %w", a.dir, err))
		}
		return done, err
	}
	if !hold {
		a.commits.Lock()
		defer a.commits.Unlock()
	}
	old := a.state.Load()
	next := newState(p.m, size, old)
	for name, end := range p.ends {
		t := &next.tables[next.number[name]]
		t.frames = t.before(end)
	}
	if len(p.ends) > 0 {
		next.cover = old.lowered(a.indexes.Load(), p.ends)
	}
	next.epoch++
	next.countRaw()
	gone := a.outOfUse(old, next)
	a.state.Store(next)
	a.views.retire(old.epoch, gone)
	return true, nil
}

// plan makes a plan on the state of now, of which everything is durable. a.commits is
// held.
func (a *Archive) plan(edit func(st *state, p *plan) error) (*plan, error) {
	if err := a.failed.get(); err != nil {
		return nil, err
	}
	if err := a.syncLog(); err != nil {
		return nil, err
	}
	st := a.state.Load()
	p := &plan{m: &manifest{chainID: st.m.chainID, tables: slices.Clone(st.m.tables)}, ends: map[string]uint64{}}
	if err := edit(st, p); err != nil {
		return nil, err
	}
	var err error
	if p.m.dropped, err = a.dropped(st, p); err != nil {
		return nil, err
	}
	for i := range p.m.tables {
		e := &p.m.tables[i]
		if k, ok := st.number[e.name]; ok {
			e.rewinds = st.tables[k].rewinds
		}
		if _, ok := p.ends[e.name]; ok {
			e.rewinds++
		}
	}
	if a.nextLog == 1 && st.m.log == (logRef{}) {
		return p, nil // there never was a log
	}
	first := a.nextLog
	if a.current != nil {
		first = a.current.number
	}
	for i := range p.m.tables {
		e := &p.m.tables[i]
		e.logEnd = 0
		k, ok := st.number[e.name]
		if !ok {
			continue
		}
		t := &st.tables[k]
		frames, end := t.behind(e.sealedEnd()), t.end()
		if to, ok := p.ends[e.name]; ok {
			end = to
		}
		if end <= e.sealedEnd() {
			continue
		}
		e.logEnd = end
		for i := range frames {
			if frames[i].first < end {
				first = min(first, frames[i].log.number)
			}
		}
	}
	p.m.log = logRef{First: first, Sequence: st.sequence, Open: first < a.nextLog}
	return p, nil
}

// dropped returns the files that the next writer removes if this one cannot: of rows
// that no table has any more, which nothing but the manifest can tell from rows that it
// does not know yet.
func (a *Archive) dropped(st *state, p *plan) (files []droppedFile, err error) {
	removed := map[string]bool{}
	for _, d := range st.m.dropped {
		if a.files.pending(d.File) || a.views.needs(d.File) {
			files = append(files, d)
		} else {
			removed[a.fs.PathDir(a.path(d.File))] = true
		}
	}
	for dir := range removed { // else a crash may bring it back
		if err := syncDir(a.fs, dir); err != nil {
			return nil, err
		}
	}
	for name, end := range p.ends {
		for _, s := range st.tables[st.number[name]].tableEntry.segments {
			if s.EndRow() > end {
				files = append(files, droppedFile{s.File})
			}
		}
	}
	slices.SortFunc(files, func(x, y droppedFile) int { return strings.Compare(x.File, y.File) })
	return slices.Compact(files), nil
}

// outOfUse returns what old names and next does not: files of segments, and logs.
// a.commits is held.
func (a *Archive) outOfUse(old, next *state) (gone retired) {
	kept := make(map[*handle]bool)
	for i := range next.tables {
		for _, h := range next.tables[i].handles {
			kept[h] = true
		}
	}
	for i := range old.tables {
		for _, h := range old.tables[i].handles {
			if !kept[h] {
				gone.handles = append(gone.handles, h)
			}
			delete(kept, h)
		}
	}
	for h := range kept {
		a.files.known(h)
	}
	k := 0
	for k < len(a.logs) && a.logs[k].number < next.m.log.First {
		k++
	}
	gone.logs = slices.Clone(a.logs[:k])
	a.logs = slices.Delete(a.logs, 0, k)
	a.countLogs()
	return gone
}

// dispose removes what no view needs any more.
func (a *Archive) dispose(r retired) {
	for _, h := range r.handles {
		a.files.retire(h)
	}
	if r.store != nil {
		if err := r.store.Close(); err != nil {
			a.log.Warn("closing an older index", "dir", a.dir, "error", err)
		}
	}
	for _, l := range r.logs {
		l.gone.Store(!a.o.ReadOnly)
		if err := l.release(); err != nil {
			a.files.keepError(err)
		}
	}
}

// errRewound says that rows went while a segment of them was made.
var errRewound = errors.New("archive: rows were rewound")

// name gives a draft that was verified the name of a segment. After an error there is
// neither, unless a view needs a file of this name.
func (a *Archive) name(d *draft, file string) error {
	err := a.files.publish(d, file)
	if err != nil {
		_ = d.fs.Remove(d.path) // one of the two names is there; nobody knows it
		if !a.views.needs(file) {
			_ = d.fs.Remove(a.path(file))
		}
	}
	return err
}

// withdraw removes a file that was given its name and that nothing names.
func (a *Archive) withdraw(file string) error { return a.files.withdraw(file, a.views.needs(file)) }
