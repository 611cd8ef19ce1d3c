package merkle_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/segstore/segstore/segment/merkle"
)

// RunRows is part of the format.
func TestRunRowsDoesNotMove(t *testing.T) {
	if merkle.RunRows != 256 {
		t.Fatalf("RunRows is %d", merkle.RunRows)
	}
}

func TestRunsNodes(t *testing.T) {
	for _, n := range []int{0, 1, 2, 255, 256, 257, 511, 512, 513, 1024, 1500} {
		all := leaves(n)
		var runs merkle.Runs
		for i, l := range all {
			if complete := runs.Append(l); complete != ((i+1)%merkle.RunRows == 0) {
				t.Fatalf("row %d: complete is %v", i, complete)
			} else if complete {
				if got, want := runs.Full()[i/merkle.RunRows], naiveRoot(all[i+1-merkle.RunRows:i+1]); got != want {
					t.Fatalf("run that row %d completes: %v, want %v", i, got, want)
				}
			}
		}
		want := runNodes(all)
		if got := runs.Nodes(); !slices.Equal(got, want) {
			t.Errorf("%d rows: nodes %v, want %v", n, got, want)
		}
		if got := runs.Full(); !slices.Equal(got, want[:n/merkle.RunRows]) {
			t.Errorf("%d rows: full runs %v, want %v", n, got, want[:n/merkle.RunRows])
		}
		if got := merkle.RunsOf(uint64(n)); got != uint64(len(want)) {
			t.Errorf("RunsOf(%d) is %d, want %d", n, got, len(want))
		}
	}
}

// What Nodes and Full return is not touched by what is appended later.
func TestRunsNodesStay(t *testing.T) {
	var runs merkle.Runs
	for i := range 3*merkle.RunRows + 5 {
		runs.Append(leaf(i))
	}
	nodes, full := runs.Nodes(), runs.Full()
	keptNodes, keptFull := slices.Clone(nodes), slices.Clone(full)
	_ = append(full, leaf(0)) // must not reach the receiver's spare room either
	for i := range 3 * merkle.RunRows {
		runs.Append(leaf(3*merkle.RunRows + 5 + i))
	}
	if !slices.Equal(nodes, keptNodes) || !slices.Equal(full, keptFull) {
		t.Error("nodes changed after they were returned")
	}
	if got, want := runs.Root(), naiveRoot(leaves(6*merkle.RunRows+5)); got != want {
		t.Errorf("root %v, want %v", got, want)
	}
	runs.Reset()
	if got, want := runs.Root(), naiveRoot(nil); got != want || runs.Rows() != 0 || len(runs.Nodes()) != 0 {
		t.Errorf("after Reset: root %v over %d rows", got, runs.Rows())
	}
}

func TestRunsAppendRun(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		full := rapid.IntRange(0, 6).Draw(t, "runs")
		all := leaves(full*merkle.RunRows + rapid.IntRange(0, 300).Draw(t, "rows after"))
		var runs merkle.Runs
		for i := range full {
			if err := runs.AppendRun(naiveRoot(all[i*merkle.RunRows : (i+1)*merkle.RunRows])); err != nil {
				t.Fatal(err)
			}
		}
		for _, l := range all[full*merkle.RunRows:] {
			runs.Append(l)
		}
		if got, want := runs.Root(), naiveRoot(all); got != want || runs.Rows() != uint64(len(all)) {
			t.Fatalf("root %v over %d rows, want %v over %d", got, runs.Rows(), want, len(all))
		}
		if got, want := runs.Nodes(), runNodes(all); !slices.Equal(got, want) {
			t.Fatalf("nodes %v, want %v", got, want)
		}
	})
}

func TestRootOfRunsProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := leaves(rapid.IntRange(0, 3000).Draw(t, "rows"))
		nodes := runNodes(all)
		kept := slices.Clone(nodes)
		got, err := merkle.RootOfRuns(nodes, uint64(len(all)))
		if want := naiveRoot(all); err != nil || got != want {
			t.Fatalf("%d rows: %v, %v, want %v", len(all), got, err, want)
		}
		if !slices.Equal(nodes, kept) {
			t.Fatal("the nodes given were changed")
		}
		if len(nodes) == 0 {
			return
		}
		// Any one node replaced is another root.
		nodes[rapid.IntRange(0, len(nodes)-1).Draw(t, "node")][rapid.IntRange(0, 31).Draw(t, "byte")] ^= 1
		if other, err := merkle.RootOfRuns(nodes, uint64(len(all))); err != nil || other == got {
			t.Fatalf("a changed node: %v, %v", other, err)
		}
	})
}

func TestRootOfRunsWrongCount(t *testing.T) {
	for _, c := range []struct {
		runs int
		rows uint64
	}{
		{1, 0}, {0, 1}, {0, 256}, {2, 256}, {1, 257}, {3, 512}, {1, 1 << 40}, {0, math.MaxUint64}, {1, math.MaxUint64},
	} {
		if root, err := merkle.RootOfRuns(leaves(c.runs), c.rows); !errors.Is(err, merkle.ErrRuns) || root != (merkle.Hash{}) {
			t.Errorf("%d nodes for %d rows: %v, %v", c.runs, c.rows, root, err)
		}
	}
	if got := merkle.RunsOf(math.MaxUint64); got != 1<<56 {
		t.Errorf("RunsOf(MaxUint64) is %d, want 1<<56", got)
	}
}

// FuzzRootOfRuns: nodes and row counts as a damaged file may hold them. The
// answer is an error or the RFC's tree over exactly these nodes.
func FuzzRootOfRuns(f *testing.F) {
	var whole []byte
	for _, node := range runNodes(leaves(1000)) {
		whole = append(whole, node[:]...)
	}
	f.Add(whole, uint64(1000))
	f.Add(whole, uint64(1024))
	f.Add(whole, uint64(1025))
	f.Add(whole[:64], uint64(257))
	f.Add([]byte{}, uint64(0))
	f.Add([]byte{}, uint64(math.MaxUint64))
	f.Fuzz(func(t *testing.T, b []byte, rows uint64) {
		var nodes []merkle.Hash
		for chunk := range slices.Chunk(b, 32) {
			var node merkle.Hash
			copy(node[:], chunk)
			nodes = append(nodes, node)
		}
		fits := rows <= uint64(len(nodes))*merkle.RunRows && (len(nodes) == 0 || rows > uint64(len(nodes)-1)*merkle.RunRows)
		got, err := merkle.RootOfRuns(nodes, rows)
		switch {
		case fits != (err == nil):
			t.Fatalf("%d nodes for %d rows: %v", len(nodes), rows, err)
		case err != nil && !errors.Is(err, merkle.ErrRuns):
			t.Fatalf("error %v", err)
		case err == nil && got != naiveRoot(nodes):
			t.Fatalf("%d nodes for %d rows: root %v, want %v", len(nodes), rows, got, naiveRoot(nodes))
		}
	})
}
