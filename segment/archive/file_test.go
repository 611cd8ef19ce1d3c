package archive_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cespare/xxhash/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/segment/archive"
)

func writeSegment(t testing.TB, fs vfs.FS, path string, tab testTable) segment.Info {
	t.Helper()
	w, err := archive.CreateFile(fs, path, segment.WriterOptions{Table: tab.spec.Name, Schema: tab.spec.Schema, FirstRow: tab.spec.FirstRow, Policy: policy(t, s2Policy)})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	for _, r := range tab.rows {
		if err := w.Append(r); err != nil {
			t.Fatal(err)
		}
	}
	info, err := w.Finish()
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func TestLoneFile(t *testing.T) {
	fs := vfs.NewMem()
	tab := testTables(t, 200, s2Policy)[0]
	info := writeSegment(t, fs, "/a.seg", tab)
	ctx := context.Background()
	if _, err := archive.CreateFile(fs, "/a.seg", segment.WriterOptions{Table: "t", Schema: notesSchema()}); !errors.Is(err, archive.ErrExists) {
		t.Fatalf("over a file: %v", err)
	}
	rows := func(path string) {
		t.Helper()
		f, err := archive.OpenFile(fs, path, segment.ReaderOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer mustClose(t, f)
		for i, want := range tab.rows {
			if row, err := f.Row(nil, 100+uint64(i)); err != nil || !equal(row, want) {
				t.Fatalf("row %d: %q, %v", i, row, err)
			}
		}
		if st := archive.FileStats(f.Reader); st.Rows != 200 || st.Segments != 1 || len(st.Columns) != 3 {
			t.Fatalf("stats %+v", st)
		}
		for flaw, err := range archive.VerifyFile(ctx, fs, path, segment.VerifyOptions{Depth: segment.Content}) {
			t.Fatalf("flaw %v, %v", &flaw, err)
		}
	}
	rows("/a.seg")
	rep, err := archive.RecompressFile(ctx, fs, "/a.seg", "/b.seg", under(t, zstdPolicy), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := rep.Segments[0]
	if s.Before.Checksum != info.Checksum || s.File != "/b.seg" || rep.Total.StoredBefore != info.StoredBytes || s.ContentRoot != info.ContentRoot {
		t.Fatalf("report %+v", s)
	}
	rows("/a.seg")
	rows("/b.seg")
	if sum, _, err := archive.Checksum(ctx, fs, "/b.seg"); err != nil || sum != s.After.Checksum {
		t.Fatalf("checksum %s, %v", sum, err)
	}
	if _, err := archive.RecompressFile(ctx, fs, "/a.seg", "/b.seg", under(t, zstdPolicy), nil); !errors.Is(err, archive.ErrExists) {
		t.Fatalf("over a file: %v", err)
	}
	calls := 0
	if _, err := archive.RecompressFile(ctx, fs, "/a.seg", "", under(t, zstdPolicy), func(archive.Progress) { calls++ }); err != nil || calls == 0 {
		t.Fatal(err, calls)
	}
	if !bytes.Equal(readFile(t, fs, "/a.seg"), readFile(t, fs, "/b.seg")) {
		t.Fatal("in place and into a file differ")
	}
	o := under(t, zstdPolicy)
	if rep, err = archive.RecompressFile(ctx, fs, "/a.seg", "", o, nil); err != nil || !rep.Segments[0].Skipped {
		t.Fatalf("again: %+v, %v", rep, err)
	}
	o.Retrain = true
	if rep, err = archive.RecompressFile(ctx, fs, "/a.seg", "", o, nil); err != nil || !rep.Segments[0].Skipped {
		t.Fatalf("the same bytes: %+v, %v", rep, err)
	}
	o = under(t, rawPolicy)
	o.DryRun = true
	if rep, err = archive.RecompressFile(ctx, fs, "/a.seg", "", o, nil); err != nil || !rep.Estimated || rep.Total.StoredAfter <= rep.Total.StoredBefore {
		t.Fatalf("dry run: %+v, %v", rep, err)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := archive.RecompressFile(cancelled, fs, "/a.seg", "/c.seg", under(t, rawPolicy), nil); !errors.Is(err, context.Canceled) {
		t.Fatalf("cancelled: %v", err)
	}
	if _, err := archive.RecompressFile(ctx, fs, "/a.seg", "/no/c.seg", under(t, rawPolicy), nil); err == nil {
		t.Fatal("into a directory that is not there")
	}
	if names := tree(t, fs, "/"); !slices.Equal(names, []string{"/a.seg", "/b.seg"}) {
		t.Fatalf("left: %q", names)
	}
}

// A file of an archive is recompressed through the archive only; a copy of it is free.
func TestFileOfAnArchive(t *testing.T) {
	fs := vfs.NewMem()
	small(t, fs, s2Policy)
	a := mustOpen(t, fs, "/chain", archive.Options{ReadOnly: true})
	defer mustClose(t, a)
	path := a.Path(segments(t, a)[0])
	if _, err := archive.RecompressFile(context.Background(), fs, path, "", under(t, zstdPolicy), nil); !errors.Is(err, archive.ErrInArchive) {
		t.Fatalf("in place: %v", err)
	}
	if _, err := archive.RecompressFile(context.Background(), fs, path, "/out.seg", under(t, zstdPolicy), nil); err != nil {
		t.Fatal(err)
	}
	if err := fs.MkdirAll("/x/blocks", 0o777); err != nil {
		t.Fatal(err)
	}
	writeFile(t, fs, "/x/MANIFEST.json", []byte(`{"name": "of a browser's extension"}`))
	writeFile(t, fs, "/x/blocks/y.seg", readFile(t, fs, path))
	if _, err := archive.RecompressFile(context.Background(), fs, "/x/blocks/y.seg", "", under(t, zstdPolicy), nil); err != nil {
		t.Fatalf("beside another's manifest: %v", err)
	}
}

func TestChecksums(t *testing.T) {
	fs := vfs.NewMem()
	for _, n := range []int{0, 1, 1 << 20, 1<<20 + 1, 3 << 20} {
		b := bytes.Repeat([]byte{1, 2, 3, 5, 8}, n/5+1)[:n]
		writeFile(t, fs, "/x", b)
		sum, size, err := archive.Checksum(context.Background(), fs, "/x")
		if err != nil || uint64(sum) != xxhash.Sum64(b) || size != int64(n) {
			t.Errorf("%d bytes: %s, %d, %v", n, sum, size, err)
		}
		sha, size, err := archive.SHA256(context.Background(), fs, "/x")
		if err != nil || sha != sha256.Sum256(b) || size != int64(n) {
			t.Errorf("%d bytes: %x, %d, %v", n, sha, size, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := archive.Checksum(ctx, fs, "/x"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, _, err := archive.SHA256(context.Background(), fs, "/"); err == nil {
		t.Error("a directory has no checksum")
	}
}

func TestExpect(t *testing.T) {
	fs := vfs.NewMem()
	small(t, fs, s2Policy)
	ctx := context.Background()
	a := mustOpen(t, fs, "/chain", archive.Options{})
	defer mustClose(t, a)
	before := segments(t, a)
	sha := func(s archive.SegmentInfo) string {
		h, _, err := archive.SHA256(ctx, fs, a.Path(s))
		if err != nil {
			t.Fatal(err)
		}
		return hex.EncodeToString(h[:])
	}
	oldSHA := sha(before[0])
	var list strings.Builder
	for _, s := range before {
		fmt.Fprintf(&list, "%s  elsewhere/%s\n", s.Checksum, s.File)
	}
	want := func(sum string, answer archive.Answer, file string) {
		t.Helper()
		e, err := a.Expect(ctx, sum)
		if err != nil || e.Answer != answer || e.File != file || (e.Reason != "") != (answer == archive.Different || answer == archive.Unknown) || e.Expected != strings.ToLower(sum) {
			t.Errorf("Expect(%s): %+v, %v", sum, e, err)
		}
		if file == "" {
			return
		}
		if f, err := archive.ExpectFile(ctx, fs, file, sum); err != nil || f.Answer != answer {
			t.Errorf("ExpectFile(%s): %+v, %v", sum, f, err)
		}
	}
	want(before[0].Checksum.String(), archive.SameFile, a.Path(before[0]))
	want(strings.ToUpper(before[1].Checksum.String()), archive.SameFile, a.Path(before[1]))
	want(oldSHA, archive.SameFile, a.Path(before[0]))
	want("0123456789abcdef", archive.Different, "")
	mustRecompress(t, a, under(t, zstdPolicy))
	mustRecompress(t, a, under(t, largePolicy))
	now := segments(t, a)
	want(before[0].Checksum.String(), archive.SameContent, a.Path(now[0]))
	want(now[0].Checksum.String(), archive.SameFile, a.Path(now[0]))
	want(sha(now[0]), archive.SameFile, a.Path(now[0]))
	want(oldSHA, archive.Unknown, "")
	want(now[0].ContentRoot.String(), archive.SameContent, a.Path(now[0]))
	for _, bad := range []string{"", "xyz", "0123", strings.Repeat("g", 16)} {
		if _, err := a.Expect(ctx, bad); err == nil {
			t.Errorf("Expect(%q)", bad)
		}
		if _, err := archive.ExpectFile(ctx, fs, a.Path(now[0]), bad); err == nil {
			t.Errorf("ExpectFile(%q)", bad)
		}
	}
	if e, err := archive.ExpectFile(ctx, fs, "/nothing", oldSHA); err != nil || e.Answer != archive.Different {
		t.Errorf("a file that is not there: %+v, %v", e, err)
	}

	// A list made before, of names that are gone.
	n := 0
	for e, err := range archive.CheckList(ctx, fs, a, strings.NewReader("# made before\n\n"+list.String())) {
		if err != nil || e.Answer != archive.SameContent || e.File != a.Path(now[n]) || e.Line != n+3 || e.Name != "elsewhere/"+before[n].File || e.Segment.File != now[n].File {
			t.Fatalf("line %+v, %v", e, err)
		}
		n++
	}
	if n != len(before) {
		t.Fatalf("%d lines", n)
	}

	// What is damaged is neither.
	b := readFile(t, fs, a.Path(now[0]))
	b[100] ^= 1
	writeFile(t, fs, a.Path(now[0]), b)
	want(before[0].Checksum.String(), archive.Different, a.Path(now[0]))
	want(now[0].Checksum.String(), archive.Different, a.Path(now[0]))
	for e, err := range archive.CheckList(ctx, fs, a, strings.NewReader(list.String())) {
		if err != nil || e.Answer != archive.Different || !strings.Contains(e.Reason, "damaged") {
			t.Fatalf("line %+v, %v", e, err)
		}
		break
	}
}

func TestStats(t *testing.T) {
	fs := vfs.NewMem()
	tables := small(t, fs, dictPolicy)
	a := mustOpen(t, fs, "/chain", archive.Options{ReadOnly: true})
	defer mustClose(t, a)
	all, err := a.Stats(context.Background())
	if err != nil || len(all) != 3 {
		t.Fatal(all, err)
	}
	for i, st := range all {
		info := a.Tables()[i]
		if st.Table != info.Table || st.Rows != info.Rows || st.RawBytes != info.RawBytes || st.StoredBytes != info.StoredBytes || st.Segments != info.Segments {
			t.Errorf("stats %+v of %+v", st, info)
		}
		sum, raw := st.OtherBytes, uint64(0)
		for _, c := range st.Columns {
			sum += int64(c.StoredBytes)
			raw += c.RawBytes
			var blocks uint64
			for _, b := range c.Blocks {
				blocks += b.StoredBytes
			}
			if blocks != c.StoredBytes {
				t.Errorf("column %s: blocks have %d bytes of %d", c.Column, blocks, c.StoredBytes)
			}
		}
		if sum != st.StoredBytes || raw != st.RawBytes {
			t.Errorf("table %s: parts have %d of %d bytes, %d of %d raw", st.Table, sum, st.StoredBytes, raw, st.RawBytes)
		}
		if len(st.Columns) != len(tables[i].spec.Schema.Columns) {
			t.Errorf("table %s: %d columns", st.Table, len(st.Columns))
		}
	}
	if one, err := a.Stats(context.Background(), "notes"); err != nil || len(one) != 1 || one[0].Table != "notes" {
		t.Fatal(one, err)
	}
}

// A disk without room is found before anything is written, and a full one leaves
// the archive as it was.
func TestNoSpace(t *testing.T) {
	mem := vfs.NewMem()
	tables := small(t, mem, s2Policy)
	mem.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: 1 << 20, TotalBytes: 1 << 30})
	a := mustOpen(t, mem, "/chain", archive.Options{})
	before := segments(t, a)
	_, err := a.Recompress(context.Background(), under(t, zstdPolicy), nil)
	var se *archive.SpaceError
	if !errors.Is(err, archive.ErrNoSpace) || !errors.As(err, &se) || se.Available != 1<<20 || se.Need <= 1<<20 {
		t.Fatalf("no room: %v", err)
	}
	if _, err := a.RecompressTo(context.Background(), "/copy", under(t, zstdPolicy), nil); !errors.Is(err, archive.ErrNoSpace) {
		t.Fatalf("no room: %v", err)
	}
	writeSegment(t, mem, "/a.seg", tables[0])
	if _, err := archive.RecompressFile(context.Background(), mem, "/a.seg", "", under(t, zstdPolicy), nil); !errors.Is(err, archive.ErrNoSpace) {
		t.Fatalf("no room: %v", err)
	}
	wantTidy(t, mem, a)
	mustClose(t, a)
	mem.TestingSetDiskUsage(vfs.DiskUsage{})

	full := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpFileWrite {
			return errNoSpace
		}
		return nil
	}))
	a = mustOpen(t, full, "/chain", archive.Options{})
	if _, err := a.Recompress(context.Background(), under(t, zstdPolicy), nil); !errors.Is(err, archive.ErrNoSpace) {
		t.Fatalf("full: %v", err)
	}
	if now := segments(t, a); now[0].File != before[0].File {
		t.Fatal("replaced on a full disk")
	}
	wantRows(t, a, tables)
	wantTidy(t, mem, a)
	mustClose(t, a)
	if _, err := build(full, "/new", archive.CreateOptions{}, tables); !errors.Is(err, archive.ErrNoSpace) {
		t.Fatalf("full: %v", err)
	}
	if slices.ContainsFunc(tree(t, mem, "/"), func(s string) bool { return strings.HasPrefix(s, "/new") }) {
		t.Fatal("a failed build left something")
	}
}
