package segment_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"testing"

	"golang.org/x/mod/sumdb/tlog"
	"pgregory.net/rapid"

	"github.com/segstore/segstore/codec"
	"github.com/segstore/segstore/dict"
	"github.com/segstore/segstore/segment"
)

// model is a table as a slice of rows, and what it is written with.
type model struct {
	options segment.WriterOptions
	rows    []segment.Row
	file    []byte
	info    segment.Info
}

func drawSchema(t *rapid.T) segment.Schema {
	var s segment.Schema
	for i := range rapid.IntRange(1, 6).Draw(t, "columns") {
		c := segment.Column{
			Name:   fmt.Sprintf("c%d", i),
			Kind:   rapid.SampledFrom([]segment.Kind{segment.Bytes, segment.Bytes, segment.Fixed, segment.Uint}).Draw(t, "kind"),
			Format: rapid.SampledFrom([]string{"", "", "f-1", "f-2"}).Draw(t, "format"),
		}
		if c.Kind == segment.Fixed {
			c.Width = rapid.SampledFrom([]int{1, 2, 20, 32, 300}).Draw(t, "width")
		}
		s.Columns = append(s.Columns, c)
	}
	return s
}

// drawRows draws few things of many values: rapid's own bytes would be too slow.
func drawRows(t *rapid.T, s segment.Schema) []segment.Row {
	n := rapid.SampledFrom([]int{1, 2, 5, 40, 255, 256, 257, 520}).Draw(t, "rows")
	type shape struct {
		size, spread int
		step, noise  uint64
		fill         byte
	}
	shapes := make([]shape, len(s.Columns))
	for i := range shapes {
		shapes[i] = shape{
			rapid.SampledFrom([]int{0, 0, 1, 7, 60, 900}).Draw(t, "size"), rapid.SampledFrom([]int{1, 1, 2, 50, 300}).Draw(t, "spread"),
			rapid.SampledFrom([]uint64{0, 1, 12, 1 << 33}).Draw(t, "step"), rapid.SampledFrom([]uint64{1, 1, 9, 1 << 62}).Draw(t, "noise"),
			rapid.Byte().Draw(t, "fill"),
		}
	}
	seed := rapid.Uint64().Draw(t, "seed")
	random := func() uint64 { // splitmix64
		seed += 0x9e3779b97f4a7c15
		z := (seed ^ seed>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		return z ^ z>>31
	}
	rows := make([]segment.Row, n)
	for i := range rows {
		rows[i] = make(segment.Row, len(s.Columns))
		for c, col := range s.Columns {
			sh := &shapes[c]
			if col.Kind == segment.Uint {
				rows[i][c] = segment.AppendUint(nil, uint64(i)*sh.step+random()%sh.noise)
				continue
			}
			size := sh.size + int(random()%uint64(sh.spread))
			if col.Kind == segment.Fixed {
				size = col.Width
			}
			v := bytes.Repeat([]byte{sh.fill}, size)
			if sh.noise > 1 && size >= 8 {
				binary.LittleEndian.PutUint64(v[random()%uint64(size-7):], random())
			}
			rows[i][c] = v
		}
	}
	return rows
}

func drawPolicy(t *rapid.T) codec.Policy {
	text := fmt.Sprintf("chunk %d\n", rapid.SampledFrom([]int{1024, 1500, 4096, 65536}).Draw(t, "chunk"))
	for _, match := range append(rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"column:c0", "column:c1", "kind:bytes", "kind:uint", "format:f-1"}), 0, 3, rapid.ID).Draw(t, "rules"), "*") {
		text += match
		if rapid.IntRange(0, 4).Draw(t, "plain") == 0 {
			text += " encoding=plain"
		}
		text += " group=" + rapid.SampledFrom([]string{"column", "stream"}).Draw(t, "group")
		text += " codec=" + rapid.SampledFrom([]string{"raw", "s2", "zstd:1", "zstd:3", "zstd:9", "zstd:1+dict else=s2 dict=65536", "zstd:-3+dict else=raw dict=1024"}).Draw(t, "codec") + "\n"
	}
	p, err := codec.ParsePolicy(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func drawModel(t *rapid.T, pool map[string]*dict.Dict) *model {
	m := &model{}
	s := drawSchema(t)
	m.rows = drawRows(t, s)
	m.options = segment.WriterOptions{
		Table: "model", Schema: s, Policy: drawPolicy(t),
		FirstRow: rapid.SampledFrom([]uint64{0, 1, 300, 1 << 40, ^uint64(0) - 600}).Draw(t, "first"),
		Workers:  rapid.IntRange(1, 4).Draw(t, "workers"),
	}
	for _, c := range s.Columns {
		if m.options.Policy.Rule(c.Name, c.Kind.String(), c.Format).Spec.Dict {
			if d := pool[rapid.SampledFrom([]string{"", "zstd", "raw"}).Draw(t, "dictionary")]; d != nil {
				if m.options.Dictionaries == nil {
					m.options.Dictionaries = map[string]*dict.Dict{}
				}
				m.options.Dictionaries[c.Name] = d
			}
		}
	}
	if rapid.Bool().Draw(t, "metadata") {
		m.options.Metadata = map[string][]byte{"k": {1, 2}, "": nil}
	}
	m.file, m.info = m.write(t, m.options)
	return m
}

func (m *model) write(t *rapid.T, o segment.WriterOptions) ([]byte, segment.Info) {
	var b bytes.Buffer
	w, err := segment.NewWriter(&b, o)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	var reuse segment.Row // Append copies
	for _, row := range m.rows {
		reuse = reuse[:0]
		for _, v := range row {
			reuse = append(reuse, append(make([]byte, 0, len(v)+1), v...))
		}
		if err := w.Append(reuse); err != nil {
			t.Fatal(err)
		}
		for _, v := range reuse {
			clear(v)
		}
	}
	info, err := w.Finish()
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), info
}

func openModel(t *rapid.T, b []byte, o segment.ReaderOptions) *segment.Reader {
	r, err := segment.NewReader(bytes.NewReader(b), int64(len(b)), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// check reads every way there is and compares with the slice.
func (m *model) check(t *rapid.T, r *segment.Reader) {
	first, columns := r.FirstRow(), m.options.Schema.Columns
	if first != m.options.FirstRow || r.EndRow() != first+uint64(len(m.rows)) || !r.Schema().Equal(m.options.Schema) || r.Table() != "model" {
		t.Fatalf("%s, rows %d to %d", r.Table(), first, r.EndRow())
	}
	var row segment.Row
	var err error
	for i := range m.rows {
		if row, err = r.Row(row, first+uint64(i)); err != nil || !equal(row, m.rows[i]) {
			t.Fatalf("row %d: %x, %v", i, row, err)
		}
	}
	from := rapid.IntRange(0, len(m.rows)).Draw(t, "from")
	var names []string
	var picked []int
	for range rapid.IntRange(0, len(columns)+1).Draw(t, "projection") { // in any order, some twice
		i := rapid.IntRange(0, len(columns)-1).Draw(t, "column")
		names, picked = append(names, columns[i].Name), append(picked, i)
	}
	if len(names) == 0 {
		for i := range columns {
			picked = append(picked, i)
		}
	}
	n := from
	for row, err := range r.Rows(first+uint64(from), names...) {
		if err != nil || n >= len(m.rows) || len(row) != len(picked) {
			t.Fatalf("row %d: %x, %v", n, row, err)
		}
		for k, i := range picked {
			if !bytes.Equal(row[k], m.rows[n][i]) {
				t.Fatalf("row %d, column %d: %x, want %x", n, i, row[k], m.rows[n][i])
			}
		}
		n++
	}
	if n != len(m.rows) {
		t.Fatalf("rows end at %d of %d", n, len(m.rows))
	}
	i := rapid.IntRange(0, len(columns)-1).Draw(t, "values")
	c, err := r.Column(columns[i].Name)
	if err != nil {
		t.Fatal(err)
	}
	n = from
	for v, err := range c.Values(first + uint64(from)) {
		if err != nil || !bytes.Equal(v, m.rows[n][i]) {
			t.Fatalf("value %d: %x, %v", n, v, err)
		}
		n++
	}
	if n != len(m.rows) {
		t.Fatalf("values end at %d of %d", n, len(m.rows))
	}
	at := rapid.IntRange(0, len(m.rows)-1).Draw(t, "value")
	if v, err := c.Value([]byte("kept"), first+uint64(at)); err != nil || string(v[:4]) != "kept" || !bytes.Equal(v[4:], m.rows[at][i]) {
		t.Fatalf("value %d: %x, %v", at, v, err)
	}
}

// tlogRoot computes the content root with Go's own transparency log.
func tlogRoot(t *rapid.T, rows []segment.Row) [32]byte {
	var stored []tlog.Hash
	read := tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		out := make([]tlog.Hash, len(indexes))
		for i, x := range indexes {
			out[i] = stored[x]
		}
		return out, nil
	})
	for i, row := range rows {
		var record []byte
		for _, v := range row {
			record = appendBytes(record, v)
		}
		add, err := tlog.StoredHashes(int64(i), record, read)
		if err != nil {
			t.Fatal(err)
		}
		stored = append(stored, add...)
	}
	root, err := tlog.TreeHash(int64(len(rows)), read)
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// TestModel writes tables of any shape and reads them back every way.
func TestModel(t *testing.T) {
	pool := map[string]*dict.Dict{"zstd": zstdDictionary(t), "raw": rawDictionary(t, "any eight bytes or more")}
	cache := segment.NewCache(1 << 20)
	rapid.Check(t, func(t *rapid.T) {
		m := drawModel(t, pool)
		o := segment.ReaderOptions{}
		if rapid.Bool().Draw(t, "cache") {
			o.Cache = cache // shared with other files
		}
		m.check(t, openModel(t, m.file, o))
		if m.info.ContentRoot != tlogRoot(t, m.rows) || m.info.ContentRoot != naiveRoot(m.rows) {
			t.Fatal("content root is another than that of RFC 6962")
		}
		f, err := parseReference(m.file, nil)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := f.values()
		if err != nil || len(rows) != len(m.rows) {
			t.Fatalf("reference: %d rows, %v", len(rows), err)
		}
		for i := range rows {
			if !equal(rows[i], m.rows[i]) {
				t.Fatalf("reference: row %d is %x", i, rows[i])
			}
		}
		for f, err := range segment.Verify(context.Background(), bytes.NewReader(m.file), int64(len(m.file)), segment.VerifyOptions{Depth: segment.Content}) {
			t.Fatalf("flaw %v, %v", &f, err)
		}
		o2 := m.options
		o2.Workers = o2.Workers%4 + 1
		if again, info := m.write(t, o2); !bytes.Equal(again, m.file) || fmt.Sprint(info) != fmt.Sprint(m.info) {
			t.Fatal("other workers, other bytes")
		}
		if m.info.StoredBytes != int64(len(m.file)) || uint64(m.info.Checksum) != xxh(m.file) {
			t.Fatalf("info %+v", m.info)
		}
	})
}

// TestRecompressModel recompresses any table under any policies one after another:
// rows and root stay, the result does not depend on the way there, and the same
// again changes nothing.
func TestRecompressModel(t *testing.T) {
	pool := map[string]*dict.Dict{"zstd": zstdDictionary(t), "raw": rawDictionary(t, "any eight bytes or more")}
	rapid.Check(t, func(t *rapid.T) {
		m := drawModel(t, pool)
		recompress := func(file []byte, o segment.RecompressOptions) []byte {
			var out bytes.Buffer
			rep, err := segment.Recompress(context.Background(), &out, openModel(t, file, segment.ReaderOptions{}), o)
			if err != nil {
				t.Fatal(err)
			}
			if rep.ContentRoot != m.info.ContentRoot || rep.After.StoredBytes != int64(out.Len()) || uint64(rep.After.Checksum) != xxh(out.Bytes()) ||
				rep.RawBytes != m.info.RawBytes || rep.Rows != uint64(len(m.rows)) || rep.Before.StoredBytes != int64(len(file)) {
				t.Fatalf("report %+v", rep)
			}
			for f, err := range segment.Verify(context.Background(), bytes.NewReader(out.Bytes()), int64(out.Len()), segment.VerifyOptions{Depth: segment.Content}) {
				t.Fatalf("flaw %v, %v", &f, err)
			}
			return out.Bytes()
		}
		p, q := drawPolicy(t), drawPolicy(t)
		workers := rapid.IntRange(1, 3).Draw(t, "workers again")
		once := recompress(m.file, segment.RecompressOptions{Policy: p, Workers: workers, Retrain: true})
		m.check(t, openModel(t, once, segment.ReaderOptions{}))
		if twice := recompress(once, segment.RecompressOptions{Policy: p, Workers: workers%3 + 1, Retrain: true}); !bytes.Equal(once, twice) {
			t.Fatal("the same again changed bytes")
		}
		if again := recompress(once, segment.RecompressOptions{}); !bytes.Equal(once, again) {
			t.Fatal("recompressing under its own policy changed bytes")
		}
		if around := recompress(recompress(once, segment.RecompressOptions{Policy: q}), segment.RecompressOptions{Policy: p, Retrain: true}); !bytes.Equal(once, around) {
			t.Fatal("the way there changed bytes")
		}
		level := rapid.SampledFrom([]int{-5, 1, 3, 8, 19}).Draw(t, "level")
		leveled := recompress(once, segment.RecompressOptions{Level: &level})
		m.check(t, openModel(t, leveled, segment.ReaderOptions{}))
		r := openModel(t, leveled, segment.ReaderOptions{})
		if !(segment.RecompressOptions{}).Settled(r) || !(segment.RecompressOptions{Level: &level}).Settled(r) {
			t.Fatal("not settled under what it was written with")
		}
	})
}
