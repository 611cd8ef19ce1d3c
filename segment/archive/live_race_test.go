package archive_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/segment/archive"
)

// pair commits one row to each table, of the same number.
func pair(a *archive.Archive, n uint64) (archive.Position, error) {
	b := a.Batch()
	if err := errors.Join(b.Append("blocks", killedBlock(n)), b.Append("notes", killedNote(n))); err != nil {
		return nil, err
	}
	return b.Commit(context.Background())
}

func openPairs(t *testing.T, fs vfs.FS, o archive.Options) *archive.Archive {
	t.Helper()
	tables := liveTables(t, s2Policy)
	tables[1].spec.FirstRow = 0
	mustBuild(t, fs, "/chain", archive.CreateOptions{}, tables)
	return mustOpen(t, fs, "/chain", o)
}

// Commits, and seals that they start, go on beside every other change; readers in the
// same process and read-only ones see both tables end with the same commit, always.
func TestEverythingAtOnce(t *testing.T) {
	fs := vfs.NewMem()
	a := openPairs(t, fs, archive.Options{SealBytes: 500, Workers: 1})
	ctx := context.Background()
	if err := a.CreateIndex(ctx, archive.IndexSpec{Name: "hash", Table: "blocks", Key: key(t, "hash")}, nil); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	loop := func(what string, f func(i int) error) {
		wg.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				if err := f(i); err != nil {
					t.Errorf("%s: %v", what, err)
					return
				}
			}
		})
	}
	same := func(p archive.Position) error {
		if p["blocks"] != p["notes"] {
			return fmt.Errorf("tables are out of step: %v", p)
		}
		return nil
	}
	commits := 1000
	if testing.Short() {
		commits = 200
	}
	done := make(chan struct{})
	wg.Go(func() {
		defer close(done)
		for range commits {
			v, err := a.View()
			if err != nil {
				t.Error(err)
				return
			}
			n := v.Position()["blocks"]
			v.Close()
			p, err := pair(a, n) // a rewind may have come in between: then the row says another number
			if err == nil {
				err = same(p)
			}
			if err != nil {
				t.Errorf("commit: %v", err)
				return
			}
		}
	})
	loop("index", func(i int) error {
		err := a.CreateIndex(ctx, archive.IndexSpec{Name: fmt.Sprintf("note%d", i), Table: "notes", Key: key(t, "note")}, nil)
		time.Sleep(5 * time.Millisecond)
		return err
	})
	loop("build", func(int) error {
		time.Sleep(3 * time.Millisecond)
		return a.BuildIndex(ctx, "hash", nil)
	})
	loop("rewind", func(int) error {
		time.Sleep(2 * time.Millisecond)
		v, err := a.View()
		if err != nil {
			return err
		}
		defer v.Close()
		n := v.Position()["blocks"]
		n -= min(n, 2)
		err = a.Rewind(ctx, archive.Position{"blocks": n, "notes": n})
		if errors.Is(err, segment.ErrRange) { // pruned meanwhile
			err = nil
		}
		return err
	})
	loop("prune", func(i int) error {
		time.Sleep(7 * time.Millisecond)
		_, err := a.Prune(ctx, "notes", uint64(i), false)
		if errors.Is(err, segment.ErrRange) {
			err = nil
		}
		return err
	})
	loop("recompress", func(i int) error {
		time.Sleep(5 * time.Millisecond)
		_, err := a.Recompress(ctx, under(t, []string{zstdPolicy, rawPolicy}[i%2]), nil)
		return err
	})
	for range 2 {
		loop("view", func(int) error {
			v, err := a.View()
			if err != nil {
				return err
			}
			defer v.Close()
			if err := same(v.Position()); err != nil {
				return err
			}
			tab, err := v.Table("blocks")
			if err != nil {
				return err
			}
			n := tab.FirstRow()
			for row, err := range tab.Rows(n) {
				if err != nil {
					return err
				}
				if n++; n%7 == 0 {
					got, err := v.Lookup("hash", bytes.Clone(row[1]))
					if err != nil && !errors.Is(err, archive.ErrIndex) || err == nil && got >= v.Position()["blocks"] {
						return fmt.Errorf("row %d is found as %d: %w", n-1, got, err)
					}
				}
			}
			return nil
		})
	}
	r := mustOpen(t, fs, "/chain", archive.Options{ReadOnly: true})
	loop("refresh", func(int) error { return r.Refresh() })
	loop("read-only", func(int) error {
		v, err := r.View()
		if err != nil {
			return err
		}
		defer v.Close()
		if err := same(v.Position()); err != nil {
			return err
		}
		tab, err := v.Table("blocks")
		if err != nil {
			return err
		}
		for row, err := range tab.Rows(tab.FirstRow()) {
			if errors.Is(err, archive.ErrStale) {
				return nil
			}
			if err != nil {
				return err
			}
			if _, err := v.Lookup("hash", bytes.Clone(row[1])); err != nil && !errors.Is(err, archive.ErrIndex) && !errors.Is(err, archive.ErrStale) {
				return err
			}
		}
		return nil
	})
	select {
	case <-done:
	case <-time.After(2 * time.Minute):
		panic("commits stand still") // with all stacks
	}
	close(stop)
	wg.Wait()
	mustClose(t, r)
	mustClose(t, a)
	a = mustOpen(t, fs, "/chain", archive.Options{SealBytes: -1})
	wantWhole(t, a)
	mustClose(t, a)
}

// After Close nothing is changed, whoever comes late.
func TestNothingAfterClose(t *testing.T) {
	fs := vfs.NewMem()
	a := openPairs(t, fs, archive.Options{SealBytes: -1, Workers: 1})
	ctx := context.Background()
	for n := range uint64(3) {
		if _, err := pair(a, n); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Seal(ctx); err != nil {
		t.Fatal(err)
	}
	v, err := a.View()
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Rewind(ctx, archive.Position{"blocks": 0, "notes": 0}); err != nil {
		t.Fatal(err)
	}
	mustClose(t, a)
	b := mustOpen(t, fs, "/chain", archive.Options{SealBytes: -1, Workers: 1})
	for n := range uint64(3) {
		if _, err := pair(b, n); err != nil { // the same rows: segments of the same names
			t.Fatal(err)
		}
	}
	if err := b.Seal(ctx); err != nil {
		t.Fatal(err)
	}
	v.Close()
	if err := a.CreateIndex(ctx, archive.IndexSpec{Name: "hash", Table: "blocks", Key: key(t, "hash")}, nil); !errors.Is(err, archive.ErrClosed) {
		t.Errorf("an index after Close: %v", err)
	}
	if _, err := pair(a, 9); !errors.Is(err, archive.ErrClosed) {
		t.Errorf("a commit after Close: %v", err)
	}
	wantWhole(t, b)
	mustClose(t, b)
	b = mustOpen(t, fs, "/chain", archive.Options{SealBytes: -1, Workers: 1})
	if c, err := read(b); err != nil || len(c.rows["blocks"]) != 3 {
		t.Errorf("%v, %v", c, err)
	}
	wantWhole(t, b)
	mustClose(t, b)
}

// Indexes that are made at the same time are all there.
func TestIndexesAtOnce(t *testing.T) {
	fs := vfs.NewMem()
	a := openPairs(t, fs, archive.Options{SealBytes: -1, Workers: 1})
	defer mustClose(t, a)
	for n := range uint64(10) {
		if _, err := pair(a, n); err != nil {
			t.Fatal(err)
		}
	}
	var wg sync.WaitGroup
	for i := range 5 {
		wg.Go(func() {
			if err := a.CreateIndex(context.Background(), archive.IndexSpec{Name: fmt.Sprintf("i%d", i), Table: "notes", Key: key(t, "note")}, nil); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := len(a.Indexes()); n != 5 {
		t.Errorf("%d indexes", n)
	}
	for i := range 5 {
		wantKeys(t, a, fmt.Sprintf("i%d", i), "notes", 0)
	}
}

// A seal that fails is not tried again with every commit.
func TestSealThatFails(t *testing.T) {
	mem := vfs.NewMem()
	fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpCreate && strings.HasSuffix(op.Path, ".tmp") && strings.Contains(op.Path, "blocks/") {
			return errNoSpace
		}
		return nil
	}))
	a := openPairs(t, fs, archive.Options{SealBytes: 100, Workers: 1})
	for n := range uint64(100) {
		if _, err := pair(a, n); err != nil {
			t.Fatal(err)
		}
	}
	for wait := 0; a.Metrics().SealError == "" && wait < 1000; wait++ { // it fails in the background
		time.Sleep(5 * time.Millisecond)
	}
	names, err := mem.List("/chain")
	if err != nil {
		t.Fatal(err)
	}
	if len(names) > 10 {
		t.Errorf("%d files: %q", len(names), names)
	}
	if c := a.Metrics(); c.SealError == "" {
		t.Errorf("%+v", c)
	}
	mustClose(t, a)
}

// An index that cannot follow a rewind does not keep it from happening; it is removed,
// and can be built anew.
func TestRewindWithAFailedIndex(t *testing.T) {
	mem := vfs.NewMem()
	full := false
	fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if full && op.Kind.ReadOrWrite() == errorfs.OpIsWrite && strings.Contains(op.Path, filepath.Join("index", "live")) && op.Kind != errorfs.OpRemove && op.Kind != errorfs.OpRemoveAll {
			return errNoSpace
		}
		return nil
	}))
	a := openPairs(t, fs, archive.Options{SealBytes: -1, Workers: 1})
	ctx := context.Background()
	if err := a.CreateIndex(ctx, archive.IndexSpec{Name: "hash", Table: "blocks", Key: key(t, "hash")}, nil); err != nil {
		t.Fatal(err)
	}
	for n := range uint64(10) {
		if _, err := pair(a, n); err != nil {
			t.Fatal(err)
		}
	}
	full = true
	if err := a.Rewind(ctx, archive.Position{"blocks": 5, "notes": 5}); err != nil {
		t.Fatal(err)
	}
	full = false
	v, err := a.View()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := v.Lookup("hash", killedBlock(3)[1]); !errors.Is(err, archive.ErrIndex) {
		t.Errorf("a removed index: %v", err)
	}
	v.Close()
	if err := a.BuildIndex(ctx, "hash", nil); err != nil {
		t.Fatal(err)
	}
	wantKeys(t, a, "hash", "blocks", 1)
	mustClose(t, a)
}
