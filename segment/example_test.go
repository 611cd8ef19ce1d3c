package segment_test

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/segstore/segstore/segment"
)

func Example() {
	schema := segment.Schema{Columns: []segment.Column{{Name: "number", Kind: segment.Uint}, {Name: "body", Kind: segment.Bytes}}}
	var file bytes.Buffer
	w, err := segment.NewWriter(&file, segment.WriterOptions{Table: "letters", Schema: schema, FirstRow: 100})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer w.Abort() // does nothing after Finish
	for i, s := range []string{"alpha", "beta", "gamma"} {
		if err := w.Append(segment.Row{segment.AppendUint(nil, uint64(i)), []byte(s)}); err != nil {
			fmt.Println(err)
			return
		}
	}
	info, err := w.Finish()
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := segment.NewReader(bytes.NewReader(file.Bytes()), info.StoredBytes, segment.ReaderOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for row, err := range r.Rows(101, "body") {
		fmt.Printf("%s %v\n", row[0], err)
	}
	// Output:
	// beta <nil>
	// gamma <nil>
}

// One segment by itself in any io.Writer, read from any io.ReaderAt: rows by number,
// one column alone, and what a flipped bit does.
func ExampleNewReader() {
	schema := segment.Schema{Columns: []segment.Column{{Name: "number", Kind: segment.Uint}, {Name: "name", Kind: segment.Bytes}}}
	var file bytes.Buffer
	w, err := segment.NewWriter(&file, segment.WriterOptions{Table: "planets", Schema: schema, FirstRow: 1})
	check(err)
	defer w.Abort() // does nothing after Finish
	for i, name := range []string{"Mercury", "Venus", "Earth", "Mars"} {
		check(w.Append(segment.Row{segment.AppendUint(nil, uint64(i+1)), []byte(name)}))
	}
	_, err = w.Finish() // a file of your own is yours to sync
	check(err)

	r, err := segment.NewReader(bytes.NewReader(file.Bytes()), int64(file.Len()), segment.ReaderOptions{Name: "planets.seg"})
	check(err)
	row, err := r.Row(nil, 3)
	check(err)
	fmt.Printf("row 3 is %d %s\n", segment.ParseUint(row[0]), row[1])
	names, err := r.Column("name") // decodes no other
	check(err)
	name, err := names.Value(nil, 4)
	check(err)
	fmt.Printf("row 4 is %s\n", name)

	damaged := bytes.Replace(file.Bytes(), []byte("Venus"), []byte("venus"), 1)
	r, err = segment.NewReader(bytes.NewReader(damaged), int64(len(damaged)), segment.ReaderOptions{Name: "planets.seg"})
	check(err)
	_, err = r.Row(nil, 2)
	var flaw *segment.CorruptionError
	fmt.Println(errors.As(err, &flaw), flaw.File, flaw.Column, "rows from", flaw.FirstRow)
	// Output:
	// row 3 is 3 Earth
	// row 4 is Mars
	// true planets.seg name rows from 1
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
