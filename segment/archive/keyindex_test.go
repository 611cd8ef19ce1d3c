package archive_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/segstore/segstore/codec"
	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/segment/archive"
)

func key(t testing.TB, text string) codec.KeyDefinition {
	t.Helper()
	k, err := codec.ParseKeyDefinition(text)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// wantKeys says that every row of a table is found by its key, newest first, and a
// strange key is not.
func wantKeys(t testing.TB, a *archive.Archive, name, table string, column int) {
	t.Helper()
	v, err := a.View()
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	tab, err := v.Table(table)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string][]uint64{}
	n := tab.FirstRow()
	for row, err := range tab.Rows(n) {
		if err != nil {
			t.Fatal(err)
		}
		k := string(row[column])
		rows[k] = append([]uint64{n}, rows[k]...)
		n++
	}
	for k, want := range rows {
		var got []uint64
		for n, err := range v.All(name, []byte(k)) {
			if err != nil {
				t.Fatalf("key %q: %v", k, err)
			}
			got = append(got, n)
		}
		if len(got) != len(want) {
			t.Fatalf("key %q: rows %d, want %d", k, got, want)
		}
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("key %q: rows %d, want %d", k, got, want)
			}
		}
		if n, err := v.Lookup(name, []byte(k)); err != nil || n != want[0] {
			t.Fatalf("key %q: row %d, %v", k, n, err)
		}
	}
	if _, err := v.Lookup(name, []byte("a key of no row")); !errors.Is(err, archive.ErrNotFound) {
		t.Fatalf("a strange key: %v", err)
	}
}

// An index finds every row after each step of the script: commits, seals, rewinds,
// prunes, recompressions; opened again too, and built anew.
func TestIndexFollows(t *testing.T) {
	s := script()
	fs := vfs.NewMem()
	mustBuild(t, fs, "/chain", archive.CreateOptions{}, liveTables(t, dictPolicy))
	o := archive.Options{SealBytes: -1, Workers: 1}
	a := mustOpen(t, fs, "/chain", o)
	ctx := context.Background()
	for _, spec := range []archive.IndexSpec{
		{Name: "number", Table: "blocks", Key: key(t, "number")},
		{Name: "note", Table: "notes", Key: key(t, "note")},
		{Name: "body", Table: "blocks", Key: key(t, "body")},
	} {
		if err := a.CreateIndex(ctx, spec, nil); err != nil {
			t.Fatal(err)
		}
		if err := a.CreateIndex(ctx, spec, nil); !errors.Is(err, archive.ErrExists) {
			t.Fatalf("made twice: %v", err)
		}
	}
	for i, st := range s.steps {
		if err := st.do(a); err != nil {
			t.Fatalf("step %d, %s: %v", i, st.what, err)
		}
		for pass := range 3 {
			switch pass {
			case 1:
				mustClose(t, a)
				a = mustOpen(t, fs, "/chain", o)
			case 2:
				if i%5 != 0 {
					continue
				}
				if err := a.BuildIndex(ctx, "number", nil); err != nil {
					t.Fatal(err)
				}
			}
			wantKeys(t, a, "number", "blocks", 0)
			wantKeys(t, a, "note", "notes", 0)
			wantKeys(t, a, "body", "blocks", 2)
			for _, x := range a.Indexes() {
				if x.Missing != 0 || x.Problem != "" {
					t.Fatalf("step %d, %s, pass %d: %+v", i, st.what, pass, x)
				}
			}
		}
	}
	v, err := a.View()
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	if k, err := v.Key("number", "7"); err != nil || string(k) != string(segment.AppendUint(nil, 7)) {
		t.Errorf("key 7: %x, %v", k, err)
	}
	if _, err := v.Lookup("none", nil); !errors.Is(err, archive.ErrNoIndex) {
		t.Errorf("an index that is not there: %v", err)
	}
	mustClose(t, a)
}

// A view finds what it has, also rows that were rewound since.
func TestIndexOfAView(t *testing.T) {
	fs := vfs.NewMem()
	mustBuild(t, fs, "/chain", archive.CreateOptions{}, liveTables(t, s2Policy))
	a := mustOpen(t, fs, "/chain", archive.Options{SealBytes: -1, Workers: 1})
	defer mustClose(t, a)
	ctx := context.Background()
	if err := a.CreateIndex(ctx, archive.IndexSpec{Name: "note", Table: "notes", Key: key(t, "note")}, nil); err != nil {
		t.Fatal(err)
	}
	commit := func(notes ...string) {
		t.Helper()
		b := a.Batch()
		for _, n := range notes {
			if err := b.Append("notes", segment.Row{[]byte(n)}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := b.Commit(ctx); err != nil {
			t.Fatal(err)
		}
	}
	commit("a", "b", "c", "a")
	v, err := a.View()
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	if err := a.Rewind(ctx, archive.Position{"notes": 8}); err != nil {
		t.Fatal(err)
	}
	commit("x", "c")
	for k, want := range map[string]uint64{"a": 10, "b": 8, "c": 9} {
		if n, err := v.Lookup("note", []byte(k)); err != nil || n != want {
			t.Errorf("view: %q is row %d, %v, want %d", k, n, err, want)
		}
	}
	if _, err := v.Lookup("note", []byte("x")); !errors.Is(err, archive.ErrNotFound) {
		t.Errorf("view: a later row: %v", err)
	}
	now, err := a.View()
	if err != nil {
		t.Fatal(err)
	}
	defer now.Close()
	for k, want := range map[string]uint64{"a": 7, "x": 8, "c": 9} {
		if n, err := now.Lookup("note", []byte(k)); err != nil || n != want {
			t.Errorf("now: %q is row %d, %v, want %d", k, n, err, want)
		}
	}
	if _, err := now.Lookup("note", []byte("b")); !errors.Is(err, archive.ErrNotFound) {
		t.Errorf("now: a rewound row: %v", err)
	}
}

// Readers in other processes find every row by its key: with the copy that the writer
// has left them, rows behind it from the log, and without any copy.
func TestIndexReadOnly(t *testing.T) {
	fs := vfs.NewMem()
	mustBuild(t, fs, "/chain", archive.CreateOptions{}, liveTables(t, s2Policy))
	a := mustOpen(t, fs, "/chain", archive.Options{SealBytes: -1, Workers: 1})
	ctx := context.Background()
	n := 0
	commit := func() {
		t.Helper()
		b := a.Batch()
		for range 5 {
			n++
			if err := b.Append("notes", segment.Row{fmt.Appendf(nil, "note %d", n%23)}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := b.Commit(ctx); err != nil {
			t.Fatal(err)
		}
	}
	commit()
	if err := a.CreateIndex(ctx, archive.IndexSpec{Name: "note", Table: "notes", Key: key(t, "note")}, nil); err != nil {
		t.Fatal(err)
	}
	old := mustOpen(t, fs, "/chain", archive.Options{ReadOnly: true})
	view, err := old.View()
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string) {
		t.Helper()
		r := mustOpen(t, fs, "/chain", archive.Options{ReadOnly: true})
		wantKeys(t, r, "note", "notes", 0)
		mustClose(t, r)
		if err := old.Refresh(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		wantKeys(t, old, "note", "notes", 0)
		if row, err := view.Lookup("note", []byte("note 3")); err != nil || row != 9 {
			t.Fatalf("%s: an old view finds row %d, %v", what, row, err)
		}
	}
	check("built")
	for range 3 {
		commit()
		check("behind the copy")
		if err := a.Seal(ctx); err != nil {
			t.Fatal(err)
		}
		check("sealed")
	}
	if err := a.Rewind(ctx, archive.Position{"notes": 14}); err != nil {
		t.Fatal(err)
	}
	commit()
	check("rewound")
	view.Close()
	mustClose(t, old)
	mustClose(t, a)
	names, err := fs.List("/chain/index")
	if err != nil {
		t.Fatal(err)
	}
	if len(names) > 3 {
		t.Errorf("copies are left: %q", names)
	}
	if err := fs.RemoveAll("/chain/index"); err != nil {
		t.Fatal(err)
	}
	r := mustOpen(t, fs, "/chain", archive.Options{ReadOnly: true})
	wantKeys(t, r, "note", "notes", 0)
	mustClose(t, r)
}

// Whatever is in the place of the store, building makes an index that answers.
func TestIndexBuiltOverRubbish(t *testing.T) {
	for what, spoil := range map[string]func(t *testing.T, fs vfs.FS){
		"gone":         func(*testing.T, vfs.FS) {},
		"file":         func(t *testing.T, fs vfs.FS) { writeFile(t, fs, "/chain/index/live", []byte("rubbish")) },
		"other files":  func(t *testing.T, fs vfs.FS) { writeFile(t, fs, "/chain/index/live/CURRENT", []byte("rubbish")) },
		"no directory": func(t *testing.T, fs vfs.FS) { must(t, fs.RemoveAll("/chain/index")) },
		"a bad marker": func(t *testing.T, fs vfs.FS) {
			writeFile(t, fs, "/chain/index/live/marker.manifest.000001.MANIFEST-000009", nil)
		},
		"an empty file": func(t *testing.T, fs vfs.FS) { writeFile(t, fs, "/chain/index/live", nil) },
	} {
		t.Run(what, func(t *testing.T) {
			fs := vfs.NewMem()
			a := openPairs(t, fs, archive.Options{SealBytes: -1, Workers: 1})
			for n := range uint64(5) {
				if _, err := pair(a, n); err != nil {
					t.Fatal(err)
				}
			}
			must(t, a.CreateIndex(context.Background(), archive.IndexSpec{Name: "hash", Table: "blocks", Key: key(t, "hash")}, nil))
			mustClose(t, a)
			must(t, fs.RemoveAll("/chain/index/live"))
			if strings.Contains(what, "files") || strings.Contains(what, "marker") {
				must(t, fs.MkdirAll("/chain/index/live", 0o755))
			}
			spoil(t, fs)
			a = mustOpen(t, fs, "/chain", archive.Options{SealBytes: -1, Workers: 1})
			must(t, a.BuildIndex(context.Background(), "hash", nil))
			wantKeys(t, a, "hash", "blocks", 1)
			mustClose(t, a)
			a = mustOpen(t, fs, "/chain", archive.Options{ReadOnly: true})
			wantKeys(t, a, "hash", "blocks", 1)
			mustClose(t, a)
		})
	}
}

// A build that finds the store failed opens it anew: the other indexes have all rows
// then, or say that they have not, also of commits that come later.
func TestIndexesAfterAFailedStore(t *testing.T) {
	mem := vfs.NewCrashableMem()
	broken := false
	fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if broken && strings.Contains(op.Path, "index/live") && (op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData || op.Kind == errorfs.OpFileSyncTo) {
			return errors.New("the disk has lost it")
		}
		return nil
	}))
	a := openPairs(t, fs, archive.Options{SealBytes: -1, Workers: 1})
	ctx := context.Background()
	must(t, a.CreateIndex(ctx, archive.IndexSpec{Name: "hash", Table: "blocks", Key: key(t, "hash")}, nil))
	must(t, a.CreateIndex(ctx, archive.IndexSpec{Name: "note", Table: "notes", Key: key(t, "note")}, nil))
	for n := range uint64(5) {
		_, err := pair(a, n)
		must(t, err)
	}
	broken = true
	if err := a.BuildIndex(ctx, "hash", nil); err == nil {
		t.Log("the store did not fail") // it may have been synced
	}
	broken = false
	must(t, a.BuildIndex(ctx, "hash", nil))
	_, err := pair(a, 5)
	must(t, err)
	wantKeys(t, a, "hash", "blocks", 1)
	wantKeys(t, a, "note", "notes", 0)
	mustClose(t, a)
	a = mustOpen(t, fs, "/chain", archive.Options{SealBytes: -1, Workers: 1})
	wantKeys(t, a, "hash", "blocks", 1)
	wantKeys(t, a, "note", "notes", 0)
	mustClose(t, a)
}

// Readers are left a copy of the indexes every quarter of a million rows, also where nothing
// is sealed: there is an end to what they read instead.
func TestIndexCopiedBetweenSeals(t *testing.T) {
	fs, a := notesArchive(t, s2Policy)
	mustClose(t, a)
	a = mustOpen(t, fs, "/chain", archive.Options{SealBytes: -1})
	defer func() { mustClose(t, a) }()
	ctx := context.Background()
	must(t, a.CreateIndex(ctx, archive.IndexSpec{Name: "note", Table: "notes", Key: key(t, "note")}, nil))
	n := uint64(0)
	for range 4 {
		b := a.Batch()
		for range 70_000 {
			must(t, b.Append("notes", killedNote(n)))
			n++
		}
		_, err := b.Commit(ctx)
		must(t, err)
	}
	missing := n
	for wait := 0; missing > 0 && wait < 1000; wait++ { // it is made in the background
		time.Sleep(5 * time.Millisecond)
		r := mustOpen(t, fs, "/chain", archive.Options{ReadOnly: true})
		missing = r.Indexes()[0].Missing
		if v, err := r.View(); err != nil {
			t.Fatal(err)
		} else if row, err := v.Lookup("note", killedNote(279_999)[0]); err != nil || row != 279_999 {
			t.Fatalf("row %d, %v", row, err)
		} else {
			v.Close()
		}
		mustClose(t, r)
	}
	if missing > 0 {
		t.Errorf("%d of %d rows are not in the copy", missing, n)
	}
}
