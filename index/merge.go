package index

import "errors"

// merger gives the pairs of several cursors in order, each once. Its heap has
// the cursor of the least pair on top.
type merger struct {
	heap []*cursor
	all  []*cursor // to be closed
	read int       // pairs, with those that came twice
	last pair
	any  bool // last is a pair given
}

// add takes a cursor over, also on an error.
func (m *merger) add(c *cursor) error {
	m.all = append(m.all, c)
	ok, err := c.next()
	if err != nil || !ok {
		return err
	}
	m.heap = append(m.heap, c)
	for i := len(m.heap) - 1; i > 0; {
		up := (i - 1) / 2
		if !m.heap[i].pair.before(m.heap[up].pair) {
			break
		}
		m.heap[i], m.heap[up] = m.heap[up], m.heap[i]
		i = up
	}
	return nil
}

// next returns the next pair; false after the last.
func (m *merger) next() (p pair, ok bool, err error) {
	for len(m.heap) > 0 {
		top := m.heap[0]
		p = top.pair
		m.read++
		more, err := top.next()
		if err != nil {
			return p, false, err
		}
		if !more {
			n := len(m.heap) - 1
			m.heap[0], m.heap = m.heap[n], m.heap[:n]
		}
		m.sink()
		if !m.any || p != m.last {
			m.last, m.any = p, true
			return p, true, nil
		}
	}
	return p, false, nil
}

// sink brings the top to its place.
func (m *merger) sink() {
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(m.heap); child++ {
			if m.heap[child].pair.before(m.heap[least].pair) {
				least = child
			}
		}
		if least == i {
			return
		}
		m.heap[i], m.heap[least] = m.heap[least], m.heap[i]
		i = least
	}
}

func (m *merger) close() (err error) {
	for _, c := range m.all {
		err = errors.Join(err, c.close())
	}
	return err
}

// merge returns the pairs with fingerprints of [lo, hi), in order.
func (r runs) merge(lo, hi uint64) (*merger, error) {
	m := &merger{}
	if err := m.add(memoryCursor(r.memory, lo, hi)); err != nil {
		return nil, errors.Join(err, m.close())
	}
	for _, run := range r.files {
		c, err := run.open(lo, hi)
		if err == nil {
			err = m.add(c)
		}
		if err != nil {
			return nil, errors.Join(err, m.close())
		}
	}
	return m, nil
}
