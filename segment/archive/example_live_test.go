package archive_test

import (
	"context"
	"fmt"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/segstore/segstore/codec"
	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/segment/archive"
)

// A store of blocks and their notes that grows: commits of both tables at once, a
// reorganisation, sealing, and blocks found by their hash.
func ExampleBatch() {
	check := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	fs, ctx := vfs.NewMem(), context.Background() // on disk: vfs.Default
	made, err := archive.Create(fs, "/store", archive.CreateOptions{})
	check(err)
	check(made.Create(archive.TableSpec{Name: "blocks", Schema: segment.Schema{Columns: []segment.Column{
		{Name: "hash", Kind: segment.Fixed, Width: 4}, {Name: "body", Kind: segment.Bytes},
	}}}))
	check(made.Create(archive.TableSpec{Name: "notes", Schema: segment.Schema{Columns: []segment.Column{{Name: "note", Kind: segment.Bytes}}}}))
	_, err = made.Finish(ctx)
	check(err)

	a, err := archive.Open(fs, "/store", archive.Options{})
	check(err)
	defer a.Close()
	check(a.CreateIndex(ctx, archive.IndexSpec{Name: "block_hash", Table: "blocks", Key: codec.KeyDefinition{Column: "hash"}}, nil))
	for n := range 5 {
		b := a.Batch()
		check(b.Append("blocks", segment.Row{fmt.Appendf(nil, "h%03d", n), fmt.Appendf(nil, "block %d", n)}))
		check(b.Append("notes", segment.Row{fmt.Appendf(nil, "of block %d", n)}))
		_, err := b.Commit(ctx) // durable when it returns, both tables or none
		check(err)
	}
	before, err := a.View() // stays as it is
	check(err)
	check(a.Rewind(ctx, archive.Position{"blocks": 3, "notes": 3})) // a reorganisation
	check(a.Seal(ctx))                                              // by itself at Options.SealBytes

	now, err := a.View()
	check(err)
	row, err := now.Lookup("block_hash", []byte("h002"))
	fmt.Println("now:", now.Position(), "h002 is row", row, err)
	_, err = now.Lookup("block_hash", []byte("h004"))
	fmt.Println(err)
	row, err = before.Lookup("block_hash", []byte("h004"))
	fmt.Println("before:", before.Position(), "h004 is row", row, err)
	now.Close()
	before.Close()
	// Output:
	// now: map[blocks:3 notes:3] h002 is row 2 <nil>
	// archive: no row has this key: index "block_hash"
	// before: map[blocks:5 notes:5] h004 is row 4 <nil>
}
