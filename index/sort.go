package index

import (
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// pair is an entry of a load.
type pair struct{ fp, row uint64 }

// before is the order of entries: by fingerprint, the newest row first.
func (a pair) before(b pair) bool { return a.fp < b.fp || a.fp == b.fp && a.row > b.row }

const (
	pairBytes = 16 // in memory
	digitBits = 10 // four passes over 40 bits; counters fit the first cache
)

// sortPairs sorts in time proportional to the pairs, with scratch of the same
// length, and leaves one of each that occurs twice. The result is in pairs.
func sortPairs(pairs, scratch []pair) []pair {
	var counts [fpBits / digitBits][1 << digitBits]uint32
	for _, p := range pairs {
		for d := range counts {
			counts[d][p.fp>>(digitBits*d)%(1<<digitBits)]++
		}
	}
	from, to := pairs, scratch[:len(pairs)]
	for d := range counts { // an even number of passes: the last is into pairs
		at := &counts[d]
		sum := uint32(0)
		for i, n := range at {
			at[i] = sum
			sum += n
		}
		for _, p := range from {
			digit := p.fp >> (digitBits * d) % (1 << digitBits)
			to[at[digit]] = p
			at[digit]++
		}
		from, to = to, from
	}
	return settle(pairs)
}

// settle puts rows of one fingerprint in order and drops what occurs twice.
func settle(pairs []pair) []pair {
	kept := pairs[:0]
	for i := 0; i < len(pairs); {
		j := i + 1
		for j < len(pairs) && pairs[j].fp == pairs[i].fp {
			j++
		}
		if j > i+1 {
			slices.SortFunc(pairs[i:j], func(a, b pair) int {
				if a.before(b) {
					return -1
				} else if a == b {
					return 0
				}
				return 1
			})
		}
		for ; i < j; i++ {
			if n := len(kept); n == 0 || kept[n-1] != pairs[i] {
				kept = append(kept, pairs[i])
			}
		}
	}
	return kept
}

// sorter collects pairs into sorted runs. It has three buffers: one that is
// filled while another is sorted with the third, and written.
type sorter struct {
	fs      vfs.FS
	dir     string
	size    int // pairs a buffer
	filling []pair
	scratch []pair
	spare   chan []pair // buffers free to be filled
	full    chan []pair // buffers to be sorted and written
	done    chan struct{}
	failed  chan struct{}
	err     error // of the writing, once failed or done is closed
	sorted  runs
	spilled bool // dir is there
}

// runs are sorted, without duplicates inside each.
type runs struct {
	files  []*runFile
	memory []pair // the last run
}

// pairs returns how many pairs there are.
func (r runs) pairs() (n int) {
	for _, f := range r.files {
		n += f.pairs
	}
	return n + len(r.memory)
}

func newSorter(fs vfs.FS, dir string, memory int) *sorter {
	s := &sorter{fs: fs, dir: dir, size: max(1, memory/(3*pairBytes)), spare: make(chan []pair, 2)}
	s.spare <- nil // allocated when there is so much
	return s
}

func (s *sorter) add(p pair) error {
	if len(s.filling) == s.size {
		if err := s.spill(); err != nil {
			return err
		}
	}
	s.filling = append(s.filling, p)
	return nil
}

// spill gives a full buffer away to be written, and takes an empty one.
func (s *sorter) spill() error {
	if s.full == nil {
		if err := s.fs.MkdirAll(s.dir, 0o755); err != nil {
			return err
		}
		s.spilled = true
		s.full, s.done, s.failed = make(chan []pair), make(chan struct{}), make(chan struct{})
		go s.write()
	}
	select {
	case s.full <- s.filling:
		s.filling = nil
	case <-s.failed:
		return s.err
	}
	select {
	case b := <-s.spare:
		s.filling = slices.Grow(b[:0], s.size)
	case <-s.failed:
		return s.err
	}
	return nil
}

func (s *sorter) write() {
	defer close(s.done)
	for b := range s.full {
		if s.scratch == nil {
			s.scratch = make([]pair, s.size)
		}
		name := s.fs.PathJoin(s.dir, fmt.Sprintf("run-%d", len(s.sorted.files)))
		run, err := writeRun(s.fs, name, sortPairs(b, s.scratch))
		if err != nil {
			s.err = err
			close(s.failed)
			return
		}
		s.sorted.files = append(s.sorted.files, run)
		s.spare <- b[:0]
	}
}

// finish returns the runs, the last one in memory.
func (s *sorter) finish() (runs, error) {
	if s.full != nil {
		close(s.full)
		<-s.done
		s.full = nil
		if s.err != nil {
			return runs{}, s.err
		}
	}
	if len(s.scratch) < len(s.filling) {
		s.scratch = make([]pair, len(s.filling))
	}
	s.sorted.memory = sortPairs(s.filling, s.scratch)
	return s.sorted, nil
}

// abort ends the goroutine of a sorter that was not finished.
func (s *sorter) abort() {
	if s.full != nil {
		close(s.full)
		<-s.done
		s.full = nil
	}
}

// remove removes the files of a sorter that is finished or aborted.
func (s *sorter) remove() error {
	if !s.spilled {
		return nil
	}
	s.spilled = false
	return s.fs.RemoveAll(s.dir)
}
