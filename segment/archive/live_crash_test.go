package archive_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/segstore/segstore/codec"
	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/segment/archive"
)

// contents are the rows of an archive, by table, and the first row of each.
type contents struct {
	rows  map[string][]segment.Row
	first map[string]uint64
}

func (c contents) equal(o contents) bool {
	for name, rows := range c.rows {
		if c.first[name] != o.first[name] || !slices.EqualFunc(rows[c.first[name]:], o.rows[name][min(o.first[name], uint64(len(o.rows[name]))):], equal) {
			return false
		}
	}
	return len(c.rows) == len(o.rows)
}

// read returns what an archive holds.
func read(a *archive.Archive) (contents, error) {
	c := contents{map[string][]segment.Row{}, map[string]uint64{}}
	for _, i := range a.Tables() {
		t, err := a.Table(i.Table)
		if err != nil {
			return c, err
		}
		rows := make([]segment.Row, t.FirstRow())
		for row, err := range t.Rows(t.FirstRow()) {
			if err != nil {
				return c, err
			}
			clone := make(segment.Row, len(row))
			for k := range row {
				clone[k] = slices.Clone(row[k])
			}
			rows = append(rows, clone)
		}
		c.rows[i.Table], c.first[i.Table] = rows, t.FirstRow()
	}
	return c, nil
}

// liveScript is a sequence of changes, and what the archive holds after each.
type liveScript struct {
	steps []liveStep
}

type liveStep struct {
	what    string
	do      func(a *archive.Archive) error
	after   contents
	durable bool // when do has returned, this step and all before it are
}

// script returns steps on tables that are empty, from 0 and 7 on.
func script() *liveScript {
	s := &liveScript{}
	now := contents{map[string][]segment.Row{"blocks": nil, "notes": make([]segment.Row, 7)}, map[string]uint64{"blocks": 0, "notes": 7}}
	n := 0
	step := func(what string, durable bool, change func(c *contents), do func(a *archive.Archive) error) {
		c := contents{snapshot(now.rows), maps.Clone(now.first)}
		change(&c)
		now = c
		s.steps = append(s.steps, liveStep{what, do, c, durable})
	}
	commit := func(blocks, notes int, sync bool) {
		add := map[string][]segment.Row{}
		for range blocks {
			n++
			add["blocks"] = append(add["blocks"], segment.Row{segment.AppendUint(nil, uint64(n)), make([]byte, 32), fmt.Appendf(nil, "block %d", n)})
		}
		for range notes {
			n++
			add["notes"] = append(add["notes"], segment.Row{fmt.Appendf(nil, "note %d", n)})
		}
		step(fmt.Sprintf("commit %d and %d, sync %t", blocks, notes, sync), sync, func(c *contents) {
			for name, rows := range add {
				c.rows[name] = append(c.rows[name], rows...)
			}
		}, func(a *archive.Archive) error {
			b := a.Batch()
			for name, rows := range add {
				if err := b.Append(name, rows...); err != nil {
					return err
				}
			}
			var err error
			if sync {
				_, err = b.Commit(context.Background())
			} else {
				_, err = b.CommitNoSync(context.Background())
			}
			return err
		})
	}
	extra := func(rows int) {
		add := make([]segment.Row, rows)
		for i := range add {
			n++
			add[i] = segment.Row{fmt.Appendf(nil, "extra %d", n)}
		}
		step(fmt.Sprintf("commit %d to the new table", rows), true, func(c *contents) { c.rows["extra"] = append(c.rows["extra"], add...) }, func(a *archive.Archive) error {
			b := a.Batch()
			if err := b.Append("extra", add...); err != nil {
				return err
			}
			_, err := b.Commit(context.Background())
			return err
		})
	}
	seal := func() {
		step("seal", true, func(*contents) {}, func(a *archive.Archive) error { return a.Seal(context.Background()) })
	}
	rewind := func(blocks, notes uint64) {
		step(fmt.Sprintf("rewind to %d and %d", blocks, notes), true, func(c *contents) {
			c.rows["blocks"], c.rows["notes"] = slices.Clone(c.rows["blocks"][:blocks]), slices.Clone(c.rows["notes"][:notes])
		}, func(a *archive.Archive) error {
			return a.Rewind(context.Background(), archive.Position{"blocks": blocks, "notes": notes})
		})
	}
	prune := func(table string, before, first uint64) {
		step("prune", true, func(c *contents) { c.first[table] = first }, func(a *archive.Archive) error {
			_, err := a.Prune(context.Background(), table, before, false)
			return err
		})
	}
	recompress := func(p archive.RecompressOptions) {
		step("recompress", true, func(*contents) {}, func(a *archive.Archive) error {
			_, err := a.Recompress(context.Background(), p, nil)
			return err
		})
	}
	zstd, raw := archive.RecompressOptions{}, archive.RecompressOptions{}
	zstd.Policy, raw.Policy = mustPolicy(zstdPolicy), mustPolicy(rawPolicy)

	commit(3, 5, true)
	commit(1, 0, true)
	commit(0, 2, false)
	commit(2, 2, false)
	step("sync", true, func(*contents) {}, func(a *archive.Archive) error { return a.Sync(context.Background()) })
	rewind(5, 14) // in the log
	commit(3, 3, true)
	seal() // blocks 0-8, notes 7-17
	commit(2, 2, true)
	commit(1, 1, false)
	step("create a table", true, func(c *contents) { c.rows["extra"], c.first["extra"] = make([]segment.Row, 3), 3 }, func(a *archive.Archive) error {
		return a.CreateTable(context.Background(), archive.TableSpec{Name: "extra", Schema: notesSchema(), FirstRow: 3, Policy: mustPolicy(s2Policy)})
	})
	extra(2)
	recompress(zstd)
	extra(1)
	commit(1, 1, true)
	seal()         // blocks 8-12, notes 17-21
	rewind(10, 21) // into a segment
	commit(1, 1, true)
	rewind(8, 17) // a segment less
	commit(2, 2, true)
	rewind(9, 18) // in the log
	extra(2)
	commit(1, 0, true)
	prune("blocks", 8, 8)
	seal()
	recompress(raw)
	commit(1, 1, true)
	rewind(9, 12) // into the oldest segment of one, the last of the other
	commit(2, 2, true)
	seal()
	prune("notes", 13, 12)
	return s
}

// run does the steps, as far as they go; reached is told before and after each.
func (s *liveScript) run(fs vfs.FS, reached func(step int, done bool)) (err error) {
	a, err := archive.Open(fs, "/chain", archive.Options{SealBytes: -1, Workers: 1, CompressLog: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	for i, st := range s.steps {
		reached(i, false)
		if err := st.do(a); err != nil {
			return fmt.Errorf("step %d, %s: %w", i, st.what, err)
		}
		reached(i, true)
	}
	return nil
}

// window is which states a crash may leave: those after steps from to to; -1 is before
// the first.
type window struct{ from, to int }

func (s *liveScript) reach(w *window, step int, done bool) {
	w.to = step
	if done && s.steps[step].durable {
		w.from = step
	}
}

// find returns which state of the window an archive is in.
func (s *liveScript) find(c contents, w window) (int, bool) {
	for i := w.from; i <= w.to; i++ {
		if i < 0 {
			if len(c.rows["blocks"]) == 0 && len(c.rows["notes"]) == 7 {
				return i, true
			}
			continue
		}
		if c.equal(s.steps[i].after) {
			return i, true
		}
	}
	return 0, false
}

func mustPolicy(text string) codec.Policy {
	p, err := codec.ParsePolicy(text)
	if err != nil {
		panic(err)
	}
	return p
}

func TestLiveScript(t *testing.T) {
	s := script()
	fs := vfs.NewMem()
	mustBuild(t, fs, "/chain", archive.CreateOptions{}, liveTables(t, dictPolicy))
	a := mustOpen(t, fs, "/chain", archive.Options{SealBytes: -1, Workers: 1, CompressLog: true})
	for i, st := range s.steps {
		if err := st.do(a); err != nil {
			t.Fatalf("step %d, %s: %v", i, st.what, err)
		}
		for _, again := range []bool{false, true} {
			if again {
				mustClose(t, a)
				a = mustOpen(t, fs, "/chain", archive.Options{SealBytes: -1, Workers: 1, CompressLog: true})
			}
			if c, err := read(a); err != nil || !c.equal(st.after) {
				t.Fatalf("step %d, %s, opened again %t: %v, error %v, want %v", i, st.what, again, c, err, st.after)
			}
		}
	}
	mustClose(t, a)
}

// After a crash at any write of the script, with none or half of what was not synced,
// the archive holds what was committed and durable, or a little more, in order; and it
// goes on from there.
func TestLiveCrash(t *testing.T) {
	s := script()
	w := window{-1, -1}
	var windows []window
	n := 0
	images := crash(t, func(fs vfs.FS) {
		mustBuild(t, fs, "/chain", archive.CreateOptions{}, liveTables(t, dictPolicy))
	}, func(fs vfs.FS) {
		counted := errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
				windows = append(windows, w)
			}
			return nil
		}))
		if err := s.run(counted, func(step int, done bool) { s.reach(&w, step, done) }); err != nil {
			t.Fatal(err)
		}
		windows = append(windows, w)
	})
	if len(images) != 3*len(windows) {
		t.Fatalf("%d images, %d windows", len(images), len(windows))
	}
	later := 0
	for i, im := range images {
		if testing.Short() && i%10 != 0 {
			continue
		}
		n++
		w := windows[i/3]
		for _, readOnly := range []bool{true, false} {
			a, err := archive.Open(im.fs, "/chain", archive.Options{ReadOnly: readOnly, SealBytes: -1, Workers: 1, CompressLog: true})
			if err != nil {
				t.Fatalf("%s: %v", im.what, err)
			}
			c, err := read(a)
			if err != nil {
				t.Fatalf("%s: %v", im.what, err)
			}
			at, ok := s.find(c, w)
			if !ok {
				t.Fatalf("%s: the archive is in none of the states %d to %d: %v", im.what, w.from, w.to, c)
			}
			if at > w.from {
				later++
			}
			if !readOnly {
				wantWhole(t, a)
				b := a.Batch()
				row := segment.Row{[]byte("behind the crash")}
				if err := b.Append("notes", row); err != nil {
					t.Fatal(err)
				}
				if _, err := b.Commit(context.Background()); err != nil {
					t.Fatalf("%s: %v", im.what, err)
				}
				c.rows["notes"] = append(c.rows["notes"], row)
				mustClose(t, a)
				a = mustOpen(t, im.fs, "/chain", archive.Options{SealBytes: -1, Workers: 1, CompressLog: true})
				if d, err := read(a); err != nil || !d.equal(c) {
					t.Fatalf("%s: a commit behind it: %v, %v", im.what, d, err)
				}
				if err := a.Seal(context.Background()); err != nil {
					t.Fatalf("%s: %v", im.what, err)
				}
				wantLogsGone(t, im.fs, a)
				if d, err := read(a); err != nil || !d.equal(c) {
					t.Fatalf("%s: sealed behind it: %v, %v", im.what, d, err)
				}
			}
			mustClose(t, a)
		}
	}
	if later == 0 {
		t.Error("nothing but what was durable was ever found")
	}
	t.Logf("%d images opened", n)
}

// A fault at every operation: the error is returned, nothing that was acknowledged is
// lost, and the archive opens whole.
func TestLiveFaults(t *testing.T) {
	s := script()
	if testing.Short() { // up to the first rewind into a segment
		s.steps = s.steps[:14]
	}
	var w window
	faults(t, func(fs vfs.FS) {
		w = window{-1, -1}
		mustBuild(t, fs, "/chain", archive.CreateOptions{}, liveTables(t, dictPolicy))
	}, func(fs vfs.FS) error {
		return s.run(fs, func(step int, done bool) { s.reach(&w, step, done) })
	}, func(fs vfs.FS, failed error) {
		a := mustOpen(t, fs, "/chain", archive.Options{SealBytes: -1, Workers: 1, CompressLog: true})
		defer mustClose(t, a)
		c, err := read(a)
		if err != nil {
			t.Fatalf("after %v: %v", failed, err)
		}
		if _, ok := s.find(c, w); !ok {
			t.Fatalf("after %v: the archive is in none of the states %d to %d: %v", failed, w.from, w.to, c)
		}
	})
}
