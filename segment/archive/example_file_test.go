package archive_test

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/segment/archive"
)

// One segment file by itself: durable when Finish returns, and never seen before.
func ExampleCreateFile() {
	fs := vfs.NewMem() // on disk: vfs.Default
	schema := segment.Schema{Columns: []segment.Column{{Name: "number", Kind: segment.Uint}, {Name: "name", Kind: segment.Bytes}}}
	w, err := archive.CreateFile(fs, "planets.seg", segment.WriterOptions{Table: "planets", Schema: schema, FirstRow: 1})
	check(err)
	defer w.Abort() // no effect after Finish
	for i, name := range []string{"Mercury", "Venus", "Earth", "Mars"} {
		check(w.Append(segment.Row{segment.AppendUint(nil, uint64(i+1)), []byte(name)}))
	}
	info, err := w.Finish()
	check(err)

	f, err := archive.OpenFile(fs, "planets.seg", segment.ReaderOptions{})
	check(err)
	defer f.Close()
	row, err := f.Row(nil, 3)
	check(err)
	fmt.Printf("row 3 is %s, one of %d\n", row[1], info.Rows)
	fmt.Println("the same rows:", f.Info().ContentRoot == info.ContentRoot)
	// Output:
	// row 3 is Earth, one of 4
	// the same rows: true
}
