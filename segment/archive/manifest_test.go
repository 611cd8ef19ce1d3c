package archive

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cespare/xxhash/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/segment/merkle"
)

// testManifest has two tables with segments and one without.
func testManifest() *manifest {
	segments := func(table string, first uint64, rows ...uint64) (all []SegmentInfo) {
		for i, n := range rows {
			s := SegmentInfo{
				Table: table, FirstRow: first, Rows: n, RawBytes: 1000 * n, StoredBytes: int64(300 * n),
				Checksum: segment.Checksum(0x0123456789abcdef + uint64(i)), ContentRoot: merkle.Hash{1, 2, byte(i)}, ID: segment.ID{3, byte(i)},
			}
			s.File = fileName(table, first, n, s.Checksum)
			if i == 1 {
				s.Replaced = []Replaced{{0xfedcba9876543210, 77}}
			}
			all = append(all, s)
			first += n
		}
		return all
	}
	blocks := segment.Schema{Columns: []segment.Column{{Name: "number", Kind: segment.Uint}, {Name: "hash", Kind: segment.Fixed, Width: 32}}}
	notes := segment.Schema{Columns: []segment.Column{{Name: "note", Kind: segment.Bytes, Format: "text"}}}
	const policy = "chunk 2048\n* group=column codec=zstd:1\n"
	return &manifest{chainID: "test <1>", tables: []tableEntry{
		{name: "blocks", schema: blocks, firstRow: 100, policy: policy, segments: segments("blocks", 100, 50, 1, 7)},
		{name: "notes", schema: notes, policy: policy, segments: segments("notes", 0, 3)},
		{name: "empty", schema: notes, firstRow: 5, policy: policy, segments: []SegmentInfo{}},
	}}
}

func mustEncode(t testing.TB, m *manifest) []byte {
	t.Helper()
	b, err := m.encode()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// restamp makes the checksum fit what the bytes were changed to.
func restamp(b []byte) []byte {
	if len(b) < manifestTail {
		return b
	}
	b = bytes.Clone(b)
	body := b[:len(b)-manifestTail]
	copy(b[len(body)+len(manifestSum):], segment.Checksum(xxhash.Sum64(body)).String())
	return b
}

// The bytes of a manifest are fixed by a file that was looked at.
func TestManifestGolden(t *testing.T) {
	b := mustEncode(t, testManifest())
	path := filepath.Join("testdata", "manifest-v1.json")
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b, want) {
		t.Fatalf("encoded:\n%s\nexpected:\n%s", b, want)
	}
	m, err := decodeManifest(want)
	if err != nil {
		t.Fatal(err)
	}
	if again := mustEncode(t, m); !bytes.Equal(again, want) {
		t.Fatalf("decoded and encoded:\n%s", again)
	}
}

// Every bit of it, and every truncation, is found.
func TestManifestDamage(t *testing.T) {
	b := mustEncode(t, testManifest())
	for i := range b {
		for bit := range 8 {
			c := bytes.Clone(b)
			c[i] ^= 1 << bit
			if _, err := decodeManifest(c); err == nil {
				t.Fatalf("bit %d of byte %d flipped: taken", bit, i)
			}
		}
		if _, err := decodeManifest(b[:i]); err == nil {
			t.Fatalf("cut at %d: taken", i)
		}
	}
	for _, tail := range []string{" ", "\n", "{}"} {
		if _, err := decodeManifest(append(bytes.Clone(b), tail...)); err == nil {
			t.Errorf("with %q behind it: taken", tail)
		}
	}
	if _, err := decodeManifest(bytes.ReplaceAll(b, []byte("\n"), []byte("\r\n"))); err == nil {
		t.Error("with other line ends: taken")
	}
}

// Manifests whose checksum holds, and that are refused all the same.
func TestManifestHostile(t *testing.T) {
	for _, c := range []struct {
		name     string
		old, new string // of the text
		version  bool   // refused as newer, not as damaged
	}{
		{"newer version", `"version": 1,`, `"version": 2,`, true},
		{"version without end", `"version": 1,`, `"version": 99999999999999999999,`, false},
		{"no version", `"version": 1,`, `"version": "1",`, false},
		{"other format", `"segstore archive"`, `"something else"`, false},
		{"unknown member", `"chain_id"`, `"chainz_id"`, true},
		{"unknown member of a table", `"schema": {`, `"index": {}, "schema": {`, true},
		{"unknown member of a segment", `"raw_bytes"`, `"raw_bites"`, true},
		{"unknown codec", `codec=zstd:1`, `codec=lzma:1`, true},
		{"policy not canonical", `chunk 2048\n`, `chunk 2048 \n`, false},
		{"no policy", `"chunk 2048\n* group=column codec=zstd:1\n"`, `""`, true},
		{"path traversal in a file", `"blocks/0000000100`, `"../blocks/0000000100`, false},
		{"absolute file", `"blocks/0000000100`, `"/blocks/0000000100`, false},
		{"file of another table", `"blocks/0000000100`, `"notes/0000000100`, false},
		{"file of other rows", `0000000100-0000000149`, `0000000100-0000000150`, false},
		{"file of another checksum", `149-0123456789abcdef.seg`, `149-0123456789abcdee.seg`, false},
		{"path traversal in a table", `"table": "notes"`, `"table": "../x"`, false},
		{"table that is a path", `"table": "notes"`, `"table": "a/b"`, false},
		{"table without a name", `"table": "notes"`, `"table": ""`, false},
		{"reserved table", `"table": "empty"`, `"table": "index"`, false},
		{"table twice", `"table": "empty"`, `"table": "notes"`, false},
		{"no columns", `{"columns":[{"name":"note","kind":"bytes","format":"text"}]}`, `{"columns":[]}`, false},
		{"column of no kind", `"kind":"uint"`, `"kind":"float"`, false},
		{"gap before the first segment", `"first_row": 100`, `"first_row": 99`, false},
		{"no rows", `"rows":50`, `"rows":0`, false},
		{"overlap", `"rows":50`, `"rows":51`, false},
		{"rows without end", `"first_row":151`, `"first_row":18446744073709551615`, false},
		{"negative rows", `"rows":50`, `"rows":-50`, false},
		{"fraction", `"rows":50`, `"rows":50.5`, false},
		{"nothing stored", `"stored_bytes":15000`, `"stored_bytes":0`, false},
		{"negative bytes", `"stored_bytes":15000`, `"stored_bytes":-1`, false},
		{"bytes without end", `"stored_bytes":15000`, `"stored_bytes":9223372036854775807`, false},
		{"raw bytes without end", `"raw_bytes":50000`, `"raw_bytes":18446744073709551615`, false},
		{"short id", `"id":"0300`, `"id":"03`, false},
		{"no id", `"id":"03000000000000000000000000000000"`, `"id":""`, false},
		{"id that is no hex", `"id":"0300`, `"id":"03zz`, false},
		{"root that is no hex", `"content_root":"0102`, `"content_root":"01zz`, false},
		{"checksum that is no hex", `"checksum":"0123456789abcdef"`, `"checksum":"0123456789abcdeg"`, false},
		{"nine replaced", `[{"checksum":"fedcba9876543210","stored_bytes":77}]`, "[" + strings.Repeat(`{"checksum":"fedcba9876543210","stored_bytes":77},`, 8) + `{"checksum":"fedcba9876543210","stored_bytes":77}]`, false},
		{"no segment", `{"first_row":0,"rows":3`, `null,{"first_row":0,"rows":3`, false},
		{"tables that are none", `"tables": [`, `"tables": 5, "x": [`, false},
		{"long chain id", `"test \u003c1\u003e"`, `"` + strings.Repeat("x", 257) + `"`, false},
		{"deep nesting", `"test \u003c1\u003e"`, strings.Repeat("[", 100000) + strings.Repeat("]", 100000), false},
		{"member in another case", `"tables"`, `"Tables"`, false},
		{"member of a segment in another case", `"rows":50`, `"Rows":50`, false},
		{"member that folds to another", `"checksum":"0123`, `"check\u017fum":"0123`, false},
		{"tables twice", `"tables"`, `"tables": [], "tables"`, false},
		{"tables twice, once with an escape", `"tables"`, `"\u0074ables": [], "tables"`, false},
		{"tables twice, once in another case", `"tables"`, `"TABLES": [], "tables"`, false},
		{"version twice", `"chain_id"`, `"version": 1, "chain_id"`, false},
		{"rows twice", `"rows":50`, `"rows":49,"rows":50`, false},
		{"columns twice", `{"columns"`, `{"columns":[],"columns"`, false},
		{"name of a column twice", `"kind":"uint"`, `"kind":"bytes","kind":"uint"`, false},
		{"checksum of a replaced file twice", `"stored_bytes":77`, `"stored_bytes":77,"stored_bytes":77`, false},
		{"tables null", `"tables": [`, `"tables": null, "x": [`, false},
		{"first row null", `"first_row": 100`, `"first_row": null`, false},
		{"first row of a segment null", `{"first_row":0,`, `{"first_row":null,`, false},
		{"segments null", `"segments": []`, `"segments": null`, false},
		{"replaced null", `"replaced":[{"checksum":"fedcba9876543210","stored_bytes":77}]`, `"replaced":null`, false},
		{"chain id null", `"test \u003c1\u003e"`, `null`, false},
		{"no first row", `"first_row": 0,`, ``, false},
		{"no segments", `,
      "segments": []`, ``, false},
		{"unknown member of a column", `"kind":"uint"`, `"kind":"uint","x":1`, true},
		{"list in a number's place", `"rows":50`, `"rows":[50]`, false},
		{"comma missing", `"rows":50,`, `"rows":50`, false},
		{"comma too many", `"segments": []`, `"segments": [,]`, false},
		{"two values", `"test \u003c1\u003e"`, `"x"} {"a": 1`, false},
	} {
		text := string(mustEncode(t, testManifest()))
		if !strings.Contains(text, c.old) {
			t.Fatalf("%s: no %q in\n%s", c.name, c.old, text)
		}
		_, err := decodeManifest(restamp([]byte(strings.Replace(text, c.old, c.new, 1))))
		if err == nil {
			t.Errorf("%s: taken", c.name)
		} else if errors.Is(err, ErrVersion) != c.version {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// What is wrong with a member is said of its name.
func TestManifestNamesMembers(t *testing.T) {
	for _, c := range []struct{ old, new, says string }{
		{`"tables"`, `"Tables"`, `"Tables", which is written "tables"`},
		{`"tables"`, `"tables": [], "tables"`, `the manifest has the member "tables" twice`},
		{`"tables": [`, `"tables": null, "x": [`, `"tables" is null`},
		{`"rows":50,`, ``, `a segment without the member "rows"`},
		{`"raw_bytes"`, `"raw_bites"`, `a segment with an unknown member "raw_bites"`},
		{`"kind":"uint"`, `"kind":"bytes","kind":"uint"`, `a column has the member "kind" twice`},
		{`"stored_bytes":77`, `"stored_bytes":null`, `"stored_bytes" is null`},
	} {
		_, err := decodeManifest(restamp(bytes.Replace(mustEncode(t, testManifest()), []byte(c.old), []byte(c.new), 1)))
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s for %s: %v", c.new, c.old, err)
		}
	}
}

// What cannot be read is never written.
func TestManifestRefusesToWrite(t *testing.T) {
	fs := vfs.NewMem()
	m := testManifest()
	m.tables[0].segments[1].FirstRow++
	if _, done, err := writeManifest(fs, "/", m); err == nil || done {
		t.Fatalf("a gap: %v", err)
	}
	if names, err := fs.List("/"); err != nil || len(names) != 0 {
		t.Fatalf("left: %q, %v", names, err)
	}
}

// A manifest that is too large is refused before it is read.
func TestManifestSize(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, ManifestName)
	if err := os.WriteFile(path, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, maxManifestBytes+1); err != nil { // no byte of it is written
		t.Fatal(err)
	}
	if _, _, err := readManifest(vfs.Default, dir); !errors.Is(err, ErrManifest) || !errors.Is(err, segment.ErrCorrupt) {
		t.Fatalf("too large: %v", err)
	}
}

// FuzzManifest: any bytes, with a checksum that fits, are refused, or are a
// manifest that is safe to use and comes back as it is.
func FuzzManifest(f *testing.F) {
	b := mustEncode(f, testManifest())
	f.Add(b)
	f.Add(b[:len(b)/2])
	f.Add(mustEncode(f, &manifest{}))
	f.Add([]byte(strings.Replace(string(b), `"rows":50`, `"rows":51`, 1)))
	f.Add([]byte(strings.Replace(string(b), `"tables"`, `"tables": [], "\u0074ables"`, 1)))
	f.Add([]byte(strings.Replace(string(b), `"tables"`, `"tables\`, 1)))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, b := range [][]byte{b, restamp(b)} {
			m, err := decodeManifest(b)
			if err != nil {
				continue
			}
			for _, e := range m.tables {
				next := e.firstRow
				for _, s := range e.segments {
					if s.FirstRow != next || s.Rows == 0 || strings.Contains(s.File, "..") || strings.Count(s.File, "/") != 1 || !strings.HasPrefix(s.File, e.name+"/") {
						t.Fatalf("segment %+v of table %q", s, e.name)
					}
					next = s.EndRow()
				}
			}
			one := mustEncode(t, m)
			again, err := decodeManifest(one)
			if err != nil {
				t.Fatalf("encoded again: %v", err)
			}
			if two := mustEncode(t, again); !bytes.Equal(one, two) {
				t.Fatalf("encoded twice:\n%s\n%s", one, two)
			}
		}
	})
}
