package archive_test

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/segment/archive"
	"github.com/segstore/segstore/segment/archive/journal"
)

// fileBytes returns the sum of the sizes of the files below /chain whose names have an
// end or a beginning.
func fileBytes(t *testing.T, fs vfs.FS, match string) (sum int64) {
	t.Helper()
	for _, name := range tree(t, fs, "/chain") {
		base := fs.PathBase(name)
		if strings.HasSuffix(base, match) || strings.HasPrefix(base, match) {
			sum += int64(len(readFile(t, fs, name)))
		}
	}
	return sum
}

// logHead returns the bytes of a log before its records.
func logHead(t *testing.T, fs vfs.FS, name string) int64 {
	t.Helper()
	f, err := fs.Open("/chain/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	_, begin, err := journal.ReadHead(f, st.Size())
	if err != nil {
		t.Fatal(err)
	}
	return begin
}

// endRecord is the bytes of the record that ends a log: head and checksum.
const endRecord = 32 + 8

// changed returns the counters that differ, as name=change; those of times as name alone.
func changed(before, now archive.Counters) string {
	var text []string
	x, y := reflect.ValueOf(before), reflect.ValueOf(now)
	for i := range x.NumField() {
		d := y.Field(i).Uint() - x.Field(i).Uint()
		switch name := x.Type().Field(i).Name; {
		case d == 0:
		case strings.HasSuffix(name, "NS"):
			text = append(text, name)
		default:
			text = append(text, fmt.Sprintf("%s=%d", name, d))
		}
	}
	return strings.Join(text, " ")
}

// What is counted is what a script did, by hand: a block has 50 bytes of values, a note
// 5. Bytes of files are those that the file system has.
func TestMetrics(t *testing.T) {
	fs, ctx := vfs.NewMem(), context.Background()
	a := openObserved(t, fs, nil, -1)
	var last archive.Counters
	step := func(what, want string) {
		t.Helper()
		now := a.Metrics().Counters
		if got := changed(last, now); got != want {
			t.Errorf("%s:\n got  %s\n want %s", what, got, want)
		}
		last = now
	}
	gauges := func(what string, want archive.Gauges) {
		t.Helper()
		if got := a.Metrics().Gauges; !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n got  %+v\n want %+v", what, got, want)
		}
	}
	blocks, notes := archive.TableGauges{Table: "blocks"}, archive.TableGauges{Table: "notes"}
	gauges("open", archive.Gauges{Tables: []archive.TableGauges{blocks, notes}})
	step("open", "")

	for range 4 {
		commitObserved(t, observedBatch(t, a, 3, 2))
	}
	size := fileBytes(t, fs, "log-")
	records := size - logHead(t, fs, "log-000001")
	step("4 commits", fmt.Sprintf("Commits=4 CommittedRows=20 CommittedRawBytes=640 CommittedLogBytes=%d CommitNS Syncs=4 SyncedBytes=%d SyncNS", records, records))
	blocks.Rows, blocks.RawBytes, blocks.LogRows, blocks.LogRawBytes = 12, 600, 12, 600
	notes.Rows, notes.RawBytes, notes.LogRows, notes.LogRawBytes = 8, 40, 8, 40
	gauges("4 commits", archive.Gauges{Tables: []archive.TableGauges{blocks, notes}, LogFiles: 1, LogBytes: size})

	if _, err := observedBatch(t, a, 0, 2).CommitNoSync(ctx); err != nil {
		t.Fatal(err)
	}
	more := fileBytes(t, fs, "log-") - size
	step("commit without sync", fmt.Sprintf("Commits=1 CommittedRows=2 CommittedRawBytes=10 CommittedLogBytes=%d CommitNS", more))
	for range 2 {
		if err := a.Sync(ctx); err != nil {
			t.Fatal(err)
		}
	}
	step("sync twice", fmt.Sprintf("Syncs=1 SyncedBytes=%d SyncNS", more))

	v, err := a.View()
	if err != nil {
		t.Fatal(err)
	}
	size += more + endRecord
	if err := a.Seal(ctx); err != nil {
		t.Fatal(err)
	}
	all := segments(t, a)
	stored := fileBytes(t, fs, ".seg")
	step("seal", fmt.Sprintf("Syncs=1 SyncedBytes=%d SyncNS Seals=1 SealedSegments=2 SealedRows=22 SealedRawBytes=650 SealedStoredBytes=%d SealNS", endRecord, stored))
	blocks = archive.TableGauges{Table: "blocks", Segments: 1, Rows: 12, RawBytes: 600, StoredBytes: all[0].StoredBytes}
	notes = archive.TableGauges{Table: "notes", Segments: 1, Rows: 10, RawBytes: 50, StoredBytes: all[1].StoredBytes}
	gauges("seal", archive.Gauges{Tables: []archive.TableGauges{blocks, notes}, Views: 1, Waiting: 1})
	v.Close()
	step("close of the view", fmt.Sprintf("FilesRemoved=1 RemovedBytes=%d", size))

	tab, err := a.Table("blocks")
	if err != nil {
		t.Fatal(err)
	}
	for n := range uint64(5) {
		if _, err := tab.Row(nil, n); err != nil {
			t.Fatal(err)
		}
	}
	step("5 rows of a chunk", "FilesOpened=1 CacheHits=4 CacheMisses=1")
	if g := a.Metrics().Gauges; g.OpenFiles != 1 || g.CacheChunks != 1 || g.CacheBytes < 600 || g.Views != 0 || g.Waiting != 0 {
		t.Errorf("%+v", g)
	}

	mustRecompress(t, a, under(t, rawPolicy))
	now := fileBytes(t, fs, ".seg")
	step("recompress", fmt.Sprintf("RecompressedSegments=2 RecompressedBefore=%d RecompressedAfter=%d RecompressNS FilesOpened=1 FilesRemoved=2 RemovedBytes=%d", stored, now, stored))

	commitObserved(t, observedBatch(t, a, 2, 0))
	rows := fileBytes(t, fs, "log-") - logHead(t, fs, "log-000002")
	step("a commit behind segments", fmt.Sprintf("Commits=1 CommittedRows=2 CommittedRawBytes=100 CommittedLogBytes=%d CommitNS Syncs=1 SyncedBytes=%d SyncNS", rows, rows))
	if err := a.Rewind(ctx, archive.Position{"blocks": 13}); err != nil {
		t.Fatal(err)
	}
	rewind := fileBytes(t, fs, "log-") - logHead(t, fs, "log-000002") - rows
	step("rewind in a log", fmt.Sprintf("Syncs=1 SyncedBytes=%d SyncNS Rewinds=1 RewoundRows=1", rewind))
	old := segments(t, a)
	if err := a.Rewind(ctx, archive.Position{"blocks": 9, "notes": 17}); err != nil {
		t.Fatal(err)
	}
	step("rewind into a segment", fmt.Sprintf("Rewinds=1 RewoundRows=4 FilesOpened=1 FilesRemoved=1 RemovedBytes=%d", old[0].StoredBytes))
	if _, err := a.Prune(ctx, "notes", 17, false); err != nil {
		t.Fatal(err)
	}
	step("prune", fmt.Sprintf("Prunes=1 PrunedSegments=1 PrunedRows=10 PrunedStoredBytes=%d FilesRemoved=1 RemovedBytes=%d", old[1].StoredBytes, old[1].StoredBytes))
	if err := a.CreateIndex(ctx, archive.IndexSpec{Name: "number", Table: "blocks", Key: key(t, "number")}, nil); err != nil {
		t.Fatal(err)
	}
	if c := a.Metrics().Counters; c.IndexBuilds != 1 || c.IndexBuildNS == 0 || c.IndexesDropped != 0 {
		t.Errorf("%+v", c)
	}
	mustClose(t, a)
	if m := a.Metrics(); m.Gauges.OpenFiles != 0 || m.Counters.Commits != 6 {
		t.Errorf("after Close: %+v", m)
	}

	r := mustOpen(t, fs, "/chain", archive.Options{ReadOnly: true})
	defer mustClose(t, r)
	if m := r.Metrics(); m.Gauges.LogBytes != fileBytes(t, fs, "log-") || m.Gauges.Tables[0].Rows != 9 || m.Counters.Commits != 0 {
		t.Errorf("read-only: %+v", m)
	}
}

// Metrics may be asked for while everything goes on. No counter goes down, and at the
// end they say what listeners were told.
func TestMetricsAtOnce(t *testing.T) {
	var commits, rows, sealed, removed, opened atomic.Uint64
	fs, ctx := vfs.NewMem(), context.Background()
	mustBuild(t, fs, "/chain", archive.CreateOptions{}, liveTables(t, s2Policy))
	a := mustOpen(t, fs, "/chain", archive.Options{SealBytes: 2000, KeepCommits: -1, OpenFiles: 1, Workers: 1, EventListener: &archive.EventListener{
		Commit:      func(i archive.CommitInfo) { commits.Add(1); rows.Add(i.Rows) },
		SealEnd:     func(i archive.SealInfo) { sealed.Add(uint64(len(i.Segments))) },
		FileRemoved: func(archive.FileRemovedInfo) { removed.Add(1) },
	}})
	done, cancel := context.WithCancel(ctx)
	var readers, writers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			var last archive.Counters
			for done.Err() == nil {
				now := a.Metrics().Counters
				x, y := reflect.ValueOf(last), reflect.ValueOf(now)
				for i := range x.NumField() {
					if y.Field(i).Uint() < x.Field(i).Uint() {
						t.Errorf("%s went from %d to %d", x.Type().Field(i).Name, x.Field(i).Uint(), y.Field(i).Uint())
					}
				}
				last = now
			}
		})
	}
	for range 3 {
		writers.Go(func() {
			for range 40 {
				b := a.Batch()
				for n := range uint64(3) {
					if err := b.Append("blocks", observedBlock(n)); err != nil {
						t.Error(err)
					}
				}
				if _, err := b.Commit(ctx); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Go(func() {
		tab, err := a.Table("blocks")
		if err != nil {
			t.Error(err)
			return
		}
		for range 20 {
			for range tab.Rows(0) {
				opened.Add(1)
			}
		}
	})
	writers.Go(func() {
		for i := range 5 {
			if _, err := a.Recompress(ctx, under(t, []string{rawPolicy, zstdPolicy}[i%2]), nil); err != nil {
				t.Error(err)
			}
		}
	})
	writers.Wait()
	if err := a.Seal(ctx); err != nil {
		t.Error(err)
	}
	cancel()
	readers.Wait()
	mustClose(t, a)
	c := a.Metrics().Counters
	if c.Commits != 120 || commits.Load() != 120 || c.CommittedRows != 360 || rows.Load() != 360 {
		t.Errorf("%d commits of %d rows, told %d of %d", c.Commits, c.CommittedRows, commits.Load(), rows.Load())
	}
	if c.SealedRows != 360 || c.SealedRawBytes != 18000 || c.SealedSegments != sealed.Load() || c.FilesRemoved != removed.Load() {
		t.Errorf("%+v, told %d segments, %d removed", c, sealed.Load(), removed.Load())
	}
}

// Counting a commit allocates nothing where nobody listens.
func TestNoListenerNoAllocation(t *testing.T) {
	fs := vfs.NewMem()
	a := openObserved(t, fs, nil, -1)
	defer mustClose(t, a)
	if n := testing.AllocsPerRun(100, archive.CountCommit(a)); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if c := a.Metrics().Counters; c.Commits != 101 || c.CommittedRows != 303 || c.CommittedRawBytes != 909 {
		t.Errorf("%+v", c)
	}
}

// BenchmarkListener commits a block and two notes, on a memory disk, without a listener and
// with one of everything.
func BenchmarkListener(b *testing.B) {
	ctx := context.Background()
	for name, l := range map[string]*archive.EventListener{
		"nobody": nil,
		"listener": {
			Commit: func(archive.CommitInfo) {},
			Sync:   func(archive.SyncInfo) {},
		},
	} {
		b.Run(name, func(b *testing.B) {
			fs := vfs.NewMem()
			mustBuild(b, fs, "/chain", archive.CreateOptions{}, liveTables(b, s2Policy))
			a := mustOpen(b, fs, "/chain", archive.Options{SealBytes: -1, Workers: 1, EventListener: l})
			defer mustClose(b, a)
			block, notes := observedBlock(1), []segment.Row{observedNote(1), observedNote(2)}
			b.ReportAllocs()
			for b.Loop() {
				batch := a.Batch()
				if err := batch.Append("blocks", block); err != nil {
					b.Fatal(err)
				}
				if err := batch.Append("notes", notes...); err != nil {
					b.Fatal(err)
				}
				if _, err := batch.Commit(ctx); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
