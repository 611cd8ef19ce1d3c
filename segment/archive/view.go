package archive

import (
	"sync"

	"github.com/segstore/segstore/index"
	"github.com/segstore/segstore/segment"
)

// View is what an archive holds at one moment: it stays as it is while rows are
// committed, sealed, recompressed, pruned or rewound. Files that it needs are kept
// until Close. Any number of goroutines may use it.
//
// Of a read-only archive a file may be removed by the writer's process: a view goes on
// where another one holds the same rows, else with ErrStale.
type View struct {
	a    *Archive
	st   *state
	once sync.Once
}

// View returns a view of now. It wants a Close.
func (a *Archive) View() (*View, error) {
	st, err := a.pin()
	if err != nil {
		return nil, err
	}
	return &View{a: a, st: st}, nil
}

// Close ends the view. It may be called more than once, also when the archive is closed.
func (v *View) Close() { v.once.Do(func() { v.a.unpin(v.st) }) }

// Table returns a table as the view has it. ErrNoTable.
func (v *View) Table(name string) (*Table, error) {
	if _, ok := v.st.number[name]; !ok {
		return nil, v.st.noTable(name)
	}
	return &Table{a: v.a, name: name, st: v.st}, nil
}

// Tables returns the tables in the order of creation.
func (v *View) Tables() []TableInfo { return v.st.info().Tables }

// Position returns where the tables end.
func (v *View) Position() Position { return v.st.position() }

// pin returns the state of now, whose files stay until unpin.
func (a *Archive) pin() (*state, error) {
	a.views.mu.Lock()
	defer a.views.mu.Unlock()
	if a.closed.Load() {
		return nil, ErrClosed
	}
	st := a.state.Load() // under the lock: what it names is not disposed of before it is counted
	a.views.open[st.epoch]++
	return st, nil
}

func (a *Archive) unpin(st *state) {
	a.views.mu.Lock()
	if a.views.open[st.epoch]--; a.views.open[st.epoch] == 0 {
		delete(a.views.open, st.epoch)
	}
	free := a.views.free()
	a.views.mu.Unlock()
	for _, r := range free {
		a.dispose(r)
	}
}

// views counts the views of each epoch, and keeps what went out of use behind them.
type views struct {
	mu      sync.Mutex
	open    map[uint64]int
	waiting []retired // in the order of their epochs
	dispose func(retired)
}

// retired is what states up to an epoch name, and later ones do not.
type retired struct {
	epoch   uint64
	handles []*handle
	logs    []*logFile
	store   *index.Store
}

// retire disposes of what states up to an epoch need, now or when the last view of
// one of them is closed.
func (v *views) retire(epoch uint64, r retired) {
	if len(r.handles) == 0 && len(r.logs) == 0 && r.store == nil {
		return
	}
	r.epoch = epoch
	v.mu.Lock()
	v.waiting = append(v.waiting, r)
	free := v.free()
	v.mu.Unlock()
	for _, r := range free {
		v.dispose(r)
	}
}

// abandon disposes of everything: no view is of use any more.
func (v *views) abandon() {
	v.mu.Lock()
	all := v.waiting
	v.waiting = nil
	v.mu.Unlock()
	for _, r := range all {
		v.dispose(r)
	}
}

// free takes out what no view needs. v.mu is held.
func (v *views) free() (free []retired) {
	oldest := ^uint64(0)
	for e := range v.open {
		oldest = min(oldest, e)
	}
	k := 0
	for k < len(v.waiting) && v.waiting[k].epoch < oldest {
		k++
	}
	free = append(free, v.waiting[:k]...)
	v.waiting = append([]retired(nil), v.waiting[k:]...)
	return free
}

// needs reports whether a file that went out of use waits for a view.
func (v *views) needs(file string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, r := range v.waiting {
		for _, h := range r.handles {
			if h.info.File == file {
				return true
			}
		}
	}
	return false
}

// count returns how many views are open, and how many files wait for them.
func (v *views) count() (open, waiting int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, n := range v.open {
		open += n
	}
	for _, r := range v.waiting {
		waiting += len(r.handles) + len(r.logs)
	}
	return open, waiting
}

var _ segment.Source = (*Table)(nil)
