// Package codec turns the values of a column into the stored bytes of blocks and
// back, and says how by policies.
//
// Two steps lie between values and blocks. An Encoding turns the Values of one
// column of one chunk into streams of bytes; a Codec compresses one or more
// streams, one after another, into a block:
//
//	c, err := codec.New(spec, d, codec.Options{})        // one a (spec, dictionary), shared by all
//	streams, err = codec.Plain().Split(streams, &values) // lengths, bytes
//	out, used, err := codec.EncodeBlock(c, spec.ID, out, slices.Concat(streams...))
//	…
//	raw, err := c.Decode(raw[:0], out, size)
//	err = codec.Plain().Join(&values, [][]byte{raw[:n], raw[n:]}, rows)
//
// A Spec ("zstd:1+dict", "s2", "raw") names a codec; zstd levels are zstd's own
// numbers, and Spec.Encoder says which of the encoder's levels serves them. A
// Policy gives each column of a table its Spec, its encoding and the rest, as a
// value with a text form; Profile returns ready ones.
//
// # Concurrency and memory
//
// A Codec is made once and shared: it bounds how many calls run at once, keeps no
// goroutine, and allocates nothing in its steady state where dst has room.
// Encodings have no state. Values are for one goroutine at a time. What a Join
// returns may alias the streams and is valid as long as they are.
//
// # Foreign bytes
//
// Decode and Join take anything: sizes and rows from files may lie, streams may
// be hostile. They return an error that wraps ErrCorrupt, never allocate much
// more than their input justifies, and end.
//
// # What is durable
//
// The numbers of ID, the texts of Spec and Policy, and encodings by their names
// are part of the file format: things are added, never changed. A zstd block is
// one standard frame (RFC 8878) with its content size and without checksum: any
// zstd decodes it, given the dictionary. Equal values give equal bytes with one
// version of the compressing library (EncoderVersion), whatever the number of
// goroutines; other versions may give others.
package codec
