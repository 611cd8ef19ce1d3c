package segment_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/segstore/segstore/segment"
)

// A policy at another level is the same policy: dictionaries stay, byte for byte.
func TestLevelKeepsDictionaries(t *testing.T) {
	rows := testRows(3000, 7)
	p := policy(t, "chunk 2048\nkind:bytes group=column codec=zstd:1+dict else=zstd:1 dict=16384\n* group=column codec=zstd:1\n")
	plain, _ := write(t, segment.WriterOptions{Policy: policy(t, "chunk 65536\n* group=column codec=s2\n")}, rows)
	recompress := func(b []byte, o segment.RecompressOptions) ([]byte, *segment.Report) {
		t.Helper()
		var out bytes.Buffer
		rep, err := segment.Recompress(context.Background(), &out, open(t, b, segment.ReaderOptions{}), o)
		if err != nil {
			t.Fatal(err)
		}
		return out.Bytes(), rep
	}
	trained, rep := recompress(plain, segment.RecompressOptions{Policy: p})
	if rep.After.DictionaryBytes == 0 {
		t.Fatal("no dictionary to keep")
	}
	five, seven, best := 5, 7, 19
	at5, _ := recompress(trained, segment.RecompressOptions{Level: &five, Encoding: "plain"})
	at7, rep := recompress(at5, segment.RecompressOptions{Policy: p, Level: &seven})
	if rep.Dictionaries != nil || !bytes.Equal(dictionariesOf(t, trained), dictionariesOf(t, at7)) {
		t.Errorf("dictionaries trained anew: %+v", rep.Dictionaries)
	}
	_, rep = recompress(at7, segment.RecompressOptions{Policy: p, Level: &best})
	if len(rep.Notes) == 0 || !strings.Contains(rep.Notes[0], "dropped") {
		t.Errorf("dictionary dropped without a word: %v", rep.Notes)
	}
}

// dictionariesOf returns the dictionary records of a file, without their checksums.
func dictionariesOf(t *testing.T, b []byte) (all []byte) {
	t.Helper()
	for p := range open(t, b, segment.ReaderOptions{}).Places() {
		if p.Section == segment.SectionDictionary {
			all = append(all, b[p.Offset:p.Offset+p.Length-8]...)
		}
	}
	return all
}

// A column asked for twice is decoded once and yielded twice.
func TestRepeatedColumn(t *testing.T) {
	rows := testRows(300, 8)
	b, _ := write(t, segment.WriterOptions{}, rows)
	n := 0
	for row, err := range open(t, b, segment.ReaderOptions{}).Rows(0, "body", "note", "body") {
		if err != nil || !equal(row, segment.Row{rows[n][2], rows[n][3], rows[n][2]}) {
			t.Fatalf("row %d: %x, %v", n, row, err)
		}
		n++
	}
	if n != len(rows) {
		t.Fatal(n)
	}
}

// Metadata that packs well does not make a directory that readers refuse.
func TestTooMuchMetadata(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a gigabyte")
	}
	value := bytes.Repeat([]byte("metadata "), (16<<20)/9)
	m := map[string][]byte{}
	for i := range 33 {
		m[string(rune('a'+i))] = value
	}
	w, err := segment.NewWriter(&bytes.Buffer{}, segment.WriterOptions{Table: "test", Schema: testSchema(), Metadata: m})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	if err := w.Append(testRows(1, 1)[0]); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Finish(); err == nil {
		t.Fatal("wrote a directory above the limit")
	}
}
