package segment_test

import (
	"bytes"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/segstore/segstore/codec"
	"github.com/segstore/segstore/segment"
)

func exampleRows() []segment.Row {
	return []segment.Row{
		{segment.AppendUint(nil, 300), []byte("hi")},
		{segment.AppendUint(nil, 301), nil},
	}
}

// exampleSegment is the one at the end of FORMAT.md.
func exampleSegment(t *testing.T) []byte {
	b, _ := write(t, segment.WriterOptions{
		Table: "t",
		Schema: segment.Schema{Columns: []segment.Column{
			{Name: "n", Kind: segment.Uint},
			{Name: "b", Kind: segment.Bytes},
		}},
		FirstRow: 7,
		Policy:   policy(t, "chunk 1024\n* group=column codec=raw\n"),
		Metadata: map[string][]byte{"k": []byte("v")},
	}, exampleRows())
	return b
}

// hexListing writes a segment as FORMAT.md does, with what each field is.
func hexListing(t *testing.T, b []byte) string {
	var s strings.Builder
	next := 0
	_, err := parseReference(b, func(off, n int, what string) {
		if off != next {
			return // the footer is read twice: only the second time in its place
		}
		next = off + n
		for i := off; i < off+n; i += 16 {
			line := fmt.Sprintf("%04x  % x", i, b[i:min(i+16, off+n)])
			if i == off {
				line = fmt.Sprintf("%-53s  %s", line, what)
			}
			s.WriteString(line + "\n")
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return s.String()
}

const formatPage = "FORMAT.md"

// TestFormatExample reads the bytes in FORMAT.md with the reader that was written
// from it, and with the package. Run with -rewrite after a change of the format.
func TestFormatExample(t *testing.T) {
	page, err := os.ReadFile(formatPage)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(page), "```hex\n")
	listing, after, ok2 := strings.Cut(rest, "```\n")
	if !ok || !ok2 {
		t.Fatal("no listing")
	}
	if f := flag.Lookup("rewrite"); f != nil && f.Value.String() == "true" {
		listing = hexListing(t, exampleSegment(t))
		if err := os.WriteFile(formatPage, []byte(before+"```hex\n"+listing+"```\n"+after), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var b []byte
	for n, line := range strings.Split(strings.TrimSpace(listing), "\n") {
		digits, _, _ := strings.Cut(line[6:], "  ")
		part, err := hex.DecodeString(strings.ReplaceAll(digits, " ", ""))
		if err != nil || line[:6] != fmt.Sprintf("%04x  ", len(b)) {
			t.Fatalf("line %d: %q at %04x: %v", n+1, line, len(b), err)
		}
		b = append(b, part...)
	}
	f, err := parseReference(b, nil)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := f.values()
	if err != nil || len(rows) != 2 || !equal(rows[0], exampleRows()[0]) || !equal(rows[1], exampleRows()[1]) {
		t.Fatalf("rows %x: %v", rows, err)
	}
	if f.header.firstRow != 7 || f.dir.table != "t" || f.footer.root != naiveRoot(rows) {
		t.Errorf("%+v", f)
	}
	wantWhole(t, b)
	wantRows(t, open(t, b, segment.ReaderOptions{}), rows)
	if got := hexListing(t, b); got != listing {
		t.Errorf("listing says otherwise than the fields:\n%s", got)
	}
	if f.dir.encoder == codec.EncoderVersion() && !bytes.Equal(b, exampleSegment(t)) {
		t.Error("the writer writes other bytes than the page shows")
	}
}

// TestReference reads segments of many kinds by FORMAT.md alone.
func TestReference(t *testing.T) {
	for _, base := range bases(t) {
		t.Run(base.name, func(t *testing.T) {
			f, err := parseReference(base.file, nil)
			if err != nil {
				t.Fatal(err)
			}
			rows, err := f.values()
			if err != nil {
				t.Fatal(err)
			}
			if len(rows) != len(base.rows) {
				t.Fatalf("%d rows, want %d", len(rows), len(base.rows))
			}
			for i := range rows {
				if !equal(rows[i], base.rows[i]) {
					t.Fatalf("row %d is %x, want %x", i, rows[i], base.rows[i])
				}
			}
			if f.footer.root != naiveRoot(rows) {
				t.Error("content root is not that of RFC 6962")
			}
			for i := range f.dir.runs {
				run := rows[256*i : min(256*i+256, len(rows))]
				if node := naiveRoot(run); !bytes.Equal(node[:], f.dir.runs[i]) {
					t.Errorf("node of run %d", i)
				}
			}
			f.checkStats(t, rows)
			if again := f.build(); !bytes.Equal(again, base.file) {
				t.Error("put together again it is another file")
			}
		})
	}
}

// checkStats counts what the directory says of each column.
func (f *refFile) checkStats(t *testing.T, rows []segment.Row) {
	base := 0
	for i, l := range f.layout {
		stats := f.dir.stats[i]
		var raw uint64
		for _, row := range rows {
			raw += uint64(len(row[i]))
		}
		if stats[0] != raw {
			t.Errorf("column %d: %d bytes of values, counted %d", i, stats[0], raw)
		}
		streams := 0
		for _, bl := range l.blocks {
			streams += int(bl.streams)
		}
		for j, bl := range l.blocks {
			var got [4]uint64
			for c, chunk := range f.chunks {
				b := chunk.blocks[base+j]
				if b == nil {
					continue
				}
				got[0] += b.raw
				got[1] += f.dir.lens[c][base+j]
				got[2]++
				if b.codec == 0 && bl.codec != "raw" {
					got[3]++
				}
			}
			if want := stats[1+streams+4*j:][:4]; got != [4]uint64(want) {
				t.Errorf("column %d, block %d: statistics %d, counted %d", i, j, want, got)
			}
		}
		base += len(l.blocks)
	}
}
