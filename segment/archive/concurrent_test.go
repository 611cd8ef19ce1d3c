package archive_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/segment/archive"
)

// Many readers of every kind, of the archive that is recompressed and of a
// read-only one beside it, with fewer open files than segments.
func TestReadersDuringRecompress(t *testing.T) {
	fs := vfs.NewMem()
	tables := small(t, fs, s2Policy)
	w := mustOpen(t, fs, "/chain", archive.Options{OpenFiles: 2, CacheBytes: 1 << 20})
	r := mustOpen(t, fs, "/chain", archive.Options{OpenFiles: 2, ReadOnly: true})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var wg sync.WaitGroup
	var reads atomic.Int64
	start := func(work func(rng *rand.Rand) error) {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(8, 5))
			for ctx.Err() == nil {
				if err := work(rng); err != nil {
					t.Error(err)
					cancel()
					return
				}
				reads.Add(1)
			}
		})
	}
	for _, a := range []*archive.Archive{w, r} {
		blocks, err := a.Table("blocks")
		if err != nil {
			t.Fatal(err)
		}
		hash, err := blocks.Column("hash")
		if err != nil {
			t.Fatal(err)
		}
		rows := tables[0].rows
		start(func(rng *rand.Rand) error {
			i := rng.IntN(len(rows))
			row, err := blocks.Row(nil, 100+uint64(i))
			if err == nil && !equal(row, rows[i]) {
				err = fmt.Errorf("row %d is %q", i, row)
			}
			return err
		})
		start(func(rng *rand.Rand) error {
			i := rng.IntN(len(rows))
			v, err := hash.Value(nil, 100+uint64(i))
			if err == nil && string(v) != string(rows[i][1]) {
				err = fmt.Errorf("hash %d is %x", i, v)
			}
			return err
		})
		start(func(rng *rand.Rand) error { return compareRows(a, tables, false) })
		start(func(rng *rand.Rand) error {
			reader, release, err := a.OpenSegment("blocks", rng.IntN(2))
			if err != nil {
				return err
			}
			defer release()
			n := reader.FirstRow() + rng.Uint64N(reader.EndRow()-reader.FirstRow())
			row, err := reader.Row(nil, n)
			if err == nil && !equal(row, rows[n-100]) {
				err = fmt.Errorf("row %d is %q", n, row)
			}
			return err
		})
		wg.Go(func() {
			for ctx.Err() == nil {
				for f, err := range a.Verify(ctx, archive.VerifyOptions{Depth: segment.Content}) {
					if err != nil && !errors.Is(err, context.Canceled) || f.Err != nil {
						t.Errorf("verify: %v, %v", &f, err)
					}
				}
				if _, err := a.Stats(ctx); err != nil && !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			}
		})
	}
	wg.Go(func() {
		for ctx.Err() == nil {
			if err := r.Refresh(); err != nil {
				t.Error(err)
			}
		}
	})
	for i := range 12 {
		o := under(t, []string{zstdPolicy, s2Policy, rawPolicy}[i%3])
		if _, err := w.Recompress(ctx, o, nil); err != nil {
			t.Error(err)
			break
		}
	}
	cancel()
	wg.Wait()
	t.Logf("%d reads", reads.Load())
	for _, a := range []*archive.Archive{r, w} {
		if c := a.Metrics().Gauges; c.OpenFiles > 2 {
			t.Errorf("%d files open", c.OpenFiles)
		}
		wantRows(t, a, tables)
	}
	wantTidy(t, fs, w)
	mustClose(t, r)
	mustClose(t, w)
	if _, err := w.Table("blocks"); err != nil {
		t.Fatal(err)
	}
	if err := compareRows(w, tables, false); !errors.Is(err, archive.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// Close while others read: they get their rows or ErrClosed, and no file stays open.
func TestCloseUnderReaders(t *testing.T) {
	fs := &countingFS{FS: vfs.NewMem()}
	tables := small(t, fs, s2Policy)
	for range 20 {
		a := mustOpen(t, fs, "/chain", archive.Options{OpenFiles: 1})
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for {
					err := compareRows(a, tables, false)
					if errors.Is(err, archive.ErrClosed) {
						return
					}
					if err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		mustClose(t, a)
		wg.Wait()
		if err := a.Close(); !errors.Is(err, archive.ErrClosed) {
			t.Errorf("Close twice: %v", err)
		}
	}
	if n := fs.open.Load(); n != 0 {
		t.Fatalf("%d files are open", n)
	}
}

// countingFS counts open files.
type countingFS struct {
	vfs.FS
	open, most atomic.Int64
}

type countingFile struct {
	vfs.File
	fs *countingFS
}

func (f *countingFS) Open(name string, o ...vfs.OpenOption) (vfs.File, error) {
	file, err := f.FS.Open(name, o...)
	if err != nil {
		return nil, err
	}
	n := f.open.Add(1)
	for most := f.most.Load(); n > most && !f.most.CompareAndSwap(most, n); most = f.most.Load() {
	}
	return countingFile{file, f}, nil
}

func (f countingFile) Close() error {
	f.fs.open.Add(-1)
	return f.File.Close()
}

// The number of open files is bounded, those used last stay, and many cycles of
// opening, recompressing and closing leave none.
func TestOpenFiles(t *testing.T) {
	fs := &countingFS{FS: vfs.NewMem()}
	tables := testTables(t, 200, s2Policy)
	mustBuild(t, fs, "/chain", archive.CreateOptions{SegmentBytes: 2 << 10, Workers: 1, Policy: policy(t, s2Policy)}, tables)
	a := mustOpen(t, fs, "/chain", archive.Options{OpenFiles: 3, CacheBytes: -1})
	if n := len(segments(t, a)); n < 12 {
		t.Fatalf("%d segments", n)
	}
	fs.most.Store(0)
	wantRows(t, a, tables)
	if n := fs.most.Load(); n > 4 { // three, and the one in use
		t.Errorf("%d files were open at once", n)
	}
	blocks, _ := a.Table("blocks")
	opened := a.Metrics().Counters.FilesOpened
	for range 10 {
		if _, err := blocks.Row(nil, 100); err != nil {
			t.Fatal(err)
		}
	}
	if n := a.Metrics().Counters.FilesOpened - opened; n != 1 {
		t.Errorf("one file was opened %d times", n)
	}
	for i := range 8 {
		mustRecompress(t, a, under(t, []string{zstdPolicy, s2Policy}[i%2]))
	}
	if n := fs.open.Load(); n > 3 {
		t.Errorf("%d files are open", n)
	}
	mustClose(t, a)
	if n := fs.open.Load(); n != 0 {
		t.Fatalf("%d files are open", n)
	}
}

// On a system that removes no open file everything works as well; what could not
// be removed at once goes when the archive is closed.
func TestSystemThatRemovesNoOpenFile(t *testing.T) {
	fs := vfs.NewMem()
	fs.UseWindowsSemantics(true)
	tables := small(t, fs, dictPolicy)
	a := mustOpen(t, fs, "/chain", archive.Options{})
	wantRows(t, a, tables)
	_, release, err := a.OpenSegment("blocks", 0)
	if err != nil {
		t.Fatal(err)
	}
	outside, err := fs.Open(a.Path(segments(t, a)[1]))
	if err != nil {
		t.Fatal(err)
	}
	mustRecompress(t, a, under(t, zstdPolicy))
	wantRows(t, a, tables)
	release()
	mustClose(t, outside)
	mustClose(t, a)
	a = mustOpen(t, fs, "/chain", archive.Options{})
	defer mustClose(t, a)
	wantTidy(t, fs, a)
	if _, err := archive.RecompressFile(context.Background(), fs, a.Path(segments(t, a)[0]), "/out.seg", under(t, s2Policy), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := archive.RecompressFile(context.Background(), fs, "/out.seg", "", under(t, rawPolicy), nil); err != nil {
		t.Fatal(err)
	}
}

// Row and Value allocate nothing once there is room.
func TestRowAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes pools forget")
	}
	fs := vfs.NewMem()
	small(t, fs, zstdPolicy)
	for name, cache := range map[string]int64{"cached": 1 << 20, "decoded": -1} {
		a := mustOpen(t, fs, "/chain", archive.Options{CacheBytes: cache})
		blocks, _ := a.Table("blocks")
		body, _ := blocks.Column("body")
		row, err := blocks.Row(nil, 150)
		if err != nil {
			t.Fatal(err)
		}
		var value []byte
		if n := testing.AllocsPerRun(100, func() {
			row, _ = blocks.Row(row, 150)
			value, _ = body.Value(value[:0], 150)
		}); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
		mustClose(t, a)
	}
}
