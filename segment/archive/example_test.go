package archive_test

import (
	"context"
	"fmt"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/segment/archive"
)

func Example() {
	fs := vfs.NewMem() // vfs.Default for the disk
	ctx := context.Background()
	b, err := archive.Create(fs, "/library", archive.CreateOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer b.Abort() // no effect after Finish
	err = b.Create(archive.TableSpec{Name: "books", FirstRow: 1, Schema: segment.Schema{Columns: []segment.Column{
		{Name: "year", Kind: segment.Uint},
		{Name: "title", Kind: segment.Bytes},
	}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, book := range []struct {
		year  uint64
		title string
	}{{1851, "Moby-Dick"}, {1877, "Anna Karenina"}, {1913, "Swann's Way"}} {
		if err := b.Append("books", segment.Row{segment.AppendUint(nil, book.year), []byte(book.title)}); err != nil {
			fmt.Println(err)
			return
		}
	}
	if _, err := b.Finish(ctx); err != nil {
		fmt.Println(err)
		return
	}

	a, err := archive.Open(fs, "/library", archive.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer a.Close()
	before := a.Tables()[0]
	level := 19
	rep, err := a.Recompress(ctx, archive.RecompressOptions{RecompressOptions: segment.RecompressOptions{Level: &level}}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	books, err := a.Table("books")
	if err != nil {
		fmt.Println(err)
		return
	}
	row, err := books.Row(nil, 2)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s, %d; %d rows as before, codec %s\n", row[1], segment.ParseUint(row[0]), rep.Total.Rows, rep.Tables[0].Columns[1].CodecAfter)
	fmt.Println(before.Rows == books.Info().Rows)
	// Output:
	// Anna Karenina, 1877; 3 rows as before, codec zstd:19
	// true
}
