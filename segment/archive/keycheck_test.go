package archive_test

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/segstore/segstore/index"
	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/segment/archive"
)

func checkIndex(t testing.TB, a *archive.Archive, name string) (archive.IndexCheck, []archive.IndexFlaw) {
	t.Helper()
	var all []archive.IndexFlaw
	c, err := a.CheckIndex(context.Background(), name, archive.CheckIndexOptions{
		TempDir: "/tmp", Flaw: func(f archive.IndexFlaw) { all = append(all, f) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return c, all
}

// wantIndexWhole insists that an index has the rows of its table and no others' keys.
func wantIndexWhole(t testing.TB, a *archive.Archive, name string) archive.IndexCheck {
	t.Helper()
	c, all := checkIndex(t, a, name)
	if c.Status != archive.IndexWhole || len(all) > 0 || c.Reason != "" || c.NoEntry != 0 || c.NoKey != 0 || c.Keys != c.Rows || c.Entries != c.Keys+c.Left {
		t.Fatalf("index %q: %+v, %v", name, c, all)
	}
	tab, err := a.Table(c.Table)
	if err != nil {
		t.Fatal(err)
	}
	if c.Rows+c.Behind != tab.EndRow()-tab.FirstRow() {
		t.Fatalf("index %q: %+v, the table has %d to %d", name, c, tab.FirstRow(), tab.EndRow())
	}
	return c
}

// An index is whole after each step of the script, for the writer and for readers.
func TestCheckIndexFollows(t *testing.T) {
	s := script()
	fs := vfs.NewMem()
	mustBuild(t, fs, "/chain", archive.CreateOptions{}, liveTables(t, s2Policy))
	a := mustOpen(t, fs, "/chain", archive.Options{SealBytes: -1, Workers: 1})
	names := []string{"number", "note"}
	for name, table := range map[string]string{"number": "blocks", "note": "notes"} {
		if err := a.CreateIndex(context.Background(), archive.IndexSpec{Name: name, Table: table, Key: key(t, name)}, nil); err != nil {
			t.Fatal(err)
		}
	}
	left := uint64(0)
	for i, st := range s.steps {
		if err := st.do(a); err != nil {
			t.Fatalf("step %d, %s: %v", i, st.what, err)
		}
		for range 2 {
			for _, name := range names {
				if c := wantIndexWhole(t, a, name); c.Behind != 0 {
					t.Fatalf("step %d, %s: %+v", i, st.what, c)
				} else if left = max(left, c.Left); strings.HasPrefix(st.what, "commit") && i < 4 && c.Left != 0 {
					t.Fatalf("step %d, %s: nothing was rewound yet: %+v", i, st.what, c)
				}
			}
			mustClose(t, a)
			r := mustOpen(t, fs, "/chain", archive.Options{ReadOnly: true, Workers: 1})
			for _, name := range names {
				wantIndexWhole(t, r, name)
			}
			mustClose(t, r)
			a = mustOpen(t, fs, "/chain", archive.Options{SealBytes: -1, Workers: 1})
		}
	}
	if left == 0 {
		t.Error("rewinds have left nothing: the script does not try it")
	}
	for _, name := range names {
		if err := a.BuildIndex(context.Background(), name, nil); err != nil {
			t.Fatal(err)
		}
		if c := wantIndexWhole(t, a, name); c.Left != 0 {
			t.Errorf("built anew: %+v", c)
		}
	}
	mustClose(t, a)
	if names, err := fs.List("/tmp"); err == nil && len(names) > 0 {
		t.Errorf("left: %q", names)
	}
}

// spoil replaces the entries of an index behind the back of its archive, in the store
// and in the copy for readers; the state stays what it is.
func spoil(t testing.TB, fs vfs.FS, name string, entries iter.Seq2[index.Entry, error]) {
	t.Helper()
	s, err := index.Open(fs, "/chain/index/live", index.Options{})
	if err != nil {
		t.Fatal(err)
	}
	st, ok := s.State(name)
	if !ok {
		t.Fatalf("no index %q", name)
	}
	if err := s.Load(context.Background(), name, st, entries, index.LoadOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := s.Checkpoint("/chain/index/checkpoint-000999"); err != nil {
		t.Fatal(err)
	}
	mustClose(t, s)
}

func listed(list []index.Entry) iter.Seq2[index.Entry, error] {
	return func(yield func(index.Entry, error) bool) {
		for _, e := range list {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// Entries that are missing, too much or wrong are placed: row, and its key. Building
// the index anew mends it.
func TestCheckIndexFindsFlaws(t *testing.T) {
	note := func(n int) []byte { return fmt.Appendf(nil, "note %d", n) }
	text := func(n int) string { return hex.EncodeToString(note(n)) }
	for what, c := range map[string]struct {
		change func(all []index.Entry) []index.Entry
		want   []string // row, fault, key
	}{
		"as it is": {func(all []index.Entry) []index.Entry { return all }, nil},
		"deleted":  {func(all []index.Entry) []index.Entry { return slices.Delete(all, 5, 6) }, []string{"5 no_entry " + text(5)}},
		"added": {func(all []index.Entry) []index.Entry {
			return append(all, index.Entry{Key: []byte("x"), Row: 3})
		}, []string{"3 no_key " + text(3)}},
		"to a wrong row": {func(all []index.Entry) []index.Entry { all[7].Row = 9; return all }, []string{"7 no_entry " + text(7), "9 no_key " + text(9)}},
		"empty": {func(all []index.Entry) []index.Entry { return nil }, []string{
			"0 no_entry " + text(0), "1 no_entry " + text(1), "2 no_entry " + text(2), "3 no_entry " + text(3), "4 no_entry " + text(4), "5 no_entry " + text(5),
			"6 no_entry " + text(6), "7 no_entry " + text(7), "8 no_entry " + text(8), "9 no_entry " + text(9)}},
	} {
		t.Run(what, func(t *testing.T) {
			fs, a := notesArchive(t, rawPolicy)
			var all []index.Entry
			for i := range 10 {
				mustCommit(t, a, string(note(i)))
				all = append(all, index.Entry{Key: note(i), Row: uint64(i)})
				if i == 6 {
					if err := a.Seal(context.Background()); err != nil {
						t.Fatal(err)
					}
				}
			}
			if err := a.CreateIndex(context.Background(), archive.IndexSpec{Name: "note", Table: "notes", Key: key(t, "note")}, nil); err != nil {
				t.Fatal(err)
			}
			mustClose(t, a)
			spoil(t, fs, "note", listed(c.change(all)))
			for _, ro := range []bool{true, false} {
				a := mustOpen(t, fs, "/chain", archive.Options{ReadOnly: ro})
				res, flaws := checkIndex(t, a, "note")
				var got []string
				for _, f := range flaws {
					if f.Index != "note" || f.Table != "notes" || len(f.Fingerprint) != 10 || !strings.Contains(f.Error(), fmt.Sprintf("row %d of", f.Row)) || !strings.Contains(f.Error(), f.Key) {
						t.Errorf("%+v: %v", f, f)
					}
					got = append(got, fmt.Sprintf("%d %s %s", f.Row, f.Fault, f.Key))
				}
				slices.Sort(got)
				damaged := len(c.want) > 0
				if !slices.Equal(got, c.want) || res.Rows != 10 || res.Keys != 10 || (res.Status == archive.IndexDamaged) != damaged || damaged != (res.Reason != "") || int(res.NoEntry+res.NoKey) != len(got) {
					t.Errorf("read-only %t: %+v, %q, want %q", ro, res, got, c.want)
				}
				if !ro {
					if err := a.BuildIndex(context.Background(), "note", nil); err != nil {
						t.Fatal(err)
					}
					wantIndexWhole(t, a, "note")
				}
				mustClose(t, a)
			}
		})
	}
}

// What cannot be compared is said, not reported as a flaw of an entry.
func TestCheckIndexStatus(t *testing.T) {
	fs, a := notesArchive(t, rawPolicy)
	mustCommit(t, a, "a", "b", "c")
	if err := a.CreateIndex(context.Background(), archive.IndexSpec{Name: "note", Table: "notes", Key: key(t, "note")}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := a.CheckIndex(context.Background(), "none", archive.CheckIndexOptions{}); !errors.Is(err, archive.ErrNoIndex) {
		t.Errorf("no index: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := a.CheckIndex(ctx, "note", archive.CheckIndexOptions{TempDir: "/tmp"}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	mustCommit(t, a, "d")
	want := func(what string, o archive.Options, status archive.IndexStatus, behind uint64) {
		t.Helper()
		a := mustOpen(t, fs, "/chain", o)
		defer mustClose(t, a)
		c, all := checkIndex(t, a, "note")
		if c.Status != status || c.Behind != behind || len(all) > 0 || (status == archive.IndexWhole) != (c.Reason == "") {
			t.Errorf("%s: %+v, %v", what, c, all)
		}
	}
	read := archive.Options{ReadOnly: true}
	want("beside a writer", read, archive.IndexWhole, 1)
	if err := a.Rewind(context.Background(), archive.Position{"notes": 2}); err != nil {
		t.Fatal(err)
	}
	want("rewound beside a writer", read, archive.IndexStale, 2)
	mustClose(t, a)
	want("closed", read, archive.IndexWhole, 0)

	copies, err := fs.List("/chain/index")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range copies {
		for _, name := range tree(t, fs, "/chain/index/"+dir) {
			if strings.Contains(name, "/MANIFEST-") {
				writeFile(t, fs, name, []byte("not what it was"))
			}
		}
	}
	want("damaged", read, archive.IndexDamaged, 2)
	want("damaged, as its writer", archive.Options{}, archive.IndexDamaged, 2)
	if err := fs.RemoveAll("/chain/index"); err != nil {
		t.Fatal(err)
	}
	want("removed", read, archive.IndexMissing, 2)
	want("removed, as its writer", archive.Options{}, archive.IndexMissing, 2)
	a = mustOpen(t, fs, "/chain", archive.Options{})
	if err := a.BuildIndex(context.Background(), "note", nil); err != nil {
		t.Fatal(err)
	}
	mustClose(t, a)
	want("built", read, archive.IndexWhole, 0)
}

// A check of a read-only archive writes nothing beside its temporary files.
func TestCheckIndexWritesNothing(t *testing.T) {
	mem, a := notesArchive(t, rawPolicy)
	for i := range 50 {
		b := a.Batch()
		for k := range 1000 {
			if err := b.Append("notes", segment.Row{fmt.Appendf(nil, "note %d", 1000*i+k)}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := b.CommitNoSync(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.CreateIndex(context.Background(), archive.IndexSpec{Name: "note", Table: "notes", Key: key(t, "note")}, nil); err != nil {
		t.Fatal(err)
	}
	mustClose(t, a)
	fs := readOnly(t, mem)
	r := mustOpen(t, fs, "/chain", archive.Options{ReadOnly: true})
	wantIndexWhole(t, r, "note") // fits into memory
	fs.insist()
	_, err := r.CheckIndex(context.Background(), "note", archive.CheckIndexOptions{TempDir: "/tmp", MemoryBytes: 1 << 20})
	if err == nil || fs.writes.Load() == 0 {
		t.Errorf("runs where nothing can be written: %v", err)
	}
	mustClose(t, r)
	r = mustOpen(t, mem, "/chain", archive.Options{ReadOnly: true})
	before := tree(t, mem, "/chain")
	c, err := r.CheckIndex(context.Background(), "note", archive.CheckIndexOptions{TempDir: "/tmp", MemoryBytes: 1 << 20})
	if err != nil || c.Keys != 50_000 || c.Entries != 50_000 || c.Status != archive.IndexWhole {
		t.Errorf("%+v, %v", c, err)
	}
	if left, err := mem.List("/tmp"); err != nil || len(left) > 0 || !slices.Equal(before, tree(t, mem, "/chain")) {
		t.Errorf("left %q, %v", left, err)
	}
	mustClose(t, r)
}

// An index of rows that were all pruned follows the ones that come, also where the table
// was rewound before.
func TestIndexOfNoRowsLeft(t *testing.T) {
	ctx := context.Background()
	fs, a := notesArchive(t, rawPolicy)
	mustCommit(t, a, "a", "b", "c", "d")
	if err := a.CreateIndex(ctx, archive.IndexSpec{Name: "note", Table: "notes", Key: key(t, "note")}, nil); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(a.Rewind(ctx, archive.Position{"notes": 3}), a.Seal(ctx)); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Prune(ctx, "notes", 3, false); err != nil {
		t.Fatal(err)
	}
	mustClose(t, a)
	a = mustOpen(t, fs, "/chain", archive.Options{})
	mustCommit(t, a, "e", "a")
	if c := wantIndexWhole(t, a, "note"); c.Rows != 2 {
		t.Errorf("%+v", c)
	}
	wantKeys(t, a, "note", "notes", 0)
	mustClose(t, a)
}

// A check is of one moment, while commits, rewinds, seals and builds go on.
func TestCheckIndexAtOnce(t *testing.T) {
	ctx := context.Background()
	_, a := notesArchive(t, rawPolicy)
	mustCommit(t, a, "a", "b", "c")
	if err := a.CreateIndex(ctx, archive.IndexSpec{Name: "note", Table: "notes", Key: key(t, "note")}, nil); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		var err error
		for n := 0; n < 200 && err == nil; n++ {
			b := a.Batch()
			for k := range 7 {
				err = errors.Join(err, b.Append("notes", segment.Row{fmt.Appendf(nil, "note %d of %d", k, n)}))
			}
			p, cerr := b.Commit(ctx)
			if err = errors.Join(err, cerr); err == nil && n%3 == 2 {
				err = a.Rewind(ctx, archive.Position{"notes": p["notes"] - 9})
			}
			if err == nil && n%20 == 19 {
				err = a.Seal(ctx)
			}
			if err == nil && n%31 == 30 {
				err = a.BuildIndex(ctx, "note", nil)
			}
		}
		done <- err
	}()
	whole, running := 0, true
	for running {
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			running = false
		default:
		}
		c, all := checkIndex(t, a, "note")
		switch {
		case len(all) > 0 || c.NoEntry != 0 || c.NoKey != 0:
			t.Errorf("%+v, %v", c, all)
		case c.Status == archive.IndexWhole:
			whole++
		case c.Status != archive.IndexStale: // it is being built
			t.Errorf("%+v", c)
		}
	}
	if whole == 0 {
		t.Error("never whole")
	}
	wantIndexWhole(t, a, "note")
	mustClose(t, a)
}
