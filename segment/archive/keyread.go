package archive

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/cespare/xxhash/v2"
	"github.com/segstore/segstore/codec"
	"github.com/segstore/segstore/index"
)

// A store that a writer has open changes underneath readers: for them it leaves copies,
// made of links, in index/checkpoint-N. What came since, they read from the rows.

const checkpointPrefix = "checkpoint-"

// checkpoints returns the numbers of the copies, ascending.
func (a *Archive) checkpoints() (numbers []uint64, err error) {
	names, err := a.fs.List(a.fs.PathJoin(a.dir, indexDir))
	if missing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, ioError("listing", a.fs.PathJoin(a.dir, indexDir), err)
	}
	for _, name := range names {
		digits, ok := strings.CutPrefix(name, checkpointPrefix)
		if n, err := strconv.ParseUint(digits, 10, 64); ok && err == nil {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers, nil
}

func (a *Archive) checkpointDir(n uint64) string {
	return a.fs.PathJoin(a.dir, indexDir, fmt.Sprintf("%s%06d", checkpointPrefix, n))
}

// checkpointIndex leaves a copy for readers, where the store has changed since the last
// one. The one before it stays, for those who have just found it.
func (a *Archive) checkpointIndex() error {
	a.copies.Lock()
	defer a.copies.Unlock()
	ix := a.indexes.Load()
	if ix.store == nil || !a.indexed.Swap(false) {
		return nil
	}
	have, err := a.checkpoints()
	if err != nil {
		return err
	}
	next := uint64(1)
	if n := len(have); n > 0 {
		next = have[n-1] + 1
	}
	if err := ix.store.Checkpoint(a.checkpointDir(next)); err != nil {
		a.indexed.Store(true)
		return err
	}
	for _, n := range have[:max(len(have)-1, 0)] {
		if err := a.fs.RemoveAll(a.checkpointDir(n)); err != nil {
			return ioError("removing", a.checkpointDir(n), err)
		}
	}
	return nil
}

// copyRows is how many rows are committed until readers are left another copy: they read
// what it lacks from the rows, catchUpRows at most.
const copyRows = catchUpRows / 4

// copyIfBehind counts the rows of a commit, and leaves readers a copy where it lacks many.
// a.commits is held.
func (a *Archive) copyIfBehind(tables []tableFrames) {
	for _, t := range tables {
		for i := range t.frames {
			a.uncopied += int(t.frames[i].rows)
		}
	}
	if a.uncopied < copyRows || a.indexes.Load().store == nil {
		return
	}
	select {
	case a.copying <- struct{}{}:
	default:
		return // one is made
	}
	a.uncopied = 0
	go func() { // begin takes a lock that comes before the one that is held here
		defer func() { <-a.copying }()
		_, end, err := a.begin(a.ctx, true)
		if err != nil {
			return
		}
		defer end()
		a.leaveIndex()
	}()
}

// openCopy opens a copy for a read-only archive: the newest, or the one before where that
// is ahead of the rows, which were looked at a moment earlier.
func (a *Archive) openCopy(ahead func(*index.Store) bool) (*index.Store, error) {
	s, before, err := a.openNewestCopy()
	if err != nil || s == nil || before == 0 || !ahead(s) {
		return s, err
	}
	older, err := index.Open(a.fs, a.checkpointDir(before), index.Options{ReadOnly: true, Logger: a.log})
	if err != nil { // it is removed when the next one is made
		a.log.Debug("an older copy of the indexes cannot be opened", "dir", a.dir, "error", err)
		return s, nil
	}
	if ahead(older) {
		return s, older.Close()
	}
	return older, s.Close()
}

// openNewestCopy opens the newest copy, and returns the number of the one before, or 0. A
// writer may remove it at that moment: then there is a newer one.
func (a *Archive) openNewestCopy() (s *index.Store, before uint64, err error) {
	var last error
	for range maxLoads {
		have, err := a.checkpoints()
		if err != nil || len(have) == 0 {
			return nil, 0, errors.Join(err, last)
		}
		s, err := index.Open(a.fs, a.checkpointDir(have[len(have)-1]), index.Options{ReadOnly: true, Logger: a.log})
		if err == nil {
			if len(have) > 1 {
				before = have[len(have)-2]
			}
			return s, before, nil
		}
		last = err
		now, err := a.checkpoints()
		if err != nil || slices.Equal(now, have) {
			return nil, 0, errors.Join(last, err)
		}
	}
	return nil, 0, last
}

// extras are the keys of rows that a copy lacks, by index; made when first asked for.
type extras struct{ byName sync.Map }

// extra is rows by the xxh64 of their key, ascending.
type extra struct {
	mu   sync.Mutex
	rows map[uint64][]uint64 // nil until they were read
}

// find returns the rows that may have a key, newest first.
func (x *extra) find(key []byte) []uint64 {
	rows := slices.Clone(x.rows[xxhash.Sum64(key)])
	slices.Reverse(rows)
	return rows
}

// lacking returns the keys of the rows of an index's table from row from on, as the
// view of a read-only archive has them.
func (a *Archive) lacking(st *state, k *keyIndex, from uint64) (*extra, error) {
	v, _ := st.extras.byName.LoadOrStore(k.Name, &extra{})
	x := v.(*extra)
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.rows == nil { // what fails is tried again
		rows, err := a.keysFrom(st, k, from)
		if err != nil {
			return nil, err
		}
		x.rows = rows
	}
	return x, nil
}

func (a *Archive) keysFrom(st *state, k *keyIndex, from uint64) (map[uint64][]uint64, error) {
	t := &st.tables[st.number[k.Table]]
	if n := t.end() - from; n > catchUpRows {
		return nil, fmt.Errorf("%w: %q: it lacks %d rows, at most %d are read instead", ErrIndex, k.Name, n, catchUpRows)
	}
	rows := map[uint64][]uint64{}
	if from == t.end() {
		return rows, nil
	}
	n := from
	var key []byte
	for row, err := range (&Table{a: a, name: k.Table, st: st}).Rows(from, k.Key.Column) {
		if err != nil {
			return nil, err
		}
		if key, err = k.fn.Append(key[:0], row[0]); err == nil {
			h := xxhash.Sum64(key)
			rows[h] = append(rows[h], n)
		} else if !errors.Is(err, codec.ErrNoKey) {
			return nil, err
		}
		n++
	}
	return rows, nil
}
