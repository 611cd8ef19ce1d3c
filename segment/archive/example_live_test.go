package archive_test

import (
	"context"
	"fmt"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/segstore/segstore/codec"
	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/segment/archive"
)

// A store of blocks that grows: the rows of a block go to three tables at once, blocks
// are found by number and by hash, and a reorganisation takes the last two back.
func Example_blockStore() {
	fs, ctx := vfs.NewMem(), context.Background() // on disk: vfs.Default
	made, err := archive.Create(fs, "/store", archive.CreateOptions{})
	check(err)
	bytes := func(names ...string) (s segment.Schema) {
		for _, name := range names {
			s.Columns = append(s.Columns, segment.Column{Name: name, Kind: segment.Bytes})
		}
		return s
	}
	check(made.Create(archive.TableSpec{Name: "blocks", Schema: bytes("hash", "header")})) // row n is block n
	check(made.Create(archive.TableSpec{Name: "transactions", Schema: bytes("transaction")}))
	check(made.Create(archive.TableSpec{Name: "receipts", Schema: bytes("receipt")}))
	_, err = made.Finish(ctx)
	check(err)

	a, err := archive.Open(fs, "/store", archive.Options{})
	check(err)
	defer a.Close()
	check(a.CreateIndex(ctx, archive.IndexSpec{Name: "block_hash", Table: "blocks", Key: codec.KeyDefinition{Column: "hash"}}, nil))
	var ends []archive.Position // of the tables, behind each block
	for n := range 5 {
		b := a.Batch()
		check(b.Append("blocks", segment.Row{fmt.Appendf(nil, "hash-%d", n), fmt.Appendf(nil, "header %d", n)}))
		for i := range 2 {
			check(b.Append("transactions", segment.Row{fmt.Appendf(nil, "transaction %d of block %d", i, n)}))
			check(b.Append("receipts", segment.Row{fmt.Appendf(nil, "receipt %d of block %d", i, n)}))
		}
		end, err := b.Commit(ctx) // durable when it returns, three tables or none
		check(err)
		ends = append(ends, end)
	}
	before, err := a.View() // stays as it is
	check(err)
	defer before.Close()
	check(a.Rewind(ctx, ends[2])) // a reorganisation: block 2 is the last one now
	check(a.Seal(ctx))            // by itself at Options.SealBytes

	blocks, err := a.Table("blocks")
	check(err)
	row, err := blocks.Row(nil, 2)
	check(err)
	fmt.Printf("block 2 is %s, %s\n", row[0], row[1])
	now, err := a.View()
	check(err)
	defer now.Close()
	n, err := now.Lookup("block_hash", []byte("hash-1"))
	fmt.Println("hash-1 is block", n, err)
	_, err = now.Lookup("block_hash", []byte("hash-4"))
	fmt.Println("hash-4:", err)
	n, err = before.Lookup("block_hash", []byte("hash-4"))
	fmt.Println("before, hash-4 was block", n, err)
	fmt.Println(now.Position())
	// Output:
	// block 2 is hash-2, header 2
	// hash-1 is block 1 <nil>
	// hash-4: archive: no row has this key: index "block_hash"
	// before, hash-4 was block 4 <nil>
	// map[blocks:3 receipts:6 transactions:6]
}
