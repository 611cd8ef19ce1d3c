package segment

import (
	"fmt"

	"github.com/segstore/segstore/segment/merkle"
)

// hashed is rows that were hashed.
type hashed struct {
	spans  []span
	leaves []merkle.Hash // of the rows of all spans
	raw    []uint64      // bytes of the values of each column
}

type span struct {
	first uint64
	rows  int
}

func (h *hashed) reset() {
	h.spans, h.leaves = h.spans[:0], h.leaves[:0]
	clear(h.raw)
}

// rowTree computes the nodes of the runs anew, from rows some of which may be
// missing, and holds them against the directory.
type rowTree struct {
	a     *anatomy
	next  uint64         // row that should come next
	run   merkle.Tree    // of the current run
	holed bool           // rows of the current run are missing
	nodes []*merkle.Hash // of each run, nil where rows are missing
	raw   []uint64       // bytes of the values of each column
}

func newRowTree(a *anatomy) *rowTree {
	return &rowTree{a: a, next: a.firstRow(), raw: make([]uint64, len(a.directory.columns))}
}

// add adds rows behind those that came before.
func (t *rowTree) add(h *hashed) {
	leaves := h.leaves
	for _, s := range h.spans {
		t.skipTo(s.first)
		for _, leaf := range leaves[:s.rows] {
			t.run.Append(leaf)
			t.next++
			if (t.next-t.a.firstRow())%merkle.RunRows == 0 {
				t.endRun()
			}
		}
		leaves = leaves[s.rows:]
	}
	for i, n := range h.raw {
		t.raw[i] += n
	}
}

// skipTo notes that rows are missing.
func (t *rowTree) skipTo(row uint64) {
	if row == t.next {
		return
	}
	runs := (row - t.a.firstRow()) / merkle.RunRows
	for uint64(len(t.nodes)) < runs {
		t.nodes = append(t.nodes, nil)
	}
	t.run.Reset()
	t.holed = (row-t.a.firstRow())%merkle.RunRows != 0
	t.next = row
}

func (t *rowTree) endRun() {
	if t.holed {
		t.nodes = append(t.nodes, nil)
	} else {
		root := t.run.Root()
		t.nodes = append(t.nodes, &root)
	}
	t.run.Reset()
	t.holed = false
}

// finish holds nodes, root and statistics against what the file says.
func (t *rowTree) finish(flaw func(*Flaw) bool) {
	d, f := t.a.directory, t.a.footer
	t.holed = t.holed || t.next != f.firstRow+f.rows // the last chunk is damaged
	if t.run.Rows() > 0 || t.holed {
		t.endRun()
	}
	whole := uint64(len(t.nodes)) == merkle.RunsOf(f.rows)
	for i, n := range t.nodes {
		if n == nil {
			whole = false
			continue
		}
		if i < len(d.runs) && *n != d.runs[i] {
			first := uint64(i) * merkle.RunRows
			e := damage(SectionDirectory, int64(f.dirOffset), int64(f.dirLength),
				fmt.Errorf("hash of the rows is %s, the directory has %s: the rows are not those that were written", n, d.runs[i]))
			e.FirstRow, e.Rows = f.firstRow+first, min(merkle.RunRows, f.rows-first)
			if !flaw(e) {
				return
			}
		}
	}
	for i, cs := range d.columns {
		if whole && cs.RawBytes != t.raw[i] {
			e := damage(SectionDirectory, int64(f.dirOffset), int64(f.dirLength), fmt.Errorf("values have %d bytes, the directory counts %d", t.raw[i], cs.RawBytes))
			e.Column = cs.Column
			if !flaw(e) {
				return
			}
		}
	}
}
