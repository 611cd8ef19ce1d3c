package merkle

import "crypto/sha256"

// A Tree takes leaves in order and gives the root over them at any moment. It
// keeps one hash for each full subtree not yet joined with its neighbour: at
// most 64, whatever the number of rows. The zero value is the empty tree; a
// copy goes its own way.
type Tree struct {
	rows  uint64
	depth int // full subtrees in stack: the number of ones in rows
	stack [64]Hash
}

// Append adds the leaf hash of the next row.
func (t *Tree) Append(leaf Hash) {
	t.push(&leaf, t.rows)
	t.rows++
}

// AppendRun adds the next [RunRows] rows at once by the node over them. It
// returns [ErrUnaligned], and adds nothing, unless the rows so far are a
// multiple of RunRows.
func (t *Tree) AppendRun(node Hash) error {
	if t.rows%RunRows != 0 {
		return ErrUnaligned
	}
	t.push(&node, t.rows>>runShift)
	t.rows += RunRows
	return nil
}

// push adds the subtree h, of which before equal ones came earlier. As in
// adding one to a binary number, each trailing one of before is a subtree of
// h's size that h now completes.
func (t *Tree) push(h *Hash, before uint64) {
	top := *h
	for ; before&1 == 1; before >>= 1 {
		t.depth--
		top = node(&t.stack[t.depth], &top)
	}
	t.stack[t.depth] = top
	t.depth++
}

// Root returns the root over the rows so far: SHA-256 of nothing for no rows,
// the leaf itself for one. It changes nothing; rows may follow.
func (t *Tree) Root() Hash {
	if t.depth == 0 {
		return sha256.Sum256(nil)
	}
	// The stack holds larger subtrees first, so joining from the right gives
	// each split its largest power of two on the left.
	root := t.stack[t.depth-1]
	for i := t.depth - 2; i >= 0; i-- {
		root = node(&t.stack[i], &root)
	}
	return root
}

// Rows returns the number of rows so far.
func (t *Tree) Rows() uint64 { return t.rows }

// Reset makes t the empty tree again.
func (t *Tree) Reset() { t.rows, t.depth = 0, 0 }
