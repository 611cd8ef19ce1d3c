package archive_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/segstore/segstore/codec"
	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/segment/archive"
)

// notesArchive returns an empty archive of one table of one column, on a memory disk.
func notesArchive(t *testing.T, text string) (vfs.FS, *archive.Archive) {
	t.Helper()
	fs := vfs.NewMem()
	mustBuild(t, fs, "/chain", archive.CreateOptions{}, []testTable{
		{spec: archive.TableSpec{Name: "notes", Schema: notesSchema(), Policy: policy(t, text)}},
	})
	return fs, mustOpen(t, fs, "/chain", archive.Options{})
}

func mustCommit(t *testing.T, a *archive.Archive, rows ...string) {
	t.Helper()
	b := a.Batch()
	for _, r := range rows {
		if err := b.Append("notes", segment.Row{[]byte(r)}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.Commit(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func logs(t *testing.T, fs vfs.FS) (found []string) {
	t.Helper()
	for _, name := range tree(t, fs, "/chain") {
		if strings.HasPrefix(path.Base(name), "log-") {
			found = append(found, name)
		}
	}
	return found
}

// Rows that were rewound leave nothing to seal, yet their log goes.
func TestSealWithoutRows(t *testing.T) {
	fs, a := notesArchive(t, "chunk 1024\n* group=column codec=raw\n")
	defer mustClose(t, a)
	mustCommit(t, a, "one", "two")
	before := logs(t, fs)
	if len(before) != 1 {
		t.Fatalf("logs %q, want one", before)
	}
	if err := a.Rewind(context.Background(), archive.Position{"notes": 0}); err != nil {
		t.Fatal(err)
	}
	if err := a.Seal(context.Background()); err != nil {
		t.Fatal(err)
	}
	for _, name := range logs(t, fs) {
		if name == before[0] {
			t.Errorf("%s is still there", name)
		}
	}
	mustCommit(t, a, "three")
	tab, err := a.Table("notes")
	if err != nil {
		t.Fatal(err)
	}
	if row, err := tab.Row(nil, 0); err != nil || string(row[0]) != "three" {
		t.Errorf("row 0: %q, %v", row, err)
	}
}

// A copy that leaves out empty directories is an archive that can be sealed.
func TestSealWithoutDirectory(t *testing.T) {
	fs, a := notesArchive(t, "chunk 1024\n* group=column codec=raw\n")
	mustCommit(t, a, "one", "two")
	mustClose(t, a)
	must(t, fs.Remove("/chain/notes"))
	a = mustOpen(t, fs, "/chain", archive.Options{})
	defer mustClose(t, a)
	must(t, a.Seal(context.Background()))
	wantWhole(t, a)
	if got, err := read(a); err != nil || len(got.rows["notes"]) != 2 || a.Info().Segments != 1 {
		t.Errorf("%q in %d segments, %v", got.rows["notes"], a.Info().Segments, err)
	}
}

// A log takes over a segment's dictionary also where it is shorter than the least that
// a policy may ask for.
func TestLogWithAShortDictionary(t *testing.T) {
	fs, a := notesArchive(t, "chunk 1024\n* group=column codec=zstd:1+dict else=zstd:3 dict=4096\n")
	defer mustClose(t, a)
	rows := make([]string, 40)
	for i := range rows {
		rows[i] = strings.Repeat(fmt.Sprintf("row %d of notes", i), 200)
	}
	mustCommit(t, a, rows...)
	if err := a.Seal(context.Background()); err != nil {
		t.Fatal(err)
	}
	b := readFile(t, fs, fs.PathJoin("/chain", segments(t, a)[0].File))
	r, err := segment.NewReader(bytes.NewReader(b), int64(len(b)), segment.ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if d := r.Dictionary(0); d == nil || len(d.Bytes()) >= codec.MinDictBytes {
		t.Fatalf("the dictionary is %v, want a short one", d)
	}
	mustCommit(t, a, rows...)
}

// A seal in the background leaves the last commits in the log, but no more than fill it
// again; a rewind of those writes no segment.
func TestSealKeepsCommits(t *testing.T) {
	for _, c := range []struct{ keep, commits, sealed int }{{3, 13, 10}, {1 << 20, 20, 10}, {-1, 10, 10}} {
		t.Run(fmt.Sprint(c.keep), func(t *testing.T) {
			fs, a := notesArchive(t, "chunk 1024\n* group=column codec=raw\n")
			mustClose(t, a)
			a = mustOpen(t, fs, "/chain", archive.Options{SealBytes: 1000, KeepCommits: c.keep})
			defer func() { mustClose(t, a) }()
			for i := range c.commits {
				if n := a.Info().Segments; n != 0 {
					t.Fatalf("%d segments after %d commits", n, i)
				}
				mustCommit(t, a, fmt.Sprintf("%0100d", i))
			}
			for wait := 0; a.Info().Segments == 0 && wait < 1000; wait++ { // it is made in the background
				time.Sleep(5 * time.Millisecond)
			}
			if i := a.Tables()[0]; int(i.Rows) != c.commits || int(i.LogRows) != c.commits-c.sealed {
				t.Fatalf("%d rows, %d of them in logs", i.Rows, i.LogRows)
			}
			before, err := a.Segments()
			if err != nil {
				t.Fatal(err)
			}
			if err := a.Rewind(context.Background(), archive.Position{"notes": uint64(c.sealed)}); err != nil {
				t.Fatal(err)
			}
			after, err := a.Segments()
			if err != nil || len(after) != 1 || after[0].File != before[0].File {
				t.Errorf("rewound to where the segments end: %v, before %v, %v", after, before, err)
			}
			mustClose(t, a)
			a = mustOpen(t, fs, "/chain", archive.Options{})
			got, err := read(a)
			if err != nil || len(got.rows["notes"]) != c.sealed {
				t.Fatalf("%d rows, %v", len(got.rows["notes"]), err)
			}
			for i, row := range got.rows["notes"] {
				if string(row[0]) != fmt.Sprintf("%0100d", i) {
					t.Errorf("row %d is %q", i, row)
				}
			}
		})
	}
}

// openSealed returns an archive of 10 rows in segments and one in a log, with an index of
// each table.
func openSealed(t *testing.T, fs vfs.FS) *archive.Archive {
	t.Helper()
	a := openPairs(t, fs, archive.Options{SealBytes: -1, Workers: 1})
	for n := range uint64(11) {
		if n == 10 {
			must(t, a.Seal(context.Background()))
		}
		_, err := pair(a, n)
		must(t, err)
	}
	must(t, a.CreateIndex(context.Background(), archive.IndexSpec{Name: "hash", Table: "blocks", Key: key(t, "hash")}, nil))
	must(t, a.CreateIndex(context.Background(), archive.IndexSpec{Name: "note", Table: "notes", Key: key(t, "note")}, nil))
	return a
}

// A rewind into segments that fails, because the manifest cannot be written, leaves rows
// and indexes as they were, also for who opens the archive next.
func TestRewindThatFails(t *testing.T) {
	full := false
	fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if full && op.Kind == errorfs.OpCreate && strings.Contains(op.Path, "MANIFEST") {
			return errNoSpace
		}
		return nil
	}))
	a := openSealed(t, fs)
	full = true
	if err := a.Rewind(context.Background(), archive.Position{"blocks": 5, "notes": 5}); !errors.Is(err, archive.ErrNoSpace) {
		t.Errorf("a full disk: %v", err)
	}
	full = false
	for range 2 {
		if got, err := read(a); err != nil || len(got.rows["blocks"]) != 11 || len(got.rows["notes"]) != 11 {
			t.Errorf("%d blocks, %d notes, %v", len(got.rows["blocks"]), len(got.rows["notes"]), err)
		}
		wantKeys(t, a, "hash", "blocks", 1)
		wantKeys(t, a, "note", "notes", 0)
		mustClose(t, a)
		a = mustOpen(t, fs, "/chain", archive.Options{})
	}
	mustClose(t, a)
}

// A rewind of rows in logs does not wait for a recompression.
func TestRewindBesideRecompress(t *testing.T) {
	fs, ctx := vfs.NewMem(), context.Background()
	a := openSealed(t, fs)
	defer mustClose(t, a)
	rewound := false
	_, err := a.Recompress(ctx, under(t, zstdPolicy), func(archive.Progress) {
		if !rewound { // Recompress waits for this function
			rewound = true
			must(t, a.Rewind(ctx, archive.Position{"blocks": 10, "notes": 10}))
		}
	})
	must(t, err)
	if got, err := read(a); err != nil || !rewound || len(got.rows["blocks"]) != 10 || len(got.rows["notes"]) != 10 {
		t.Errorf("%d blocks, %d notes, %v", len(got.rows["blocks"]), len(got.rows["notes"]), err)
	}
	wantKeys(t, a, "hash", "blocks", 1)
}
