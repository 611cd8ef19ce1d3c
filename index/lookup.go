package index

import (
	"fmt"
	"iter"
	"math"
)

// Candidates appends to dst rows of an index that may have this key, newest
// first, of [first, end) only and at most limit of them; 0 is all. Every row
// covered that has the key is among them. So may be others: rows that were
// rewound, and those of a key with the same fingerprint. It allocates nothing
// where dst has room, but once after a change.
//
// Errors: ErrNoIndex, ErrDamaged, ErrClosed, the file system's; dst is then
// returned as it was.
func (s *Store) Candidates(dst []uint64, name string, key []byte, first, end uint64, limit int) ([]uint64, error) {
	r, err := s.acquire(name)
	if err != nil {
		return dst, s.wrap("look up", name, err)
	}
	rows := dst
	err = s.try(func() (err error) {
		rows, err = r.candidates(dst, fingerprint(key), first, end, limit)
		return err
	})
	if closing := s.release(r, err == nil); err == nil {
		err = closing
	}
	if err != nil {
		if failure := s.failure(); failure != nil { // what was not written cannot be read
			err = fmt.Errorf("%w: %w", ErrFailed, failure)
		}
		return dst, s.wrap("look up", name, err)
	}
	return rows, nil
}

func (r *reader) candidates(dst []uint64, fp, first, end uint64, limit int) ([]uint64, error) {
	if first >= end {
		return dst, nil
	}
	if limit <= 0 {
		limit = math.MaxInt
	}
	prefix := appendPrefix(r.key[:0], r.id, fp)
	for more := r.it.SeekGE(appendRow(prefix, end-1)); more; more = r.it.Next() {
		k := r.it.Key()
		if len(k) < prefixBytes || string(k[:prefixBytes]) != string(prefix) {
			return dst, nil
		}
		row, ok := parseRow(k[prefixBytes:])
		switch {
		case !ok:
			return dst, damaged("entry %x", k)
		case row < first:
			return dst, nil
		}
		dst = append(dst, row)
		if limit--; limit == 0 {
			return dst, nil
		}
	}
	return dst, r.it.Error()
}

// A loop that ends with the first row does not pay for more than a few; one
// over very many rows seeks seldom.
const (
	firstRows = 8
	mostRows  = 1024
)

// Lookup is Candidates one by one, for keys that very many rows have. Changes
// during the loop may be seen or not.
func (s *Store) Lookup(name string, key []byte, first, end uint64) iter.Seq2[uint64, error] {
	return func(yield func(uint64, error) bool) {
		var rows []uint64
		for n := firstRows; ; n = min(4*n, mostRows) {
			var err error
			rows, err = s.Candidates(rows[:0], name, key, first, end, n)
			if err != nil {
				yield(0, err)
				return
			}
			for _, row := range rows {
				if !yield(row, nil) {
					return
				}
			}
			if len(rows) < n {
				return
			}
			end = rows[n-1]
		}
	}
}
