package archive_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/cespare/xxhash/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/segment/archive"
)

// examine examines /chain on a file system that counts attempts to write: there are none.
func examine(t testing.TB, fs vfs.FS) *archive.Examination {
	t.Helper()
	before := tree(t, fs, "/")
	counting := readOnly(t, errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite && op.Kind != errorfs.OpFileClose {
			t.Errorf("operation %d on %s", op.Kind, op.Path)
		}
		return nil
	})))
	e, err := archive.Examine(context.Background(), counting, "/chain", archive.ExamineOptions{})
	if err != nil {
		t.Fatal(err)
	}
	counting.insist()
	if !slices.Equal(before, tree(t, fs, "/")) {
		t.Error("files have changed")
	}
	return e
}

// told is what findings say, but for their words.
func told(e *archive.Examination) (all []string) {
	for _, f := range e.Findings {
		all = append(all, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", f.Severity, f.Kind, f.Remedy, f.File)))
	}
	return all
}

func wantFound(t testing.TB, fs vfs.FS, opens bool, want ...string) *archive.Examination {
	t.Helper()
	e := examine(t, fs)
	got := told(e)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) || e.Opens != opens {
		t.Fatalf("opens: %t, found\n%s\nwant\n%s", e.Opens, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	a, err := archive.Open(fs, "/chain", archive.Options{ReadOnly: true})
	if (err == nil) != opens {
		t.Fatalf("opens: %t, and Open says: %v", opens, err)
	}
	if err == nil {
		mustClose(t, a)
	}
	return e
}

// Each state of a directory has its finding, and what is said to mend it does.
func TestExamine(t *testing.T) {
	ctx := context.Background()
	sealed := func(fs vfs.FS) { // the remedy seal
		a := mustOpen(t, fs, "/chain", archive.Options{})
		if err := a.Seal(ctx); err != nil {
			t.Fatal(err)
		}
		mustClose(t, a)
	}
	fs, a := notesArchive(t, rawPolicy)
	mem := fs.(*vfs.MemFS)
	mustClose(t, a)
	wantFound(t, fs, true)

	a = mustOpen(t, fs, "/chain", archive.Options{SealBytes: -1})
	mustCommit(t, a, "one", "two")
	mustClose(t, a)
	e := wantFound(t, fs, true, "note unsealed seal log-000001")
	if f := e.Findings[0]; f.Rows != 2 || f.Length != int64(len(readFile(t, fs, "/chain/log-000001"))) || len(e.Logs) != 1 || e.Logs[0].Tables[0].RawBytes != 6 || e.Info.Rows != 2 {
		t.Errorf("%+v, %+v", f, e.Logs)
	}
	a = mustOpen(t, fs, "/chain", archive.Options{SealBytes: -1})
	mustCommit(t, a, "three")
	mustClose(t, a)
	log := readFile(t, fs, "/chain/log-000002")
	writeFile(t, fs, "/chain/log-000002", append(bytes.Clone(log), "half a record"...))
	writeFile(t, fs, "/chain/notes/0000000000.1.tmp", []byte("half"))
	writeFile(t, fs, "/chain/MANIFEST.json.tmp", []byte("half"))
	writeFile(t, fs, "/chain/log-000003", []byte("torn"))
	e = wantFound(t, fs, true,
		"note unsealed seal log-000001", "note unsealed seal log-000002", "note log_tail seal log-000002", "advice leftover seal log-000003",
		"advice leftover seal MANIFEST.json.tmp", "advice leftover seal notes/0000000000.1.tmp")
	if f := e.Findings[0]; f.Offset != int64(len(log)) || f.Length != 13 || e.Worst() != archive.SeverityAdvice {
		t.Errorf("%+v", f)
	}

	// A damaged log: what is sealed is still looked at.
	first := readFile(t, fs, "/chain/log-000001")
	broken := bytes.Clone(first)
	broken[len(broken)-20] ^= 1
	writeFile(t, fs, "/chain/log-000001", broken)
	e = examine(t, fs)
	if f := e.Findings[0]; f.Kind != archive.FoundLog || f.Offset == 0 || f.Length == 0 || f.Offset > int64(len(broken)-20) || e.Opens || e.Info == nil || e.Worst() != archive.SeverityDamage {
		t.Errorf("%+v", f)
	}
	writeFile(t, fs, "/chain/log-000001", first)
	sealed(fs)
	wantFound(t, fs, true)

	// Indexes.
	a = mustOpen(t, fs, "/chain", archive.Options{})
	if err := a.CreateIndex(ctx, archive.IndexSpec{Name: "note", Table: "notes", Key: key(t, "note")}, nil); err != nil {
		t.Fatal(err)
	}
	mustClose(t, a)
	wantFound(t, fs, true)
	if err := fs.RemoveAll("/chain/index"); err != nil {
		t.Fatal(err)
	}
	if e = wantFound(t, fs, true, "advice index build_index index"); e.Findings[0].Index != "note" {
		t.Errorf("%+v", e.Findings[0])
	}
	a = mustOpen(t, fs, "/chain", archive.Options{})
	if err := a.BuildIndex(ctx, "note", nil); err != nil {
		t.Fatal(err)
	}
	wantFound(t, fs, true)
	if err := a.Rewind(ctx, archive.Position{"notes": 2}); err != nil { // readers have no copy of now
		t.Fatal(err)
	}
	wantFound(t, fs, true, "advice index build_index index", "note rewound")
	mustClose(t, a)
	wantFound(t, fs, true, "note rewound")

	// Segments: damaged, missing; unknown ones.
	s := func() archive.SegmentInfo {
		a := mustOpen(t, fs, "/chain", archive.Options{ReadOnly: true})
		defer mustClose(t, a)
		return segments(t, a)[0]
	}()
	path := "/chain/" + s.File
	good := readFile(t, fs, path)
	bad := bytes.Clone(good)
	bad[9] ^= 1
	writeFile(t, fs, path, bad)
	e = examine(t, fs)
	if f := e.Findings[0]; f.Kind != archive.FoundSegment || f.Severity != archive.SeverityDamage || f.File != s.File || f.Remedy != archive.RemedyRecover || f.Length != 64 || !e.Opens {
		t.Errorf("%+v", f)
	}
	if err := fs.Remove(path); err != nil {
		t.Fatal(err)
	}
	wantFound(t, fs, true, "damage segment restore "+s.File, "note rewound", "unread io_error  index")
	writeFile(t, fs, path, good)
	wantFound(t, fs, true, "note rewound")
	writeFile(t, fs, "/chain/notes/0000000000-0000000000-0123456789abcdef.seg", good)
	writeFile(t, fs, "/chain/notes/0000000007-0000000008-0123456789abcdef.seg", good)
	wantFound(t, fs, true, "note rewound", "advice leftover seal notes/0000000000-0000000000-0123456789abcdef.seg",
		"advice stranger look_into notes/0000000007-0000000008-0123456789abcdef.seg")
	sealed(fs)
	wantFound(t, fs, true, "note rewound", "advice stranger look_into notes/0000000007-0000000008-0123456789abcdef.seg")
	if err := fs.Remove("/chain/notes/0000000007-0000000008-0123456789abcdef.seg"); err != nil {
		t.Fatal(err)
	}
	a = mustOpen(t, fs, "/chain", archive.Options{})
	if _, err := a.Prune(ctx, "notes", 2, false); err != nil {
		t.Fatal(err)
	}
	mustClose(t, a)
	if e = wantFound(t, fs, true, "note rewound", "note pruned"); e.Findings[0].Rows != 2 {
		t.Errorf("%+v", e.Findings[0])
	}

	// The disk is full.
	e, err := archive.Examine(ctx, almostFull{mem}, "/chain", archive.ExamineOptions{})
	if err != nil || e.Findings[0].Kind != archive.FoundLowSpace || e.Available == nil || *e.Available != 1000 {
		t.Errorf("%+v, %v", e, err)
	}

	// The manifest: newer, damaged, missing.
	m := readFile(t, fs, "/chain/MANIFEST.json")
	writeFile(t, fs, "/chain/MANIFEST.json", stamped(bytes.Replace(m, []byte(`"version": 1`), []byte(`"version": 2`), 1)))
	wantFound(t, fs, false, "unread version update")
	writeFile(t, fs, "/chain/MANIFEST.json", m[:len(m)-9])
	wantFound(t, fs, false, "damage manifest restore MANIFEST.json")
	if err := fs.Remove("/chain/MANIFEST.json"); err != nil {
		t.Fatal(err)
	}
	wantFound(t, fs, false, "damage no_archive") // no segment is left, and no log
	writeFile(t, fs, "/chain/notes/0000000000-0000000000-0123456789abcdef.seg", good)
	wantFound(t, fs, false, "damage no_manifest restore MANIFEST.json", "note unsealed")
	writeFile(t, fs, "/chain/MANIFEST.json", m)
	wantFound(t, fs, true, "note rewound", "note pruned", "advice leftover seal notes/0000000000-0000000000-0123456789abcdef.seg")
	if err := fs.RemoveAll("/chain"); err != nil {
		t.Fatal(err)
	}
	wantFound(t, fs, false, "damage no_archive")
	writeFile(t, fs, "/chain", []byte("a file"))
	e = examine(t, fs)
	if got := told(e); len(got) != 1 || got[0] != "damage no_archive" || !strings.Contains(e.Findings[0].What, "no directory") {
		t.Errorf("a file: %q", got)
	}
}

// stamped makes the checksum of a manifest that was changed fit, as doc.go describes it:
// that of all but the last two lines.
func stamped(m []byte) []byte {
	at := bytes.LastIndex(m, []byte("  \"checksum\": \""))
	return append(bytes.Clone(m[:at]), fmt.Sprintf("  \"checksum\": \"%016x\"\n}\n", xxhash.Sum64(m[:at]))...)
}

type almostFull struct{ vfs.FS }

func (almostFull) GetDiskUsage(string) (vfs.DiskUsage, error) {
	return vfs.DiskUsage{AvailBytes: 1000, TotalBytes: 1 << 20, UsedBytes: 1<<20 - 1000}, nil
}

// What cannot be read is never called damage, whichever operation fails.
func TestExamineFaults(t *testing.T) {
	mem := vfs.NewMem()
	small(t, mem, dictPolicy)
	a := mustOpen(t, mem, "/chain", archive.Options{SealBytes: -1})
	mustCommit(t, a, "one", "two")
	if err := a.CreateIndex(context.Background(), archive.IndexSpec{Name: "note", Table: "notes", Key: key(t, "note")}, nil); err != nil {
		t.Fatal(err)
	}
	mustClose(t, a)
	heard := 0
	for k := 0; ; k++ {
		n, hit := k, false
		e, err := archive.Examine(context.Background(), errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if op.Kind == errorfs.OpFileClose {
				return nil
			}
			if n--; n == -1 {
				hit = true
				return errorfs.ErrInjected
			}
			return nil
		})), "/chain", archive.ExamineOptions{})
		if err != nil {
			t.Fatalf("operation %d: %v", k, err)
		}
		if e.Worst() == archive.SeverityDamage {
			t.Fatalf("operation %d is called damage: %q", k, told(e))
		}
		if e.Worst() == archive.SeverityUnread {
			heard++
		}
		if !hit {
			if e.Worst() == archive.SeverityUnread || k < 30 {
				t.Fatalf("%d operations: %q", k, told(e))
			}
			break
		}
	}
	if heard < 20 {
		t.Errorf("%d failures were heard", heard)
	}
}

// The lock of a writer at work is seen, and stays the writer's.
func TestExamineBesideAWriter(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "chain")
	mustBuild(t, vfs.Default, dir, archive.CreateOptions{}, testTables(t, 3, rawPolicy))
	look := func() *archive.Examination {
		t.Helper()
		e, err := archive.Examine(context.Background(), vfs.Default, dir, archive.ExamineOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	if e := look(); runtime.GOOS == "linux" && e.Lock != archive.LockFree {
		t.Errorf("no writer: %s", e.Lock)
	}
	a := mustOpen(t, vfs.Default, dir, archive.Options{})
	writeFile(t, vfs.Default, filepath.Join(dir, "notes", "1.tmp"), []byte("its draft"))
	e := look()
	if runtime.GOOS == "linux" && (e.Lock != archive.LockHeld || !slices.Contains(told(e), "note writer  LOCK") || slices.ContainsFunc(e.Findings, func(f archive.Finding) bool { return f.Kind == archive.FoundLeftover })) {
		t.Errorf("a writer: %s, %q", e.Lock, told(e))
	}
	if _, err := archive.Open(vfs.Default, dir, archive.Options{}); !errors.Is(err, archive.ErrLocked) {
		t.Errorf("a second writer: %v", err)
	}
	mustClose(t, a)
	if e := look(); runtime.GOOS == "linux" && e.Lock != archive.LockFree {
		t.Errorf("the writer has gone: %s", e.Lock)
	}
}

// Findings are bounded, and a context ends it.
func TestExamineBounds(t *testing.T) {
	fs := vfs.NewMem()
	mustBuild(t, fs, "/chain", archive.CreateOptions{SegmentBytes: 1, Workers: 1}, testTables(t, 400, rawPolicy))
	a := mustOpen(t, fs, "/chain", archive.Options{ReadOnly: true})
	all := segments(t, a)
	mustClose(t, a)
	for _, s := range all {
		writeFile(t, fs, "/chain/"+s.File, []byte("no segment"))
	}
	e := examine(t, fs)
	if len(all) != 1200 || len(e.Findings) != archive.MaxFindings || e.More+archive.MaxFindings < 1200 || e.Worst() != archive.SeverityDamage {
		t.Errorf("%d segments, %d findings and %d more", len(all), len(e.Findings), e.More)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := archive.Examine(ctx, fs, "/chain", archive.ExamineOptions{Depth: segment.Structure}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
