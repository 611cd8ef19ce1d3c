package segment_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/segstore/segstore/codec"
	"github.com/segstore/segstore/dict"
	"github.com/segstore/segstore/segment"
)

// One chunk holds 65536 rows and no more, however small they are.
func TestMostRowsOfAChunk(t *testing.T) {
	rows := emptyRows(65536*2 + 1)
	b, info := write(t, segment.WriterOptions{Table: "empty", Schema: segment.Schema{Columns: []segment.Column{
		{Name: "a", Kind: segment.Bytes}, {Name: "b", Kind: segment.Bytes},
	}}}, rows)
	if info.Chunks != 3 || info.RawBytes != 0 {
		t.Fatalf("%+v", info)
	}
	if len(b) > 4000 { // 513 nodes of runs, of which all but the last are alike
		t.Errorf("%d bytes", len(b))
	}
	wantWhole(t, b)
	r := open(t, b, segment.ReaderOptions{})
	wantRows(t, r, rows)
	for _, n := range []uint64{0, 65535, 65536, 131071, 131072} {
		if row, err := r.Row(nil, n); err != nil || len(row) != 2 || len(row[0])+len(row[1]) != 0 {
			t.Errorf("row %d: %x, %v", n, row, err)
		}
	}
	cut := b[:len(b)-1] // no directory: all rows by frames
	d, err := segment.Recover(bytes.NewReader(cut), int64(len(cut)), segment.RecoverOptions{})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, err := range d.Rows(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != len(rows) {
		t.Errorf("%d rows recovered", n)
	}
}

// Of many columns a chunk holds fewer rows: the places of 256 x 65,536 values would
// take 64 MiB in each job.
func TestMostValuesOfAChunk(t *testing.T) {
	var s segment.Schema
	for i := range 256 {
		s.Columns = append(s.Columns, segment.Column{Name: fmt.Sprintf("c%d", i), Kind: segment.Bytes})
	}
	rows := make([]segment.Row, 4096*2+1)
	for i := range rows {
		rows[i] = make(segment.Row, 256)
	}
	b, info := write(t, segment.WriterOptions{Table: "wide", Schema: s}, rows)
	if info.Chunks != 3 {
		t.Fatalf("%+v", info)
	}
	r := open(t, b, segment.ReaderOptions{})
	wantRows(t, r, rows)
	cold, err := codec.Profile("cold")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []segment.RecompressOptions{{}, {Policy: cold}} {
		var out bytes.Buffer
		rep, err := segment.Recompress(context.Background(), &out, r, o)
		if err != nil {
			t.Fatal(err)
		}
		if rep.After.Chunks != 3 || rep.ContentRoot != info.ContentRoot {
			t.Errorf("%+v", rep)
		}
	}
}

func TestMostColumns(t *testing.T) {
	var s segment.Schema
	row := segment.Row{}
	for i := range 256 {
		c := segment.Column{Name: fmt.Sprintf("c%d_%s", i, strings.Repeat("x", 64))[:64], Kind: segment.Kind(1 + i%3)}
		if c.Kind == segment.Fixed {
			c.Width = 1 + i
		}
		s.Columns = append(s.Columns, c)
		row = append(row, bytes.Repeat([]byte{byte(i)}, map[segment.Kind]int{segment.Bytes: i % 7, segment.Fixed: 1 + i, segment.Uint: 8}[c.Kind]))
	}
	rows := []segment.Row{row, row, row}
	for _, group := range []string{"column", "stream"} {
		b, _ := write(t, segment.WriterOptions{Table: "wide", Schema: s, Policy: policy(t, "chunk 32768\n* group="+group+" codec=zstd:1\n")}, rows)
		wantWhole(t, b)
		r := open(t, b, segment.ReaderOptions{})
		wantRows(t, r, rows)
		for i, c := range s.Columns {
			cr, err := r.Column(c.Name)
			if err != nil {
				t.Fatal(err)
			}
			if v, err := cr.Value(nil, 2); err != nil || !bytes.Equal(v, row[i]) {
				t.Errorf("%s: %x, %v", c.Name, v, err)
			}
		}
	}
	s.Columns = append(s.Columns, segment.Column{Name: "more", Kind: segment.Uint})
	if _, err := segment.NewWriter(io.Discard, segment.WriterOptions{Table: "wide", Schema: s}); err == nil {
		t.Error("257 columns")
	}
}

// peak returns the most bytes of heap in use while f runs, beyond those before.
func peak(t *testing.T, f func()) int64 {
	t.Helper()
	runtime.GC()
	defer debug.SetGCPercent(debug.SetGCPercent(20))
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	before := int64(m.HeapAlloc)
	var most atomic.Int64
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			runtime.ReadMemStats(&m)
			most.Store(max(most.Load(), int64(m.HeapAlloc)-before))
			select {
			case <-stop:
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
	}()
	f()
	close(stop)
	<-done
	return most.Load()
}

// A row of 66 MiB among small ones stands alone, and takes memory for a few of it,
// whatever the number of workers.
func TestGiantRow(t *testing.T) {
	if testing.Short() {
		t.Skip("66 MiB")
	}
	const giant = 66 << 20
	s := segment.Schema{Columns: []segment.Column{{Name: "n", Kind: segment.Uint}, {Name: "b", Kind: segment.Bytes}}}
	large := make([]byte, giant)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := 0; i < len(large); i += 97 { // shrinks, but not to nothing
		large[i] = byte(rng.Uint32())
	}
	var rows []segment.Row
	for i := range 40 {
		b := []byte("small")
		if i%16 == 5 { // three of them
			b = large
		}
		rows = append(rows, segment.Row{segment.AppendUint(nil, uint64(i)), b})
	}
	var out bytes.Buffer
	out.Grow(3*giant + 1<<20)
	bounded := func(what string, times int64, f func()) {
		t.Helper()
		if got := peak(t, f); got > times*giant+32<<20 {
			t.Errorf("%s: %d MiB at the most for a row of %d", what, got>>20, giant>>20)
		} else {
			t.Logf("%s: %d MiB", what, got>>20)
		}
	}
	bounded("write", 6, func() {
		w, err := segment.NewWriter(&out, segment.WriterOptions{Table: "giants", Schema: s, Workers: 4, Policy: policy(t, "chunk 32768\n* group=column codec=zstd:1\n")})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Abort()
		for _, row := range rows {
			if err := w.Append(row); err != nil {
				t.Fatal(err)
			}
		}
		info, err := w.Finish()
		if err != nil || info.Chunks != 7 {
			t.Fatalf("%+v, %v", info, err)
		}
	})
	b := out.Bytes()
	r := open(t, b, segment.ReaderOptions{})
	bounded("scan", 3, func() { wantRows(t, r, rows) })
	bounded("row", 4, func() {
		row, err := r.Row(nil, 21)
		if err != nil || !equal(row, rows[21]) {
			t.Fatal(err)
		}
	})
	bounded("verify", 3, func() { wantWhole(t, b) })
	bounded("recompress", 7, func() {
		if _, err := segment.Recompress(context.Background(), io.Discard, r, segment.RecompressOptions{Workers: 4, Policy: policy(t, "chunk 65536\n* group=column codec=s2\n")}); err != nil {
			t.Fatal(err)
		}
	})
}

// What is above a limit is refused, before anything large is copied.
func TestLimits(t *testing.T) {
	schema := segment.Schema{Columns: []segment.Column{{Name: "a", Kind: segment.Bytes}, {Name: "b", Kind: segment.Bytes}}}
	w, err := segment.NewWriter(io.Discard, segment.WriterOptions{Table: "t", Schema: schema})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	half := make([]byte, segment.MaxRowBytes/2+1)
	measure(t, "append", 1<<20, func() {
		if err := w.Append(segment.Row{half, half}); err == nil {
			t.Error("a row of more than 128 MiB")
		}
	})
	many := map[string][]byte{}
	for i := range 1025 {
		many[fmt.Sprint(i)] = nil
	}
	for name, o := range map[string]segment.WriterOptions{
		"no table":             {Schema: schema},
		"table of two words":   {Table: "a b", Schema: schema},
		"table too long":       {Table: strings.Repeat("a", 65), Schema: schema},
		"no columns":           {Table: "t"},
		"metadata entries":     {Table: "t", Schema: schema, Metadata: many},
		"metadata key":         {Table: "t", Schema: schema, Metadata: map[string][]byte{strings.Repeat("k", 257): nil}},
		"metadata value":       {Table: "t", Schema: schema, Metadata: map[string][]byte{"k": make([]byte, 16<<20+1)}},
		"workers":              {Table: "t", Schema: schema, Workers: -1},
		"unknown encoding":     {Table: "t", Schema: schema, Policy: policy(t, "chunk 1024\n* encoding=none group=column codec=raw\n")},
		"unknown version":      {Table: "t", Schema: schema, Policy: policy(t, "chunk 1024\n* encoding=plain/9 group=column codec=raw\n")},
		"dictionary of nobody": {Table: "t", Schema: schema, Dictionaries: map[string]*dict.Dict{"c": rawDictionary(t, "12345678")}},
		"dictionary for raw":   {Table: "t", Schema: schema, Policy: policy(t, "chunk 1024\n* group=column codec=raw\n"), Dictionaries: map[string]*dict.Dict{"a": rawDictionary(t, "12345678")}},
		"257 streams":          {Table: "t", Schema: schema, Encodings: []codec.Encoding{manyStreams(257)}, Policy: policy(t, "chunk 1024\n* encoding=many group=column codec=raw\n")},
		"no streams":           {Table: "t", Schema: schema, Encodings: []codec.Encoding{manyStreams(0)}, Policy: policy(t, "chunk 1024\n* encoding=many group=column codec=raw\n")},
	} {
		if w, err := segment.NewWriter(io.Discard, o); err == nil {
			w.Abort()
			t.Errorf("%s: taken", name)
		}
	}
	wide := segment.WriterOptions{Table: "t", Encodings: []codec.Encoding{manyStreams(256)}, Policy: policy(t, "chunk 1024\n* encoding=many group=stream codec=raw\n")}
	for i := range 17 { // 16 are 4096 blocks
		wide.Schema.Columns = append(wide.Schema.Columns, segment.Column{Name: fmt.Sprintf("c%d", i), Kind: segment.Bytes})
	}
	if w, err := segment.NewWriter(io.Discard, wide); err == nil {
		w.Abort()
		t.Error("4352 blocks a chunk")
	}
	wide.Schema.Columns = wide.Schema.Columns[:16]
	row := segment.Row{}
	for i := range 16 {
		row = append(row, bytes.Repeat([]byte{byte(i)}, i*33))
	}
	b, _ := write(t, wide, []segment.Row{row, row})
	r := open(t, b, segment.ReaderOptions{Encodings: wide.Encodings})
	wantRows(t, r, []segment.Row{row, row})
	if _, err := segment.NewReader(bytes.NewReader(b), int64(len(b)), segment.ReaderOptions{}); !errors.Is(err, segment.ErrVersion) || !strings.Contains(err.Error(), `"many/1"`) {
		t.Errorf("an encoding not known: %v", err)
	}
	for _, o := range []segment.ReaderOptions{{MaxBlockBytes: -1}, {MaxBlockBytes: 1 << 30}, {Concurrency: -1}, {Concurrency: 1 << 20}} {
		if _, err := segment.NewReader(bytes.NewReader(b), int64(len(b)), o); err == nil || errors.Is(err, segment.ErrCorrupt) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// manyStreams is an encoding of so many streams: byte i of all values together
// goes into stream i modulo their number.
type manyStreams int

func (manyStreams) Name() string { return "many/1" }

func (m manyStreams) Streams() []string {
	names := make([]string, m)
	for i := range names {
		names[i] = fmt.Sprint(i)
	}
	return names
}

func (m manyStreams) Split(streams [][]byte, v *codec.Values) ([][]byte, error) {
	for len(streams) < int(m) {
		streams = append(streams, nil)
	}
	streams = streams[:m]
	for i := range streams {
		streams[i] = streams[i][:0]
	}
	for _, e := range v.Ends {
		streams[0] = append(streams[0], byte(e), byte(e>>8), byte(e>>16))
	}
	for i, b := range v.Data {
		k := 1 + i%(int(m)-1)
		streams[k] = append(streams[k], b)
	}
	return streams, nil
}

func (m manyStreams) Join(v *codec.Values, streams [][]byte, rows int) error {
	if len(streams[0]) != 3*rows {
		return fmt.Errorf("%w: many", codec.ErrCorrupt)
	}
	total := 0
	for _, s := range streams[1:] {
		total += len(s)
	}
	v.Buf, v.Ends = v.Buf[:0], v.Ends[:0]
	last := uint32(0)
	for i := range rows {
		e := uint32(streams[0][3*i]) | uint32(streams[0][3*i+1])<<8 | uint32(streams[0][3*i+2])<<16
		if e < last {
			return fmt.Errorf("%w: many", codec.ErrCorrupt)
		}
		v.Ends, last = append(v.Ends, e), e
	}
	if int(last) != total {
		return fmt.Errorf("%w: many", codec.ErrCorrupt)
	}
	for i := range total {
		s := streams[1+i%(int(m)-1)]
		if i/(int(m)-1) >= len(s) {
			return fmt.Errorf("%w: many", codec.ErrCorrupt)
		}
		v.Buf = append(v.Buf, s[i/(int(m)-1)])
	}
	v.Data = v.Buf
	return nil
}

// lossy is an encoding that loses something, in one of several ways.
type lossy struct{ way string }

func (lossy) Name() string      { return "lossy/1" }
func (lossy) Streams() []string { return []string{"all"} }

func (l lossy) Split(streams [][]byte, v *codec.Values) ([][]byte, error) {
	switch l.way {
	case "split fails":
		return nil, errInjected
	case "other number of streams":
		return [][]byte{nil, nil}, nil
	}
	return [][]byte{bytes.Clone(v.Data)}, nil
}

func (l lossy) Join(v *codec.Values, streams [][]byte, rows int) error {
	if l.way == "join fails" {
		return errInjected
	}
	v.Ends = v.Ends[:0]
	v.Data = bytes.Clone(streams[0])
	for i := range rows {
		v.Ends = append(v.Ends, uint32((i+1)*len(v.Data)/rows))
	}
	switch l.way {
	case "other bytes":
		v.Data[0]++
	case "other ends":
		v.Ends[0]++
	case "a value less":
		v.Ends = v.Ends[1:]
	}
	return nil
}

// An encoding that does not give back what it got is found before the bytes are
// written.
func TestLossyEncoding(t *testing.T) {
	for _, way := range []string{"split fails", "other number of streams", "join fails", "other bytes", "other ends", "a value less"} {
		for _, workers := range []int{1, 2} {
			var out bytes.Buffer
			w, err := segment.NewWriter(&out, segment.WriterOptions{
				Table: "t", Schema: segment.Schema{Columns: []segment.Column{{Name: "a", Kind: segment.Bytes}}}, Workers: workers,
				Encodings: []codec.Encoding{lossy{way}}, Policy: policy(t, "chunk 1024\n* encoding=lossy group=column codec=raw\n"),
			})
			if err != nil {
				t.Fatal(err)
			}
			for range 4 {
				if err = w.Append(segment.Row{[]byte("abcd")}); err != nil {
					break
				}
			}
			if err == nil {
				_, err = w.Finish()
			}
			w.Abort()
			if err == nil || !strings.Contains(err.Error(), `"a"`) {
				t.Errorf("%s: %v", way, err)
			}
		}
	}
}

// Row numbers up to the last.
func TestLastRowNumbers(t *testing.T) {
	const last = ^uint64(0) - 1
	b, _ := write(t, segment.WriterOptions{FirstRow: last - 299, Policy: policy(t, "chunk 1024\n* group=column codec=raw\n")}, testRows(300, 1))
	r := open(t, b, segment.ReaderOptions{})
	if r.EndRow() != last+1 {
		t.Fatal(r.EndRow())
	}
	for _, n := range []uint64{0, last - 300, last + 1} {
		if _, err := r.Row(nil, n); !errors.Is(err, segment.ErrRange) {
			t.Errorf("row %d: %v", n, err)
		}
	}
	if err := scan(t, r, testRows(300, 1)); err != nil {
		t.Fatal(err)
	}
	for range r.Rows(last + 1) {
		t.Error("a row behind the last")
	}
	var n int
	for _, err := range r.Rows(0) {
		if n++; !errors.Is(err, segment.ErrRange) {
			t.Error(err)
		}
	}
	if n != 1 {
		t.Errorf("%d errors", n)
	}
	w, err := segment.NewWriter(io.Discard, segment.WriterOptions{Table: "test", Schema: testSchema(), FirstRow: last + 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Append(testRows(1, 1)[0]); err == nil {
		t.Error("row 2^64-1")
	}
	w.Abort()
}
