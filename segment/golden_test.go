package segment_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/segstore/segstore/segment"
)

// TestGolden runs the scripts in testdata/golden. Commands:
//
//	build columns=(NAME:KIND,…) [first=N] [chunk=N] [group=G] [codec=C]
//	    a row a line, a value a word: a number for uint, hex for fixed, else text;
//	    - is empty, x*3 is xxx. Later commands work on what was built.
//	layout                     every part of the file
//	corrupt offset=N [bytes=N] flips a bit of each byte of a copy, on which later commands work
//	cut at=N                   keeps the first N bytes of a copy
//	whole                      goes back to what was built
//	verify [depth=D]           flaws
//	rows [from=N] [columns=(NAME,…)], get row=N, recover, stats, info
//
// An offset is a number or a part as layout names it, with +N behind it. The
// bytes of a directory depend on the name of the compressor's version: its length
// and what lies behind it is not printed.
func TestGolden(t *testing.T) {
	datadriven.Walk(t, "testdata/golden", func(t *testing.T, path string) {
		g := &golden{}
		datadriven.RunTest(t, path, g.run)
	})
}

type golden struct {
	schema segment.Schema
	built  []byte
	now    []byte // the copy that was damaged, or built
	places []segment.Place
}

func (g *golden) run(t *testing.T, d *datadriven.TestData) string {
	switch d.Cmd {
	case "build":
		return g.build(t, d)
	case "whole":
		g.now = g.built
	case "layout":
		var b strings.Builder
		for _, p := range g.places {
			fmt.Fprintln(&b, g.where(p))
		}
		return b.String()
	case "corrupt":
		var at, word string
		n := 1
		d.ScanArgs(t, "offset", &at)
		d.MaybeScanArgs(t, "bytes", &n)
		off := g.offset(t, at)
		g.now = bytes.Clone(g.built)
		for i := range n {
			g.now[off+i] ^= 0x10
		}
		for _, p := range g.places {
			if int64(off) >= p.Offset && int64(off) < p.Offset+p.Length {
				word = g.where(p)
			}
		}
		return "in " + word
	case "cut":
		var at string
		d.ScanArgs(t, "at", &at)
		g.now = g.built[:g.offset(t, at)]
	case "verify":
		return g.verify(t, d)
	case "recover":
		return g.recover()
	default:
		return g.read(t, d)
	}
	return ""
}

func (g *golden) build(t *testing.T, d *datadriven.TestData) string {
	var columns []string
	first, chunk, group, spec := uint64(0), 1024, "column", "raw"
	for _, a := range d.CmdArgs {
		if a.Key == "columns" {
			columns = a.Vals
		}
	}
	d.MaybeScanArgs(t, "first", &first)
	d.MaybeScanArgs(t, "chunk", &chunk)
	d.MaybeScanArgs(t, "group", &group)
	d.MaybeScanArgs(t, "codec", &spec)
	g.schema = segment.Schema{}
	for _, c := range columns {
		name, kind, _ := strings.Cut(c, ":")
		k, width, err := segment.ParseKind(kind)
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
		g.schema.Columns = append(g.schema.Columns, segment.Column{Name: name, Kind: k, Width: width})
	}
	var out bytes.Buffer
	w, err := segment.NewWriter(&out, segment.WriterOptions{
		Table: "golden", Schema: g.schema, FirstRow: first,
		Policy: policy(t, fmt.Sprintf("chunk %d\n* group=%s codec=%s\n", chunk, group, spec)),
	})
	if err != nil {
		return err.Error() + "\n"
	}
	defer w.Abort()
	for line := range strings.Lines(d.Input) {
		var row segment.Row
		for i, word := range strings.Fields(line) {
			row = append(row, g.value(i, word))
		}
		if err := w.Append(row); err != nil {
			return err.Error() + "\n"
		}
	}
	info, err := w.Finish()
	if err != nil {
		return err.Error() + "\n"
	}
	g.built, g.now = out.Bytes(), out.Bytes()
	g.places = slices.Collect(open(t, g.built, segment.ReaderOptions{}).Places())
	return fmt.Sprintf("rows %d-%d, chunks %d, raw bytes %d\nid %v\nroot %v\n",
		info.FirstRow, info.FirstRow+info.Rows-1, info.Chunks, info.RawBytes, info.ID, info.ContentRoot)
}

func (g *golden) value(column int, word string) []byte {
	if word == "-" {
		return nil
	}
	if column < len(g.schema.Columns) && g.schema.Columns[column].Kind == segment.Uint {
		if n, err := strconv.ParseUint(word, 10, 64); err == nil {
			return segment.AppendUint(nil, n)
		}
	}
	if text, times, ok := strings.Cut(word, "*"); ok {
		n, _ := strconv.Atoi(times)
		word = strings.Repeat(text, n)
	}
	return []byte(word)
}

// where says where a place is, without what depends on the encoder's name.
func (g *golden) where(p segment.Place) string {
	s := p.String()
	switch p.Section {
	case segment.SectionDirectory:
		s, _, _ = strings.Cut(s, "+")
	case segment.SectionFooter:
		s, _, _ = strings.Cut(s, ", at")
	}
	return s
}

// offset reads "123" or "directory+3".
func (g *golden) offset(t *testing.T, s string) int {
	name, plus, _ := strings.Cut(s, "+")
	off, err := strconv.Atoi(name)
	if err != nil {
		off = -1
		for _, p := range g.places {
			if string(p.Section) == name && off < 0 {
				off = int(p.Offset)
			}
		}
		if off < 0 {
			t.Fatalf("no %s", name)
		}
	}
	n, _ := strconv.Atoi(plus)
	return off + n
}

func (g *golden) verify(t *testing.T, d *datadriven.TestData) string {
	var b strings.Builder
	o, depth := segment.VerifyOptions{}, ""
	d.MaybeScanArgs(t, "depth", &depth)
	o.Depth = map[string]segment.Depth{"structure": segment.Structure, "content": segment.Content}[depth]
	for f, err := range segment.Verify(context.Background(), bytes.NewReader(g.now), int64(len(g.now)), o) {
		if err != nil {
			fmt.Fprintf(&b, "error: %v\n", err)
			break
		}
		fmt.Fprintln(&b, g.flaw(&f))
	}
	if b.Len() == 0 {
		return "whole\n"
	}
	return b.String()
}

// flaw says a flaw without what depends on the encoder's name.
func (g *golden) flaw(f *segment.Flaw) string {
	cause := f.Err.Error()
	if f.Section == segment.SectionDirectory || f.Section == segment.SectionFooter || f.Section == segment.SectionFile {
		cause, _, _ = strings.Cut(cause, " of the bytes is") // a checksum over those bytes
	}
	return g.where(f.Place) + ": " + cause
}

func (g *golden) recover() string {
	var b strings.Builder
	d, err := segment.Recover(bytes.NewReader(g.now), int64(len(g.now)), segment.RecoverOptions{})
	if err != nil {
		return g.failure(err)
	}
	for _, f := range d.Flaws() {
		fmt.Fprintln(&b, g.flaw(&f))
	}
	for n, err := range d.Rows(context.Background()) {
		if err != nil {
			b.WriteString("  " + g.failure(err))
			continue
		}
		fmt.Fprintf(&b, "  %d: %s\n", n.N, g.row(n.Row, g.schema.Columns))
	}
	return b.String()
}

func (g *golden) failure(err error) string {
	var ce *segment.CorruptionError
	if errors.As(err, &ce) {
		return g.flaw(ce) + "\n"
	}
	return err.Error() + "\n"
}

// row writes values as build reads them.
func (g *golden) row(row segment.Row, columns []segment.Column) string {
	words := make([]string, len(row))
	for i, v := range row {
		switch {
		case columns[i].Kind == segment.Uint:
			words[i] = strconv.FormatUint(segment.ParseUint(v), 10)
		case len(v) == 0:
			words[i] = "-"
		default:
			words[i] = string(v)
			for n := 1; n < 8 && len(v) > 20; n++ {
				if bytes.HasPrefix(v, v[n:]) {
					words[i] = fmt.Sprintf("%s*%d", v[:n], len(v)/n)
					break
				}
			}
		}
	}
	return strings.Join(words, " ")
}

// read runs the commands that need the file to open.
func (g *golden) read(t *testing.T, d *datadriven.TestData) string {
	var b strings.Builder
	r, err := segment.NewReader(bytes.NewReader(g.now), int64(len(g.now)), segment.ReaderOptions{})
	if err != nil {
		return g.failure(err)
	}
	switch d.Cmd {
	case "get":
		var n uint64
		d.ScanArgs(t, "row", &n)
		row, err := r.Row(nil, n)
		if err != nil {
			return g.failure(err)
		}
		fmt.Fprintln(&b, g.row(row, g.schema.Columns))
	case "rows":
		from, columns := r.FirstRow(), g.schema.Columns
		var names []string
		d.MaybeScanArgs(t, "from", &from)
		for _, a := range d.CmdArgs {
			if a.Key == "columns" {
				names, columns = a.Vals, nil
				for _, name := range names {
					if i := g.schema.Index(name); i >= 0 {
						columns = append(columns, g.schema.Columns[i])
					}
				}
			}
		}
		for row, err := range r.Rows(from, names...) {
			if err != nil {
				b.WriteString(g.failure(err))
				break
			}
			fmt.Fprintln(&b, g.row(row, columns))
		}
	case "stats":
		for _, c := range r.Stats() {
			fmt.Fprintf(&b, "%s: raw %d, stored %d\n", c.Column, c.RawBytes, c.StoredBytes)
			for _, s := range c.Streams {
				fmt.Fprintf(&b, "  stream %s: raw %d\n", s.Stream, s.RawBytes)
			}
			for _, bl := range c.Blocks {
				fmt.Fprintf(&b, "  block %v %v: raw %d, stored %d, blocks %d, kept raw %d\n", bl.Streams, bl.Codec, bl.RawBytes, bl.StoredBytes, bl.Blocks, bl.KeptRaw)
			}
		}
	default:
		t.Fatalf("unknown command %q", d.Cmd)
	}
	return b.String()
}
