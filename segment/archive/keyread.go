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

// openCopy opens the newest copy, for a read-only archive. A writer may remove it at
// that moment: then there is a newer one.
func (a *Archive) openCopy() (*index.Store, error) {
	var last error
	for range maxLoads {
		have, err := a.checkpoints()
		if err != nil || len(have) == 0 {
			return nil, errors.Join(err, last)
		}
		s, err := index.Open(a.fs, a.checkpointDir(have[len(have)-1]), index.Options{ReadOnly: true, Logger: a.log})
		if err == nil {
			return s, nil
		}
		last = err
		now, err := a.checkpoints()
		if err != nil || slices.Equal(now, have) {
			return nil, errors.Join(last, err)
		}
	}
	return nil, last
}

// extras are the keys of rows that a copy lacks, by index; made when first asked for.
type extras struct{ byName sync.Map }

// extra is rows by the xxh64 of their key, ascending.
type extra struct {
	once sync.Once
	rows map[uint64][]uint64
	err  error
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
	x.once.Do(func() { x.rows, x.err = a.keysFrom(st, k, from) })
	return x, x.err
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
