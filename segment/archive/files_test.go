package archive_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/segment/archive"
)

// Chunks that are cached are of use when their file is opened again.
func TestCacheOutlivesOpenFiles(t *testing.T) {
	fs := vfs.NewMem()
	tables := testTables(t, 200, s2Policy)
	mustBuild(t, fs, "/chain", archive.CreateOptions{SegmentBytes: 2 << 10, Workers: 1, Policy: policy(t, s2Policy)}, tables)
	a := mustOpen(t, fs, "/chain", archive.Options{OpenFiles: 1})
	defer mustClose(t, a)
	wantRows(t, a, tables)
	before := a.Metrics()
	wantRows(t, a, tables)
	now := a.Metrics()
	if now.Counters.CacheMisses != before.Counters.CacheMisses || now.Gauges.CacheChunks != before.Gauges.CacheChunks || now.Counters.CacheHits <= before.Counters.CacheHits {
		t.Errorf("%+v, before %+v", now, before)
	}
	if n := now.Counters.FilesOpened - before.Counters.FilesOpened; n < uint64(len(segments(t, a)))-1 {
		t.Errorf("files were opened %d times only", n)
	}
}

// Rows of a file that is open are read while others open and close files.
func TestRowTakesNoLock(t *testing.T) {
	fs := vfs.NewMem()
	tables := small(t, fs, s2Policy)
	a := mustOpen(t, fs, "/chain", archive.Options{})
	defer mustClose(t, a)
	blocks, _ := a.Table("blocks")
	if _, err := blocks.Row(nil, 100); err != nil {
		t.Fatal(err)
	}
	unlock := archive.LockFiles(a)
	done := make(chan error)
	go func() {
		row, err := blocks.Row(nil, 101)
		if err == nil && !equal(row, tables[0].rows[1]) {
			err = fmt.Errorf("row %q", row)
		}
		done <- err
	}()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
		unlock()
	case <-time.After(10 * time.Second):
		t.Error("waits for the lock of the files")
		unlock()
		<-done
	}
}

// Many goroutines use more files than stay open, while they are closed and opened
// again under them.
func TestFilesComeAndGo(t *testing.T) {
	fs := &countingFS{FS: vfs.NewMem()}
	tables := testTables(t, 200, s2Policy)
	mustBuild(t, fs, "/chain", archive.CreateOptions{SegmentBytes: 2 << 10, Workers: 1, Policy: policy(t, s2Policy)}, tables)
	a := mustOpen(t, fs, "/chain", archive.Options{OpenFiles: 1, CacheBytes: -1, Workers: 1})
	blocks, _ := a.Table("blocks")
	var wg sync.WaitGroup
	for g := range uint64(8) {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(g, 1))
			var row segment.Row
			var err error
			for range 500 {
				n := rng.Uint64N(200)
				if row, err = blocks.Row(row, 100+n); err != nil || !equal(row, tables[0].rows[n]) {
					t.Errorf("row %d is %q, %v", n, row, err)
					return
				}
			}
		})
	}
	wg.Wait()
	if n := a.Metrics().Gauges.OpenFiles; n != 1 || fs.open.Load() != 1 {
		t.Errorf("%d files are open, %d by the file system", n, fs.open.Load())
	}
	mustClose(t, a)
	if n := fs.open.Load(); n != 0 {
		t.Errorf("%d files are open", n)
	}
}

// A file whose last user leaves just when another one comes is open for that one.
func TestLastUserLeavesAsOneComes(t *testing.T) {
	fs := &countingFS{FS: vfs.NewMem()}
	tables := small(t, fs, s2Policy)
	a := mustOpen(t, fs, "/chain", archive.Options{OpenFiles: 1, CacheBytes: -1})
	for range 100 {
		_, release, err := a.OpenSegment("blocks", 0)
		if err != nil {
			t.Fatal(err)
		}
		other, err := a.Table("notes")
		if err == nil { // its file takes the place of the one that stays open
			_, err = other.Row(nil, 0)
		}
		if err != nil {
			t.Fatal(err)
		}
		opened := a.Metrics().Counters.FilesOpened
		unlock := archive.LockFiles(a)
		var wg sync.WaitGroup
		wg.Go(release)
		time.Sleep(time.Millisecond) // it waits
		unlock()
		r, again, err := a.OpenSegment("blocks", 0) // mostly comes first
		wg.Wait()
		want := int64(2)
		if a.Metrics().Counters.FilesOpened > opened {
			want = 1 // it was closed, and opened in the place of the other
		}
		if n := a.Metrics().Gauges.OpenFiles; err != nil || n != want {
			t.Fatalf("%d files are open, want %d, %v", n, want, err)
		}
		if row, err := r.Row(nil, 100); err != nil || !equal(row, tables[0].rows[0]) {
			t.Fatalf("row %q, %v", row, err)
		}
		again()
	}
	mustClose(t, a)
	if n := fs.open.Load(); n != 0 {
		t.Errorf("%d files are open", n)
	}
}
