package merkle

import (
	"fmt"
	"slices"
)

// Runs takes leaves in order and keeps the node of each aligned run of
// [RunRows] rows: 32 bytes a run, an eighth of a byte a row. The zero value
// holds no rows.
type Runs struct {
	full []Hash // nodes of the full runs
	run  Tree   // of the run in progress: 0 to RunRows-1 rows
}

// Append adds the leaf hash of the next row, and says whether it completed a
// run, whose node is then the last of [Runs.Full].
func (r *Runs) Append(leaf Hash) (complete bool) {
	r.run.Append(leaf)
	if r.run.Rows() < RunRows {
		return false
	}
	r.full = append(r.full, r.run.Root())
	r.run.Reset()
	return true
}

// AppendRun adds the next [RunRows] rows at once by the node over them. It
// returns [ErrUnaligned], and adds nothing, unless the rows so far are a
// multiple of RunRows.
func (r *Runs) AppendRun(node Hash) error {
	if r.run.Rows() != 0 {
		return ErrUnaligned
	}
	r.full = append(r.full, node)
	return nil
}

// Full returns the nodes of the full runs so far, in order. The slice is the
// receiver's own: it may be read until [Runs.Reset], not written.
func (r *Runs) Full() []Hash { return slices.Clip(r.full) }

// Nodes returns the nodes of all runs so far, in order, in a new slice. The
// last is over fewer than [RunRows] rows if the rows are no multiple of it.
func (r *Runs) Nodes() []Hash {
	nodes := make([]Hash, 0, len(r.full)+1)
	nodes = append(nodes, r.full...)
	if r.run.Rows() > 0 {
		nodes = append(nodes, r.run.Root())
	}
	return nodes
}

// Root returns the root over the rows so far, as [Tree.Root] does. It costs a
// hash a run.
func (r *Runs) Root() Hash {
	var t Tree
	for i := range r.full {
		t.push(&r.full[i], uint64(i))
	}
	if r.run.Rows() > 0 {
		last := r.run.Root()
		t.push(&last, uint64(len(r.full)))
	}
	return t.Root()
}

// Rows returns the number of rows so far.
func (r *Runs) Rows() uint64 { return uint64(len(r.full))*RunRows + r.run.Rows() }

// Reset forgets all rows and keeps the memory.
func (r *Runs) Reset() {
	r.full = r.full[:0]
	r.run.Reset()
}

// RunsOf returns the number of runs that rows rows make: rows / RunRows, rounded up.
func RunsOf(rows uint64) uint64 {
	runs := rows / RunRows
	if rows%RunRows != 0 {
		runs++
	}
	return runs
}

// RootOfRuns returns the root over rows rows, given the node of each of their
// runs, in order; the last run holds what is left of rows. It returns an error
// wrapping [ErrRuns] unless there are exactly [RunsOf](rows) nodes. Whether
// the nodes are right it cannot know.
func RootOfRuns(runs []Hash, rows uint64) (Hash, error) {
	if want := RunsOf(rows); uint64(len(runs)) != want {
		return Hash{}, fmt.Errorf("%w: %d for %d rows, want %d", ErrRuns, len(runs), rows, want)
	}
	// A partial run may stand on the stack as if it were full: it is the last,
	// and the tree over k runs has the same shape with or without it being so.
	var t Tree
	for i := range runs {
		t.push(&runs[i], uint64(i))
	}
	return t.Root(), nil
}
