package codec_test

import (
	"fmt"
	"slices"

	"github.com/segstore/segstore/codec"
)

// Values become streams, streams a block, and all the way back.
func Example() {
	spec, err := codec.ParseSpec("zstd:1")
	if err != nil {
		fmt.Println(err)
		return
	}
	c, err := codec.New(spec, nil, codec.Options{}) // once; shared by all goroutines
	if err != nil {
		fmt.Println(err)
		return
	}
	var v codec.Values
	for i := range 100 {
		v.Append(fmt.Appendf(nil, "transfer %d of 100", i+1))
	}
	encoding := codec.Plain()
	streams, err := encoding.Split(nil, &v)
	if err != nil {
		fmt.Println(err)
		return
	}
	raw := slices.Concat(streams...)
	block, used, err := codec.EncodeBlock(c, spec.ID, nil, raw)
	if err != nil {
		fmt.Println(err)
		return
	}

	lengths := len(streams[0]) // a layout keeps these numbers
	raw, err = c.Decode(nil, block, len(raw))
	if err != nil {
		fmt.Println(err)
		return
	}
	var back codec.Values
	if err := encoding.Join(&back, [][]byte{raw[:lengths], raw[lengths:]}, v.Len()); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(used, back.Equal(&v), string(back.At(41)))
	// Output: zstd true transfer 42 of 100
}

func ExampleParsePolicy() {
	p, err := codec.ParsePolicy(`
chunk 65536                                            # bytes
column:number group=column codec=raw                   # numbers pack well enough
* codec=zstd:1+dict dict=32768 else=zstd:3 group=column
`)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(p)
	fmt.Println(p.Rule("header", "bytes", "eth-header").Without())
	_, err = codec.ParsePolicy("chunk 65536\n* group=column codec=zstd:99\n")
	fmt.Println(err)
	// Output:
	// chunk 65536
	// column:number group=column codec=raw
	// * group=column codec=zstd:1+dict else=zstd:3 dict=32768
	// zstd:3
	// codec: policy: line 2: codec: zstd level 99 not in -7..22
}
