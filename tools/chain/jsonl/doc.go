// Package jsonl imports and exports JSON lines: a JSON object a line, a column a field. It is the way in for records of any
// kind.
//
//	columns, err := jsonl.ParseColumns("number:uint,hash:fixed(32),raw=rawTransaction:hex,memo:bytes")
//	…
//	report, err := jsonl.Importer{Columns: columns}.Import(ctx, files, sink, chain.ImportOptions{})
//
// reads lines such as
//
//	{"number":7,"hash":"0x8a…","rawTransaction":"0xf86b…","memo":"naïve"}
//
// into a table of that many columns, named by Importer.Table. Reading is strict, so that nothing is lost or invented: every
// line is an object with each of the fields once and no other, each of the type that its column says; text that is not
// valid UTF-8 or has half a surrogate pair is refused. There is no null: an absent field is an error. An error says file,
// offset, line and column.
//
// An export writes canonical JSON lines: fields in the order of the columns, no space, a newline after each line; text with
// no more escaped than RFC 8785 does; hex in lower case, with 0x where the column's value in the first line of the source
// had it; base64 with padding. So the bytes are the source's where that was canonical. The import's report says whether it was,
// and where not first; the export then compares the content.
//
// The source's format is "jsonl" and its extra record:
//
//	table name            uvarint length, bytes
//	flags                 1: the file was gzip; 2: no newline after the last line; 4: not canonical
//	digest                only with flag 4: SHA-256 of the canonical form, 32 bytes
//	number of columns     uvarint, then for each
//	  field               uvarint length, bytes
//	  style               1: hex is written with 0x
package jsonl

// Format is the format of a source.
const Format = "jsonl"

// DefaultTable is the name of the table where none is given.
const DefaultTable = "rows"
