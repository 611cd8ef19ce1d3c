package merkle_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/segstore/segstore/segment/merkle"
)

// The eight entries, and the roots over the first n of them, that the
// implementations of RFC 6962 test with (Certificate Transparency's
// reference tree, transparency-dev/merkle).
func TestKnownRoots(t *testing.T) {
	entries := []string{"", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"}
	roots := []string{
		"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		"6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
		"fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
		"aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
		"d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
		"4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
		"76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
		"ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
		"5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
	}
	var tree merkle.Tree
	for n, root := range roots {
		if got := tree.Root().String(); got != root {
			t.Errorf("root over %d entries %s, want %s", n, got, root)
		}
		if n < len(entries) {
			entry, err := hex.DecodeString(entries[n])
			if err != nil {
				t.Fatal(err)
			}
			tree.Append(sha256.Sum256(append([]byte{0}, entry...)))
		}
	}
}

// Every size up to several runs, by each way there is to a root.
func TestEverySize(t *testing.T) {
	const most = 4*merkle.RunRows + 3
	var l log
	var tree merkle.Tree
	var runs merkle.Runs
	for n := 0; ; n++ {
		want := l.root(t, int64(n))
		if got := tree.Root(); got != want || tree.Rows() != uint64(n) {
			t.Fatalf("tree of %d rows: root %v over %d, want %v", n, got, tree.Rows(), want)
		}
		if got := runs.Root(); got != want || runs.Rows() != uint64(n) {
			t.Fatalf("runs of %d rows: root %v over %d, want %v", n, got, runs.Rows(), want)
		}
		if got, err := merkle.RootOfRuns(runs.Nodes(), uint64(n)); err != nil || got != want {
			t.Fatalf("run nodes of %d rows: root %v, %v, want %v", n, got, err, want)
		}
		if n%97 == 0 {
			if got := naiveRoot(leaves(n)); got != want {
				t.Fatalf("the oracles disagree on %d rows: %v and %v", n, got, want)
			}
		}
		if n == most {
			break
		}
		l.add(t, leaf(n))
		tree.Append(leaf(n))
		runs.Append(leaf(n))
	}
}

func TestTreeAppendRun(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// A tree built by runs, single rows, and runs where they fit again.
		all := leaves(rapid.IntRange(0, 2000).Draw(t, "rows"))
		var tree merkle.Tree
		for i := 0; i < len(all); {
			if i%merkle.RunRows == 0 && i+merkle.RunRows <= len(all) && rapid.Bool().Draw(t, "run") {
				if err := tree.AppendRun(naiveRoot(all[i : i+merkle.RunRows])); err != nil {
					t.Fatal(err)
				}
				i += merkle.RunRows
				continue
			}
			tree.Append(all[i])
			i++
		}
		if got, want := tree.Root(), naiveRoot(all); got != want || tree.Rows() != uint64(len(all)) {
			t.Fatalf("root %v over %d rows, want %v over %d", got, tree.Rows(), want, len(all))
		}
	})
}

func TestAppendRunUnaligned(t *testing.T) {
	var tree merkle.Tree
	var runs merkle.Runs
	for n := range 2*merkle.RunRows + 1 {
		if n%merkle.RunRows != 0 {
			before := tree.Root()
			if err := tree.AppendRun(leaf(n)); !errors.Is(err, merkle.ErrUnaligned) {
				t.Fatalf("tree of %d rows: %v", n, err)
			}
			if err := runs.AppendRun(leaf(n)); !errors.Is(err, merkle.ErrUnaligned) {
				t.Fatalf("runs of %d rows: %v", n, err)
			}
			if tree.Root() != before || runs.Root() != before || tree.Rows() != uint64(n) || runs.Rows() != uint64(n) {
				t.Fatalf("%d rows: changed by a refused run", n)
			}
		}
		tree.Append(leaf(n))
		runs.Append(leaf(n))
	}
}

func TestTreeCopyAndReset(t *testing.T) {
	var tree merkle.Tree
	for n := range 300 {
		tree.Append(leaf(n))
	}
	fork := tree
	fork.Append(leaf(1000))
	if got, want := tree.Root(), naiveRoot(leaves(300)); got != want {
		t.Errorf("a copy's row changed the original: %v, want %v", got, want)
	}
	if got, want := fork.Root(), naiveRoot(append(leaves(300), leaf(1000))); got != want {
		t.Errorf("copy: %v, want %v", got, want)
	}
	tree.Reset()
	if got, want := tree.Root(), naiveRoot(nil); got != want || tree.Rows() != 0 {
		t.Errorf("after Reset: %v over %d rows, want %v", got, tree.Rows(), want)
	}
	tree.Append(leaf(0))
	if tree.Root() != leaf(0) {
		t.Error("after Reset and a row: not the row's leaf")
	}
}
