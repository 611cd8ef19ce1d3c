package archive_test

import (
	"context"
	"fmt"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/segment/archive"
)

// The README shows this example; TestReadme holds them together.
func ExampleCreate() {
	fs := vfs.NewMem() // on disk: vfs.Default
	schema := segment.Schema{Columns: []segment.Column{
		{Name: "number", Kind: segment.Uint},
		{Name: "hash", Kind: segment.Fixed, Width: 32},
		{Name: "body", Kind: segment.Bytes},
	}}
	b, err := archive.Create(fs, "/chain", archive.CreateOptions{})
	check(err)
	defer b.Abort() // no effect after Finish
	check(b.Create(archive.TableSpec{Name: "blocks", Schema: schema}))
	for n := range uint64(1000) {
		row := segment.Row{segment.AppendUint(nil, n), make([]byte, 32), fmt.Appendf(nil, "block %d", n)}
		check(b.Append("blocks", row)) // copies the row
	}
	_, err = b.Finish(context.Background()) // durable from here on
	check(err)

	a, err := archive.Open(fs, "/chain", archive.Options{ReadOnly: true})
	check(err)
	defer a.Close()
	blocks, err := a.Table("blocks")
	check(err)
	row, err := blocks.Row(nil, 42) // one row, by number
	check(err)
	fmt.Printf("%s\n", row[2])
	for row, err := range blocks.Rows(998, "number", "body") { // a range, two columns
		check(err)
		fmt.Printf("%d %s\n", segment.ParseUint(row[0]), row[1])
	}
	// Output:
	// block 42
	// 998 block 998
	// 999 block 999
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
