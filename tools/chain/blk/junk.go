package blk

import (
	"bytes"
	"fmt"

	"github.com/segstore/segstore/tools/chain"
)

// junk counts what KeepJunk kept of a file.
type junk struct {
	runs, bytes int
	first       *chain.InputError
}

// String returns a sentence, or nothing where there is none.
func (j junk) String() string {
	if j.runs == 0 {
		return ""
	}
	return fmt.Sprintf("%d bytes in %d places that are no block are kept as they are; the first: %v", j.bytes, j.runs, j.first)
}

// maxTries bounds the work on hostile junk: how many magics in it are taken for that of a block.
const maxTries = 64

// keepJunk takes what lies before the next block, or before the end of the file, and appends it to a gap record. bad says
// why there is no block here, and is the error where there is too much junk.
func (s *scan) keepJunk(gap []byte, sh shape, bad *chain.InputError) ([]byte, error) {
	n := 0 // bytes known to be junk
	for try := 0; ; try++ {
		next, err := s.nextMagic(n+1, sh)
		if err != nil {
			return gap, err
		}
		if next > MaxJunkBytes || try == maxTries {
			return gap, bad
		}
		if n = next; n == len(s.w.have()) {
			break
		}
		_, _, worse, err := s.record(n, sh.magic, sh.key)
		if err != nil {
			return gap, err
		}
		if worse == nil {
			break
		}
	}
	gap = appendBytes(gap, s.w.have()[:n])
	s.w.take(n)
	if s.junk.runs++; s.junk.first == nil {
		s.junk.first = bad
	}
	s.junk.bytes += n
	return gap, nil
}

// nextMagic returns how far from here, and not before from, the next magic is; where the file ends without one, how far
// that is. Beyond MaxJunkBytes it looks no further.
func (s *scan) nextMagic(from int, sh shape) (int, error) {
	for from <= MaxJunkBytes {
		if _, err := s.w.need(from + chain.InputBuffer); err != nil {
			return 0, err
		}
		end := min(from+chain.InputBuffer, len(s.w.have()))
		if i := bytes.Index(s.w.at(min(from, end), end, sh.key), sh.magic[:]); i >= 0 {
			return from + i, nil
		}
		if end == len(s.w.have()) && s.w.end {
			return end, nil
		}
		from = end - len(sh.magic) + 1
	}
	return from, nil
}
