package segment_test

import (
	"bytes"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/segstore/segstore/dict"
	"github.com/segstore/segstore/segment"
)

// base is a whole segment that others are made from by damage.
type base struct {
	name string
	file []byte
	rows []segment.Row
}

// zstdDictionary returns a small dictionary with entropy tables, for testRows.
func zstdDictionary(t testing.TB) *dict.Dict {
	t.Helper()
	var samples [][]byte
	for _, row := range testRows(60, 77) {
		samples = append(samples, row[2])
	}
	b, err := zstd.BuildDict(zstd.BuildDictOptions{
		ID: 1, Contents: samples, History: bytes.Join(samples[:8], nil)[:600], Offsets: [3]int{1, 4, 8}, Level: zstd.SpeedFastest,
	})
	if err != nil {
		t.Fatal(err)
	}
	d, err := dict.New(dict.Zstd, b)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func rawDictionary(t testing.TB, content string) *dict.Dict {
	t.Helper()
	d, err := dict.New(dict.RawContent, []byte(content))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// bases returns segments with every kind of part: one chunk and many, all codecs, both
// kinds of dictionaries, at the front and in both places, all columns empty, and a
// directory that is compressed. They are small: fuzzing copies them all the time.
func bases(t testing.TB) []base {
	t.Helper()
	const withDict = "chunk 1024\ncolumn:body group=column codec=zstd:1+dict else=zstd:1 dict=65536\ncolumn:note group=stream codec=zstd:3+dict else=zstd:3 dict=1024\n* group=column codec=zstd:1\n"
	all := []struct {
		name string
		rows []segment.Row
		o    segment.WriterOptions
	}{
		{"raw", testRows(12, 1), segment.WriterOptions{Policy: policy(t, "chunk 1024\n* group=column codec=raw\n")}},
		{"one row", testRows(1, 2), segment.WriterOptions{FirstRow: 1 << 40, Policy: policy(t, "chunk 4096\n* group=column codec=zstd:1\n")}},
		{"s2", testRows(30, 3), segment.WriterOptions{FirstRow: 5, Policy: policy(t, "chunk 2048\n* group=stream codec=s2\n"), Metadata: map[string][]byte{"a": {1}, "b": nil}}},
		{"zstd", testRows(40, 4), segment.WriterOptions{FirstRow: ^uint64(0) - 40, Policy: policy(t, "chunk 1024\nkind:bytes group=stream codec=zstd:1\n* group=column codec=zstd:9\n")}},
		{"dictionaries", testRows(30, 5), segment.WriterOptions{
			Policy:       policy(t, withDict),
			Dictionaries: map[string]*dict.Dict{"body": zstdDictionary(t), "note": rawDictionary(t, "transferapproveswap0x000000000000000000")},
		}},
		{"dictionaries twice", testRows(60, 6), segment.WriterOptions{
			Policy:       policy(t, withDict),
			Dictionaries: map[string]*dict.Dict{"note": rawDictionary(t, "note 123")},
		}},
		{"long directory", testRows(300, 7), segment.WriterOptions{
			Policy: policy(t, "chunk 1024\n* group=column codec=zstd:1\n"), Metadata: map[string][]byte{"zeros": make([]byte, 4000)},
		}},
		{"empty values", emptyRows(700), segment.WriterOptions{
			Table: "empty", Schema: segment.Schema{Columns: []segment.Column{{Name: "a", Kind: segment.Bytes}, {Name: "b", Kind: segment.Bytes, Format: "x-y"}}},
			Policy: policy(t, "chunk 1024\n* group=stream codec=zstd:1\n"),
		}},
	}
	out := make([]base, len(all))
	for i, a := range all {
		b, _ := write(t, a.o, a.rows)
		out[i] = base{a.name, b, a.rows}
	}
	return out
}

func emptyRows(n int) []segment.Row {
	rows := make([]segment.Row, n)
	for i := range rows {
		rows[i] = segment.Row{nil, nil}
	}
	return rows
}
