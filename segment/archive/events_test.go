package archive_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/segment/archive"
)

// eventLog keeps each event as a line, and asks the archive for its metrics in each, as
// a listener may.
type eventLog struct {
	mu    sync.Mutex
	lines []string
	a     *archive.Archive
	files map[string]int64 // that were removed, with their bytes
}

func (l *eventLog) add(took time.Duration, err error, format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.a != nil {
		l.a.Metrics()
	}
	line := fmt.Sprintf(format, args...)
	if took < 0 || took > time.Hour {
		line += " took " + took.String()
	}
	if err != nil {
		line += ": " + err.Error()
	}
	l.lines = append(l.lines, line)
}

// take returns the lines since the last one.
func (l *eventLog) take() (lines []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines, l.lines = l.lines, nil
	return lines
}

func (l *eventLog) listener() *archive.EventListener {
	l.files = map[string]int64{}
	return &archive.EventListener{
		Commit: func(i archive.CommitInfo) {
			text := ""
			for _, t := range i.Tables {
				text += fmt.Sprintf(" %s %d+%d (%d)", t.Table, t.FirstRow, t.Rows, t.RawBytes)
			}
			l.add(i.Duration, i.Err, "commit%s = %d (%d) synced %t", text, i.Rows, i.RawBytes, i.Synced)
		},
		Sync:      func(i archive.SyncInfo) { l.add(i.Duration, i.Err, "sync %s", i.File) },
		SealBegin: func(i archive.SealInfo) { l.add(i.Duration, i.Err, "seal of %d (%d)", i.Rows, i.RawBytes) },
		SealEnd: func(i archive.SealInfo) {
			l.add(i.Duration, i.Err, "sealed %d (%d) %d segments", i.Rows, i.RawBytes, len(i.Segments))
		},
		Recompress: func(i archive.RecompressInfo) {
			l.add(i.Duration, i.Err, "recompress %s %d+%d to %d", i.Before.Table, i.Before.FirstRow, i.Before.Rows, i.After.Rows)
		},
		Rewind: func(i archive.RewindInfo) { l.add(i.Duration, i.Err, "rewind %v = %d", i.Tables, i.Rows) },
		Prune: func(i archive.PruneInfo) {
			l.add(i.Duration, i.Err, "prune %s to %d, %d rows, %d segments", i.Table, i.FirstRow, i.Rows, i.Segments)
		},
		IndexBuildBegin: func(i archive.IndexBuildInfo) {
			l.add(i.Duration, i.Err, "build %s of %s, %d rows", i.Index, i.Table, i.Rows)
		},
		IndexBuildEnd: func(i archive.IndexBuildInfo) {
			l.add(i.Duration, i.Err, "built %s of %s, %d rows", i.Index, i.Table, i.Rows)
		},
		IndexDropped: func(i archive.IndexDroppedInfo) {
			l.add(0, nil, "dropped %s of %s, why: %t", i.Index, i.Table, i.Err != nil)
		},
		FileRemoved: func(i archive.FileRemovedInfo) {
			name, _, _ := strings.Cut(i.File, "/")
			l.add(0, i.Err, "removed %s", name)
			l.files[i.File] = i.Bytes
		},
		Corruption: func(i archive.CorruptionInfo) {
			var ce *segment.CorruptionError
			l.add(0, nil, "corruption of %q, placed %t", i.Table, errors.As(i.Err, &ce))
		},
		BackgroundError: func(i archive.BackgroundErrorInfo) { l.add(0, nil, "background %s, why: %t", i.Work, i.Err != nil) },
	}
}

func (l *eventLog) want(t *testing.T, what string, want ...string) {
	t.Helper()
	if got := l.take(); !slices.Equal(got, want) {
		t.Errorf("%s:\n got  %s\n want %s", what, strings.Join(got, "\n      "), strings.Join(want, "\n      "))
	}
}

// observedBlock is a row of 50 bytes: 8 of the number, 32 of the hash, 10 of the body.
func observedBlock(n uint64) segment.Row {
	hash := make([]byte, 32)
	copy(hash, fmt.Sprintf("hash %d", n))
	return segment.Row{segment.AppendUint(nil, n), hash, fmt.Appendf(nil, "body %05d", n)}
}

// observedNote is a row of 5 bytes.
func observedNote(n uint64) segment.Row { return segment.Row{fmt.Appendf(nil, "n%04d", n)} }

// observedBatch holds blocks and notes.
func observedBatch(t testing.TB, a *archive.Archive, blocks, notes int) *archive.Batch {
	t.Helper()
	b := a.Batch()
	for n := range blocks {
		if err := b.Append("blocks", observedBlock(uint64(n))); err != nil {
			t.Fatal(err)
		}
	}
	for n := range notes {
		if err := b.Append("notes", observedNote(uint64(n))); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

func commitObserved(t testing.TB, b *archive.Batch) {
	t.Helper()
	if _, err := b.Commit(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// openObserved opens an archive with the tables blocks, from row 0, and notes, from 7.
func openObserved(t testing.TB, fs vfs.FS, l *eventLog, sealBytes int64) *archive.Archive {
	t.Helper()
	mustBuild(t, fs, "/chain", archive.CreateOptions{}, liveTables(t, s2Policy))
	o := archive.Options{SealBytes: sealBytes, KeepCommits: -1, Workers: 1}
	if l != nil {
		o.EventListener = l.listener()
	}
	a := mustOpen(t, fs, "/chain", o)
	if l != nil {
		l.mu.Lock()
		l.a = a
		l.mu.Unlock()
	}
	return a
}

// What is done is told, in its order, with its rows and bytes.
func TestEvents(t *testing.T) {
	var l eventLog
	fs, ctx := vfs.NewMem(), context.Background()
	a := openObserved(t, fs, &l, -1)
	l.want(t, "open")
	if err := a.CreateIndex(ctx, archive.IndexSpec{Name: "hash", Table: "blocks", Key: key(t, "hash")}, nil); err != nil {
		t.Fatal(err)
	}
	l.want(t, "index", "build hash of blocks, 0 rows", "built hash of blocks, 0 rows")
	commitObserved(t, observedBatch(t, a, 3, 2))
	l.want(t, "commit", "sync log-000001", "commit blocks 0+3 (150) notes 7+2 (10) = 5 (160) synced true")
	commitObserved(t, a.Batch())
	l.want(t, "empty commit")
	if _, err := observedBatch(t, a, 0, 1).CommitNoSync(ctx); err != nil {
		t.Fatal(err)
	}
	l.want(t, "commit without sync", "commit notes 9+1 (5) = 1 (5) synced false")
	for range 2 {
		if err := a.Sync(ctx); err != nil {
			t.Fatal(err)
		}
	}
	l.want(t, "sync", "sync log-000001")
	if err := a.Rewind(ctx, archive.Position{"blocks": 2, "notes": 10}); err != nil {
		t.Fatal(err)
	}
	l.want(t, "rewind", "sync log-000001", "rewind [{blocks 2 1}] = 1")
	if err := a.Rewind(ctx, archive.Position{"blocks": 3}); !errors.Is(err, segment.ErrRange) {
		t.Fatal(err)
	}
	l.want(t, "refused rewind")
	if err := a.Seal(ctx); err != nil {
		t.Fatal(err)
	}
	l.want(t, "seal", "sync log-000001", "seal of 5 (115)", "sealed 5 (115) 2 segments", "removed log-000001")
	if err := a.Seal(ctx); err != nil {
		t.Fatal(err)
	}
	l.want(t, "seal of nothing")
	mustRecompress(t, a, under(t, zstdPolicy))
	l.want(t, "recompress", "removed blocks", "removed notes", "recompress blocks 0+2 to 2", "recompress notes 7+3 to 3")
	mustRecompress(t, a, under(t, zstdPolicy))
	l.want(t, "recompress what has the policy")
	if err := a.Rewind(ctx, archive.Position{"blocks": 1}); err != nil {
		t.Fatal(err)
	}
	l.want(t, "rewind into a segment", "removed blocks", "rewind [{blocks 1 1}] = 1")
	for _, dry := range []bool{true, false} {
		if _, err := a.Prune(ctx, "notes", 10, dry); err != nil {
			t.Fatal(err)
		}
	}
	l.want(t, "prune", "removed notes", "prune notes to 10, 3 rows, 1 segments")
	mustClose(t, a)
	l.want(t, "close")

	writeFile(t, fs, "/chain/blocks/0000000001.7.tmp", []byte("left"))
	if err := fs.RemoveAll("/chain/index/live"); err != nil {
		t.Fatal(err)
	}
	l.a = nil
	a = mustOpen(t, fs, "/chain", archive.Options{EventListener: l.listener()})
	l.want(t, "open again", "removed blocks", "dropped hash of blocks, why: true")
	mustClose(t, a)
}

// A write or sync that fails is told with its error, and so is each call after which
// nobody knows what is durable.
func TestEventsOfFailures(t *testing.T) {
	var l eventLog
	full := false
	mem := vfs.NewMem()
	fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if full && (op.Kind == errorfs.OpFileSyncData || op.Kind == errorfs.OpFileSync) {
			return errNoSpace
		}
		return nil
	}))
	a := openObserved(t, fs, &l, -1)
	commitObserved(t, observedBatch(t, a, 1, 0))
	before := a.Metrics()
	l.take()
	full = true
	if _, err := observedBatch(t, a, 2, 0).Commit(context.Background()); err == nil {
		t.Fatal("no error")
	}
	got := l.take()
	if len(got) != 2 || !strings.HasPrefix(got[0], "sync log-000001: ") || !strings.HasPrefix(got[1], "commit blocks 1+2 (100) = 2 (100) synced true: ") {
		t.Errorf("%q", got)
	}
	now := a.Metrics()
	if before.Gauges.Failed != 0 || now.Gauges.Failed != 1 || now.Counters.Commits != 1 || now.Counters.Syncs != before.Counters.Syncs {
		t.Errorf("%+v", now)
	}
	if _, err := observedBatch(t, a, 2, 0).Commit(context.Background()); err == nil { // refused
		t.Fatal("no error")
	}
	l.want(t, "refused commit")
	full = false
	mustClose(t, a)
}

// A seal by itself that fails is told as such.
func TestEventsOfTheBackground(t *testing.T) {
	var l eventLog
	fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpCreate && strings.Contains(op.Path, "notes/") {
			return errNoSpace
		}
		return nil
	}))
	a := openObserved(t, fs, &l, 100)
	commitObserved(t, observedBatch(t, a, 1, 10))
	for wait := 0; a.Metrics().Counters.BackgroundErrors == 0 && wait < 2000; wait++ {
		time.Sleep(5 * time.Millisecond)
	}
	mustClose(t, a)
	got := l.take()
	if len(got) != 6 || got[3] != "seal of 11 (100)" || !strings.HasPrefix(got[4], "sealed 11 (100) 0 segments: ") || got[5] != "background seal, why: true" {
		t.Errorf("%q", got)
	}
	if m := a.Metrics(); m.Counters.BackgroundErrors != 1 || m.Counters.Seals != 0 || m.SealError == "" {
		t.Errorf("%+v", m)
	}
}

// Damage is told by each way on which it is met, and counted.
func TestEventsOfDamage(t *testing.T) {
	var l eventLog
	fs, ctx := vfs.NewMem(), context.Background()
	a := openObserved(t, fs, &l, -1)
	commitObserved(t, observedBatch(t, a, 3, 0))
	if err := a.Seal(ctx); err != nil {
		t.Fatal(err)
	}
	commitObserved(t, observedBatch(t, a, 0, 3))
	file := "/chain/" + segments(t, a)[0].File
	mustClose(t, a)
	b := readFile(t, fs, file)
	at := bytes.Index(b, []byte("body 00001")) // three rows: stored raw
	if at < 0 {
		t.Fatal("the rows are compressed")
	}
	b[at] ^= 1
	writeFile(t, fs, file, b)

	l.a = nil
	a = mustOpen(t, fs, "/chain", archive.Options{EventListener: l.listener(), Workers: 1})
	l.take()
	blocks, err := a.Table("blocks")
	if err != nil {
		t.Fatal(err)
	}
	body, err := blocks.Column("body")
	if err != nil {
		t.Fatal(err)
	}
	corruption := `corruption of "blocks", placed true`
	if _, err := blocks.Row(nil, 1); !errors.Is(err, segment.ErrCorrupt) {
		t.Fatal(err)
	}
	l.want(t, "row", corruption)
	if _, err := body.Value(nil, 1); !errors.Is(err, segment.ErrCorrupt) {
		t.Fatal(err)
	}
	l.want(t, "value", corruption)
	for _, err := range blocks.Rows(0) {
		if !errors.Is(err, segment.ErrCorrupt) {
			t.Fatal(err)
		}
	}
	l.want(t, "scan", corruption)
	if n := len(flaws(t, a, segment.Checksums)); n != 1 {
		t.Fatalf("%d flaws", n)
	}
	l.want(t, "verify", corruption)
	if _, err := a.Recompress(ctx, under(t, zstdPolicy), nil); !errors.Is(err, segment.ErrCorrupt) {
		t.Fatal(err)
	}
	if got := l.take(); len(got) != 2 || !strings.HasPrefix(got[0], "recompress blocks 0+3 to 0: ") || got[1] != corruption {
		t.Errorf("recompress: %q", got)
	}
	if _, err := blocks.Row(nil, 77); !errors.Is(err, segment.ErrRange) {
		t.Fatal(err)
	}
	l.want(t, "a row that is not there")
	if n := a.Metrics().Counters.Corruptions; n != 5 {
		t.Errorf("%d corruptions", n)
	}
	mustClose(t, a)

	b = readFile(t, fs, "/chain/log-000002")
	b[len(b)-60] ^= 1 // of the commit, before the record that marks the end
	writeFile(t, fs, "/chain/log-000002", b)
	if _, err := archive.Open(fs, "/chain", archive.Options{EventListener: l.listener()}); !errors.Is(err, segment.ErrCorrupt) {
		t.Fatal(err)
	}
	l.want(t, "a damaged log", `corruption of "", placed false`)
}
