package index_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/segstore/segstore/index"
)

// Rows are loaded, more are added, and the last is rewound and replaced.
func Example() {
	rows := []string{"alice", "bob", "alice"}
	s, err := index.Open(vfs.NewMem(), "index", index.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()

	entries := func(yield func(index.Entry, error) bool) {
		for i, name := range rows {
			if !yield(index.Entry{Key: []byte(name), Row: uint64(i)}, nil) {
				return
			}
		}
	}
	state := index.State{Definition: "name", End: 3}
	if err := s.Load(context.Background(), "by name", state, entries, index.LoadOptions{}); err != nil {
		fmt.Println(err)
		return
	}

	// The third row is taken back; another takes its number.
	err = s.Lower("by name", 2, [32]byte{})
	rows[2] = "carol"
	b := s.Batch()
	state.End = 3
	err = errors.Join(err, b.Add("by name", []byte("carol"), 2), b.SetState("by name", state), b.Commit(true))
	if err != nil {
		fmt.Println(err)
		return
	}

	for _, name := range []string{"alice", "carol", "dave"} {
		candidates, err := s.Candidates(nil, "by name", []byte(name), 0, 3, 0)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Print(name, ": candidates ", candidates, ", rows")
		for _, row := range candidates {
			if rows[row] == name { // the row decides
				fmt.Print(" ", row)
			}
		}
		fmt.Println()
	}
	// Output:
	// alice: candidates [2 0], rows 0
	// carol: candidates [2], rows 2
	// dave: candidates [], rows
}
