package merkle_test

import (
	"fmt"

	"github.com/segstore/segstore/segment/merkle"
)

func Example() {
	var h merkle.Hasher
	var runs merkle.Runs
	for i := range 1000 {
		runs.Append(h.Leaf([][]byte{fmt.Appendf(nil, "row %d", i)}))
	}
	root := runs.Root()
	again, err := merkle.RootOfRuns(runs.Nodes(), runs.Rows())
	fmt.Println(len(runs.Nodes()), root == again, err)
	// Output: 4 true <nil>
}
