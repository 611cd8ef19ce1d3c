// Package segment writes, reads, verifies and recompresses segments: immutable
// files that hold a run of rows of one table, column by column, compressed.
//
// A table has a [Schema]: columns of bytes, of bytes of fixed length, or of
// numbers. A [Row] has one value a column, never null, and a number that follows
// on that of the row before. A segment holds rows first to first+n-1, cut into
// chunks; in a chunk each column is encoded into streams, and these are compressed
// in blocks, as a codec.Policy says. FORMAT.md, beside the code, has every byte.
//
//	w, err := segment.NewWriter(file, segment.WriterOptions{Table: "blocks", Schema: schema})
//	…
//	err = w.Append(row) // again and again
//	info, err := w.Finish()
//
//	r, err := segment.NewReader(file, size, segment.ReaderOptions{Name: "blocks.seg"})
//	row, err = r.Row(row, 17)
//	for row, err := range r.Rows(17, "header", "number") { … }
//	for row, err := range r.Scan(ctx, 17, 40, segment.ScanOptions{Reverse: true, Workers: 2}) { … }
//
// # Promises
//
// Nothing is returned that its checksum does not vouch for. Damage is a
// [CorruptionError] with its place, and makes the rows of its chunk unreadable, for
// the columns that it is in, and no others. A file of a newer version is
// [ErrVersion], an error of the io.ReaderAt is itself: neither is ever reported as
// damage, and none as a row that is not there.
//
// The same rows under the same policy and dictionaries make the same bytes, on any
// number of workers, by one version of the compressor. The content root
// (Info.ContentRoot), a Merkle tree over the values, stays the same however the
// rows are compressed: [Recompress] compares every value with what was there.
//
// Any bytes may be given to [NewReader], [Verify] and [Recover]. Memory and time are
// bounded by the size of the file and the options; MaxBlockBytes bounds what a
// small block may decode to.
//
// # Concurrency and lifetimes
//
// A [Reader], its columns and a [Cache] may be used by many goroutines; a [Writer]
// and a [Damaged] by one. A Writer and Recompress encode on several goroutines,
// which end with Finish or Abort, and with the call; a Scan decodes on several where
// it is asked to, which end with its loop. Nothing else starts any.
//
// [Writer.Append] copies the row. A row that an iterator yields is valid until the
// next step and must not be changed; [Reader.Row] and [ColumnReader.Value] append
// to what they are given and share nothing with the Reader.
//
// # Compatibility
//
// From v0.1.0 on, every file that a release wrote can be read by all later ones.
// What an older release cannot read it refuses with ErrVersion, by name.
package segment
