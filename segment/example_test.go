package segment_test

import (
	"bytes"
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
