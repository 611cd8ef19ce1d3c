package dict

import "sort"

const (
	// overhead is added to a segment's length before its worth is divided by it: it favours long segments, since the
	// seams of short ones break matches. Values from 12 to 48 measured alike, 0 by 0.3 percent worse.
	overhead = 24

	// extendNum/extendDen of its own worth a byte is what the next byte must bring for a segment to grow.
	extendNum, extendDen = 7, 10

	// maxStale is how many strings in a row that the segment has already do not stop it growing: padding between fields
	// should not, a megabyte of zeros should.
	maxStale = 256

	// worthBits is the fraction of a worth a byte, which is kept in integers: the same choice on every processor.
	worthBits = 16

	// patience bounds the search: how often, on average, a position may be looked at again. Real data takes 2 to 6.
	patience = 24
)

// segmentBytes are the lengths of the segments that compete. Two lengths together suit columns that share whole
// records as well as those that share fields; on real columns every single length was worse somewhere.
func segmentBytes() []int { return []int{96, 384} }

// segment is data[begin:end] of a material, and its worth a byte (<< worthBits), or an upper bound of it.
type segment struct {
	worth      uint64
	begin, end int32
}

func (s segment) better(t segment) bool {
	return s.worth > t.worth || s.worth == t.worth && (s.begin < t.begin || s.begin == t.begin && s.end < t.end)
}

// counter is what is known of a string: samples that hold it, 0 once it is in the dictionary, and the last look that
// counted it.
type counter struct{ freq, look uint32 }

// cover chooses segments of a material, best first.
type cover struct {
	*material
	counters []counter
	look     uint32
	visits   int // positions looked at
	heap     []segment
}

// selectContent returns at most maxBytes of content: segments in ascending order of worth, so that any tail of it is the
// best content of that size. Empty if samples share nothing.
func selectContent(m *material, maxBytes int) []byte {
	c := &cover{material: m, counters: make([]counter, len(m.freq))}
	for i, f := range m.freq {
		c.counters[i].freq = f
	}
	for _, n := range segmentBytes() {
		c.cut(n)
	}
	c.heapify()

	var chosen []segment
	for left := maxBytes; left >= gramBytes; {
		s, ok := c.next()
		if !ok {
			break
		}
		s = c.extend(s, left)
		for _, g := range c.gram[s.begin : s.end-gramBytes+1] {
			c.counters[g].freq = 0
		}
		chosen = append(chosen, s)
		left -= int(s.end - s.begin)
	}
	content := make([]byte, 0, maxBytes)
	for i := len(chosen) - 1; i >= 0; i-- {
		content = append(content, m.data[chosen[i].begin:chosen[i].end]...)
	}
	return content
}

// cut adds all segments of n bytes, at every half of n, to the heap, unsorted.
func (c *cover) cut(n int) {
	begin := 0
	for _, end := range c.ends {
		for ; begin <= end-gramBytes; begin += n / 2 {
			s, ok := c.trim(segment{begin: int32(begin), end: int32(min(begin+n, end))})
			if !ok {
				continue
			}
			sum := uint64(0)
			for _, g := range c.gram[s.begin : s.end-gramBytes+1] {
				sum += uint64(c.counters[g].freq) // strings that repeat count again: a bound is enough here
			}
			s.worth = worth(sum, s)
			c.heap = append(c.heap, s)
		}
		begin = end
	}
}

// next takes the best segment off the heap. Segments lose by what was chosen since, so worths in the heap are bounds: the
// best is the first that is worth the same when counted again. (What trim takes off can raise a worth; not by much.)
func (c *cover) next() (segment, bool) {
	for len(c.heap) > 0 {
		s, ok := c.trim(c.heap[0])
		if !ok {
			c.pop()
			continue
		}
		sum := uint64(0)
		c.look++
		for _, g := range c.gram[s.begin : s.end-gramBytes+1] {
			if k := &c.counters[g]; k.look != c.look {
				k.look = c.look
				sum += uint64(k.freq)
			}
		}
		c.visits += int(s.end - s.begin)
		s.worth = worth(sum, s)
		// Hostile samples could have every segment counted again for each one chosen: out of patience, the first goes.
		if s == c.heap[0] || c.visits > patience*len(c.data) {
			c.pop()
			return s, true
		}
		c.heap[0] = s
		c.down(0)
	}
	return segment{}, false
}

// trim cuts off both ends what brings nothing; false if nothing is left.
func (c *cover) trim(s segment) (segment, bool) {
	last := s.end - gramBytes
	for s.begin <= last && c.counters[c.gram[s.begin]].freq == 0 {
		s.begin++
	}
	for last > s.begin && c.counters[c.gram[last]].freq == 0 {
		last--
	}
	s.end = last + gramBytes
	return s, s.begin <= last
}

// extend lets a segment grow inside its sample, up to limit bytes, as long as each byte more brings nearly what those of
// the segment do; a segment of more than limit bytes loses its head.
func (c *cover) extend(s segment, limit int) segment {
	i := sort.SearchInts(c.ends, int(s.begin)+1)
	low, high := int32(0), int32(c.ends[i])
	if i > 0 {
		low = int32(c.ends[i-1])
	}
	enough := uint32(s.worth * extendNum / extendDen >> worthBits)
	low, high = max(low, s.end-int32(limit)), min(high, s.begin+int32(limit))
	stale := 0
	grow := func(g uint32) bool {
		k := &c.counters[g]
		if k.look == c.look {
			stale++
		} else {
			stale = 0
		}
		k.look = c.look
		return k.freq > enough && stale <= maxStale
	}
	for s.end < high && grow(c.gram[s.end-gramBytes+1]) {
		s.end++
	}
	low = max(low, s.end-int32(limit))
	stale = 0
	for s.begin > low && grow(c.gram[s.begin-1]) {
		s.begin--
	}
	s.begin = max(s.begin, s.end-int32(limit))
	return s
}

func worth(sum uint64, s segment) uint64 { return sum << worthBits / uint64(s.end-s.begin+overhead) }

func (c *cover) heapify() {
	for i := len(c.heap)/2 - 1; i >= 0; i-- {
		c.down(i)
	}
}

func (c *cover) pop() {
	last := len(c.heap) - 1
	c.heap[0] = c.heap[last]
	c.heap = c.heap[:last]
	c.down(0)
}

func (c *cover) down(i int) {
	h := c.heap
	for {
		child := 2*i + 1
		if child >= len(h) {
			return
		}
		if child+1 < len(h) && h[child+1].better(h[child]) {
			child++
		}
		if !h[child].better(h[i]) {
			return
		}
		h[i], h[child] = h[child], h[i]
		i = child
	}
}
