package archive_test

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/segment/archive"
)

const manySegments = 10_000

// manyNote is the row of the nth segment.
func manyNote(n uint64) segment.Row {
	return segment.Row{fmt.Appendf(nil, "note %d, alone in its segment", n)}
}

// many makes an archive of 10,000 segments, of one row each, and with rows in a log.
func many(t testing.TB, fs vfs.FS) {
	t.Helper()
	tables := []testTable{{spec: archive.TableSpec{Name: "notes", Schema: notesSchema(), Policy: policy(t, rawPolicy)}}}
	for n := range uint64(manySegments) {
		tables[0].rows = append(tables[0].rows, manyNote(n))
	}
	mustBuild(t, fs, "/chain", archive.CreateOptions{SegmentBytes: 1, Workers: 1}, tables)
	a := mustOpen(t, fs, "/chain", archive.Options{SealBytes: -1, Workers: 1})
	for n := uint64(manySegments); n < manySegments+10; n++ {
		b := a.Batch()
		if err := b.Append("notes", manyNote(n)); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	mustClose(t, a)
}

// An archive of 10,000 segments and a log opens without opening, or asking for, one of
// their files; a row of a segment opens that one.
func TestOpenManySegments(t *testing.T) {
	mem := vfs.NewMem()
	many(t, mem)
	var mu sync.Mutex
	var opened []string
	asked := 0
	fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		mu.Lock()
		defer mu.Unlock()
		if strings.HasSuffix(op.Path, ".seg") {
			asked++
		}
		if op.Kind == errorfs.OpOpen {
			opened = append(opened, op.Path)
		}
		return nil
	}))
	for _, ro := range []bool{true, false} {
		opened, asked = nil, 0
		a := mustOpen(t, fs, "/chain", archive.Options{ReadOnly: ro, SealBytes: -1})
		if i := a.Info(); i.Segments != manySegments || i.Rows != manySegments+10 {
			t.Fatalf("%d segments, %d rows", i.Segments, i.Rows)
		}
		if asked != 0 || len(opened) > 10 {
			t.Errorf("read-only %t: %d operations on segments; opened %q", ro, asked, opened)
		}
		tab, err := a.Table("notes")
		if err != nil {
			t.Fatal(err)
		}
		opened = nil
		for _, n := range []uint64{manySegments + 9, 7777} { // in the log, in a segment
			if row, err := tab.Row(nil, n); err != nil || !equal(row, manyNote(n)) {
				t.Fatalf("row %d is %q, %v", n, row, err)
			}
		}
		if len(opened) != 1 || !strings.Contains(opened[0], "0000007777") {
			t.Errorf("read-only %t: two rows opened %q", ro, opened)
		}
		mustClose(t, a)
	}
}

// BenchmarkOpenManySegments opens 10,000 segments and a log, read-only: time, and what
// stays in memory ("heap-B").
func BenchmarkOpenManySegments(b *testing.B) {
	fs := vfs.NewMem()
	many(b, fs)
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	a := mustOpen(b, fs, "/chain", archive.Options{ReadOnly: true})
	kept := float64(heap()) - float64(before)
	mustClose(b, a)
	b.ReportAllocs()
	var took time.Duration
	for b.Loop() {
		began := time.Now()
		a := mustOpen(b, fs, "/chain", archive.Options{ReadOnly: true})
		took += time.Since(began)
		mustClose(b, a)
	}
	b.ReportMetric(float64(took.Microseconds())/1e3/float64(b.N), "ms/open")
	b.ReportMetric(kept, "heap-B")
}
