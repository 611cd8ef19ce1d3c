package archive_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/segstore/segstore/codec"
	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/segment/archive"
)

// small is an archive of three segments of blocks and two of notes, or about that.
func small(t testing.TB, fs vfs.FS, text string) []testTable {
	t.Helper()
	tables := testTables(t, 300, text)
	mustBuild(t, fs, "/chain", archive.CreateOptions{SegmentBytes: 20 << 10, Workers: 1, Policy: policy(t, s2Policy)}, tables)
	return tables
}

func TestRecompress(t *testing.T) {
	for name, o := range map[string]archive.RecompressOptions{
		"zstd":       under(t, zstdPolicy),
		"dictionary": under(t, dictPolicy),
		"streams":    under(t, largePolicy),
		"level":      {RecompressOptions: segment.RecompressOptions{Level: new(int)}},
		"workers":    {RecompressOptions: segment.RecompressOptions{Policy: policy(t, largePolicy), Workers: 3}},
	} {
		t.Run(name, func(t *testing.T) {
			fs := vfs.NewMem()
			tables := small(t, fs, "chunk 1024\n* group=column codec=zstd:19\n")
			a := mustOpen(t, fs, "/chain", archive.Options{})
			defer func() { mustClose(t, a) }()
			before, was := segments(t, a), roots(t, a)
			var last archive.Progress
			rep, err := a.Recompress(context.Background(), o, func(p archive.Progress) { last = p })
			if err != nil {
				t.Fatal(err)
			}
			now := segments(t, a)
			if !slices.Equal(roots(t, a), was) {
				t.Fatal("content roots changed")
			}
			for i, s := range now {
				r := rep.Segments[i]
				if r.Skipped {
					continue
				}
				if r.File != s.File || r.Replaced != before[i].File || r.Before.Checksum != before[i].Checksum || r.After.Checksum != s.Checksum || r.ContentRoot != s.ContentRoot {
					t.Fatalf("report %+v of %+v, which was %+v", r, s, before[i])
				}
				if want := []archive.Replaced{{Checksum: before[i].Checksum, StoredBytes: before[i].StoredBytes}}; !slices.Equal(s.Replaced, want) {
					t.Fatalf("replaced %+v, want %+v", s.Replaced, want)
				}
			}
			info := a.Info()
			if rep.Total.StoredAfter != info.StoredBytes || rep.Total.RawBytes != info.RawBytes || rep.Total.Rows != info.Rows || rep.Total.Segments != info.Segments {
				t.Fatalf("totals %+v of %+v", rep.Total, info)
			}
			if last.RawBytes != last.TotalRawBytes || last.Segment != last.Segments-1 {
				t.Fatalf("last progress %+v", last)
			}
			for range 2 { // also after opening it again
				wantRows(t, a, tables)
				wantWhole(t, a)
				wantTidy(t, fs, a)
				mustClose(t, a)
				a = mustOpen(t, fs, "/chain", archive.Options{})
			}
			if again := mustRecompress(t, a, o); again.Total.Skipped != again.Total.Segments || again.Total.StoredAfter != again.Total.StoredBefore {
				t.Fatalf("the second time %+v", again.Total)
			}
		})
	}
}

// The sums of a report are those of its segments, and its columns add up.
func TestReportAddsUp(t *testing.T) {
	fs := vfs.NewMem()
	small(t, fs, dictPolicy)
	a := mustOpen(t, fs, "/chain", archive.Options{})
	defer mustClose(t, a)
	o := under(t, zstdPolicy)
	o.Runs = 3
	rep := mustRecompress(t, a, o)
	if rep.Runs != 3 || rep.Encoder != codec.EncoderVersion() || rep.WallNS <= 0 {
		t.Fatalf("report %+v", rep)
	}
	var sum archive.Totals
	for _, tab := range rep.Tables {
		var stored uint64
		for _, c := range tab.Columns {
			stored += c.StoredAfter
			if s := c.Encode; s.Min > s.Median || s.Median > s.Max || s.Mean < s.Min || s.Mean > s.Max {
				t.Fatalf("spread %+v", s)
			}
		}
		if got := int64(stored) + tab.DictAfter + tab.OtherAfter; got != tab.StoredAfter {
			t.Errorf("table %s: columns, dictionaries and the rest are %d, stored %d", tab.Table, got, tab.StoredAfter)
		}
		sum.Segments += tab.Segments
		sum.StoredBefore += tab.StoredBefore
		sum.StoredAfter += tab.StoredAfter
		sum.Blocks += tab.Blocks
	}
	if len(rep.Tables) != 3 || sum.Segments != rep.Total.Segments || sum.StoredBefore != rep.Total.StoredBefore || sum.StoredAfter != rep.Total.StoredAfter || sum.Blocks != rep.Total.Blocks {
		t.Fatalf("tables make %+v, total is %+v", sum, rep.Total)
	}
	for _, s := range rep.Segments {
		if len(s.Runs) != 3 {
			t.Fatalf("%d runs", len(s.Runs))
		}
		if s.Runs[0].After.Checksum != s.After.Checksum {
			t.Fatal("runs differ")
		}
	}
	b, err := json.Marshal(rep)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{`"stored_bytes_after"`, `"content_root"`, `"encode_cpu_ns"`, `"codec_after"`, `"wall_ns"`, `"file"`} {
		if !strings.Contains(string(b), key) {
			t.Errorf("no %s in %s", key, b)
		}
	}
}

func TestRecompressSomeTables(t *testing.T) {
	fs := vfs.NewMem()
	tables := small(t, fs, s2Policy)
	a := mustOpen(t, fs, "/chain", archive.Options{})
	defer mustClose(t, a)
	blocks, _ := a.Segments("blocks")
	o := under(t, zstdPolicy)
	o.Tables = []string{"notes"}
	mustRecompress(t, a, o)
	after, _ := a.Segments("blocks")
	notes, _ := a.Segments("notes")
	if after[0].File != blocks[0].File || len(notes[0].Replaced) != 1 {
		t.Fatal("other tables than asked for")
	}
	wantRows(t, a, tables)
	o.Tables = []string{"nothing"}
	if _, err := a.Recompress(context.Background(), o, nil); !errors.Is(err, archive.ErrNoTable) {
		t.Fatalf("a table that is not there: %v", err)
	}
}

// Recompressing back and forth gives files the names they had; readers that hold
// one meanwhile keep it, and its removal never hits the new file.
func TestRecompressThereAndBack(t *testing.T) {
	fs := vfs.NewMem()
	tables := small(t, fs, s2Policy)
	a := mustOpen(t, fs, "/chain", archive.Options{})
	defer mustClose(t, a)
	before := segments(t, a)
	old, release, err := a.OpenSegment("blocks", 0)
	if err != nil {
		t.Fatal(err)
	}
	mustRecompress(t, a, under(t, zstdPolicy))
	if _, err := fs.Stat(a.Path(before[0])); err != nil {
		t.Fatalf("a file in use is gone: %v", err)
	}
	if _, err := fs.Stat(a.Path(before[1])); err == nil {
		t.Fatal("a file that nobody uses is still there")
	}
	mustRecompress(t, a, under(t, s2Policy))
	if segments(t, a)[0].File != before[0].File {
		t.Fatal("other bytes than at first")
	}
	if row, err := old.Row(nil, 100); err != nil || !equal(row, tables[0].rows[0]) {
		t.Fatalf("row of the replaced file: %q, %v", row, err)
	}
	release()
	release() // does nothing
	wantRows(t, a, tables)
	wantTidy(t, fs, a)

	for i := range 12 { // and remembers the last 8
		mustRecompress(t, a, under(t, "chunk "+[]string{"1024", "1025", "1026", "1027", "1028", "1029", "1030", "1031", "1032", "1033", "1034", "1035"}[i]+"\n* group=column codec=zstd:1\n"))
	}
	s := segments(t, a)[0]
	if len(s.Replaced) != archive.MaxReplaced {
		t.Fatalf("%d replaced checksums", len(s.Replaced))
	}
	mustRecompress(t, a, under(t, rawPolicy))
	now := segments(t, a)[0]
	if !slices.Equal(now.Replaced[:7], s.Replaced[1:]) || now.Replaced[7].Checksum != s.Checksum {
		t.Fatalf("replaced %v, before %v", now.Replaced, s.Replaced)
	}
}

func TestRecompressSameBytes(t *testing.T) {
	fs := vfs.NewMem()
	tables := small(t, fs, s2Policy)
	a := mustOpen(t, fs, "/chain", archive.Options{})
	defer mustClose(t, a)
	before := segments(t, a)
	o := under(t, s2Policy)
	o.Retrain = true // never settled
	rep := mustRecompress(t, a, o)
	if rep.Total.Skipped != rep.Total.Segments {
		t.Fatalf("%+v", rep.Total)
	}
	if now := segments(t, a); now[0].File != before[0].File || len(now[0].Replaced) != 0 {
		t.Fatalf("%+v, before %+v", now[0], before[0])
	}
	wantRows(t, a, tables)
	wantTidy(t, fs, a)
}

// A dry run writes nothing, and works on a file system that lets nobody write.
func TestDryRun(t *testing.T) {
	mem := vfs.NewMem()
	small(t, mem, s2Policy)
	fs := readOnly(t, mem)
	a := mustOpen(t, fs, "/chain", archive.Options{ReadOnly: true})
	defer mustClose(t, a)
	o := under(t, zstdPolicy)
	o.DryRun = true
	est := mustRecompress(t, a, o)
	fs.insist()
	w := mustOpen(t, mem, "/chain", archive.Options{})
	defer mustClose(t, w)
	o.DryRun = false
	rep := mustRecompress(t, w, o)
	if !est.Estimated || est.Total.StoredBefore != rep.Total.StoredBefore {
		t.Fatalf("estimate %+v, it became %+v", est.Total, rep.Total)
	}
	if off := float64(est.Total.StoredAfter)/float64(rep.Total.StoredAfter) - 1; off < -0.05 || off > 0.05 {
		t.Errorf("estimated %d bytes, it became %d", est.Total.StoredAfter, rep.Total.StoredAfter)
	}
	if _, err := a.RecompressTo(context.Background(), "/copy", archive.RecompressOptions{DryRun: true}, nil); err == nil {
		t.Error("a dry run into a directory")
	}
}

func TestRecompressTo(t *testing.T) {
	fs := vfs.NewMem()
	tables := small(t, fs, s2Policy)
	a := mustOpen(t, fs, "/chain", archive.Options{ReadOnly: true})
	defer mustClose(t, a)
	before := tree(t, fs, "/chain")
	o := under(t, dictPolicy)
	o.Tables = []string{"blocks"}
	rep, err := a.RecompressTo(context.Background(), "/copy", o, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(tree(t, fs, "/chain"), before) {
		t.Fatal("the source changed")
	}
	c := mustOpen(t, fs, "/copy", archive.Options{})
	defer mustClose(t, c)
	wantRows(t, c, tables)
	wantWhole(t, c)
	wantTidy(t, fs, c)
	if !slices.Equal(roots(t, a), roots(t, c)) {
		t.Fatal("content roots differ")
	}
	was, now := segments(t, a), segments(t, c)
	for i := range now {
		if rep.Segments[i].File != now[i].File {
			t.Fatalf("report says %s, it is %s", rep.Segments[i].File, now[i].File)
		}
		if replaced := now[i].Table == "blocks"; replaced != (now[i].File != was[i].File) || replaced != (len(now[i].Replaced) == 1) {
			t.Fatalf("%+v was %+v", now[i], was[i])
		}
	}
	if _, err := a.RecompressTo(context.Background(), "/copy", o, nil); !errors.Is(err, archive.ErrExists) {
		t.Fatalf("into an archive: %v", err)
	}
}

func TestRecompressNeedsAWriter(t *testing.T) {
	fs := vfs.NewMem()
	small(t, fs, s2Policy)
	a := mustOpen(t, fs, "/chain", archive.Options{ReadOnly: true})
	if _, err := a.Recompress(context.Background(), under(t, zstdPolicy), nil); !errors.Is(err, archive.ErrReadOnly) {
		t.Fatalf("read-only: %v", err)
	}
	mustClose(t, a)
	if _, err := a.Recompress(context.Background(), under(t, zstdPolicy), nil); !errors.Is(err, archive.ErrClosed) {
		t.Fatalf("closed: %v", err)
	}
}

// Ended at any call of progress: nothing half is left, what was replaced stays,
// and a second call does the rest.
func TestRecompressCancelled(t *testing.T) {
	for k := 1; ; k++ {
		fs := vfs.NewMem()
		tables := small(t, fs, s2Policy)
		a := mustOpen(t, fs, "/chain", archive.Options{})
		was := roots(t, a)
		ctx, cancel := context.WithCancel(context.Background())
		calls := 0
		_, err := a.Recompress(ctx, under(t, zstdPolicy), func(archive.Progress) {
			if calls++; calls == k {
				cancel()
			}
		})
		cancel()
		if err == nil {
			if calls < 5 {
				t.Fatalf("progress called %d times only", calls)
			}
			mustClose(t, a)
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		wantTidy(t, fs, a)
		if err := compareRows(a, tables, false); err != nil || !slices.Equal(roots(t, a), was) {
			t.Fatalf("cancelled at call %d: %v", k, err)
		}
		mustRecompress(t, a, under(t, zstdPolicy))
		mustClose(t, a)
	}
}

// Close ends a job that is running, and waits for it.
func TestCloseEndsJobs(t *testing.T) {
	fs := vfs.NewMem()
	small(t, fs, s2Policy)
	a := mustOpen(t, fs, "/chain", archive.Options{})
	closed := make(chan error, 1)
	_, err := a.Recompress(context.Background(), under(t, zstdPolicy), func(p archive.Progress) {
		if p.Segment == 1 && p.Stage == archive.StageVerify && len(closed) == 0 {
			go func() { closed <- a.Close() }()
			for { // until Close has begun
				if _, _, err := a.OpenSegment("blocks", 0); err != nil {
					return
				}
				if _, err := a.Recompress(context.Background(), archive.RecompressOptions{DryRun: true}, nil); err != nil {
					return
				}
			}
		}
	})
	if !errors.Is(err, archive.ErrClosed) {
		t.Fatalf("recompress of a closed archive: %v", err)
	}
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	a = mustOpen(t, fs, "/chain", archive.Options{})
	defer mustClose(t, a)
	wantWhole(t, a)
	wantTidy(t, fs, a)
}
