package archive_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/segment/archive"
)

// Rows of the process that is killed say which they are.
func killedBlock(n uint64) segment.Row {
	hash := make([]byte, 32)
	copy(hash, segment.AppendUint(nil, n*0x9e3779b97f4a7c15))
	return segment.Row{segment.AppendUint(nil, n), hash, fmt.Appendf(nil, "block %d of a chain that is killed again and again", n)}
}

func killedNote(n uint64) segment.Row { return segment.Row{fmt.Appendf(nil, "note %d", n)} }

// killedCommit returns how many rows commit i has of each table.
func killedCommit(i uint64) (blocks, notes uint64) { return i%5 + 1, i % 7 }

// killedAt returns which commit ends with so many rows, or false.
func killedAt(blocks, notes uint64) (next uint64, ok bool) {
	b, n := uint64(0), uint64(7)
	for i := uint64(0); b <= blocks; i++ {
		if b == blocks && n == notes {
			return i, true
		}
		db, dn := killedCommit(i)
		b, n = b+db, n+dn
	}
	return 0, false
}

// appendUntilKilled commits, and seals in between; it says what is durable.
func appendUntilKilled(t *testing.T, dir string) {
	a := mustOpen(t, vfs.Default, dir, archive.Options{SealBytes: 30_000, KeepCommits: 5, CompressLog: true, SegmentBytes: 20_000})
	p := archive.Position{}
	for _, i := range a.Tables() {
		p[i.Table] = i.FirstRow + i.Rows
	}
	i, ok := killedAt(p["blocks"], p["notes"])
	if !ok {
		t.Fatalf("begins between commits: %v", p)
	}
	fmt.Println("begin")
	for ; ; i++ {
		b := a.Batch()
		blocks, notes := killedCommit(i)
		for range blocks {
			if err := b.Append("blocks", killedBlock(p["blocks"])); err != nil {
				t.Fatal(err)
			}
			p["blocks"]++
		}
		for range notes {
			if err := b.Append("notes", killedNote(p["notes"])); err != nil {
				t.Fatal(err)
			}
			p["notes"]++
		}
		if _, err := b.Commit(context.Background()); err != nil {
			t.Fatal(err)
		}
		fmt.Println("committed", i)
	}
}

// A process that appends, and seals in the background, is killed at random moments:
// every commit that it was told of is there, none by half, and every row is found by
// its key.
func TestKilledAppend(t *testing.T) {
	if dir := os.Getenv(killed); dir != "" {
		appendUntilKilled(t, dir)
		return
	}
	dir := filepath.Join(t.TempDir(), "chain")
	mustBuild(t, vfs.Default, dir, archive.CreateOptions{}, liveTables(t, s2Policy))
	a := mustOpen(t, vfs.Default, dir, archive.Options{})
	if err := a.CreateIndex(context.Background(), archive.IndexSpec{Name: "hash", Table: "blocks", Key: key(t, "hash")}, nil); err != nil {
		t.Fatal(err)
	}
	mustClose(t, a)
	rng := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 2))
	sealed, logged := 0, 0
	for i := 0; i < rounds() || (sealed == 0 || logged == 0) && i < 10*rounds(); i++ { // a slow machine seals later
		after := time.Duration(rng.IntN(80*(1+i/rounds()))) * time.Millisecond
		said := killAt(t, "TestKilledAppend", dir, after)
		told := uint64(0)
		for line := range strings.Lines(said) {
			var i uint64
			if n, _ := fmt.Sscanf(line, "committed %d\n", &i); n == 1 && strings.HasSuffix(line, "\n") {
				told = i + 1
			}
		}
		a := mustOpen(t, vfs.Default, dir, archive.Options{SealBytes: -1})
		c, err := read(a)
		if err != nil {
			t.Fatalf("killed after %v: %v\n%s", after, err, said)
		}
		next, ok := killedAt(uint64(len(c.rows["blocks"])), uint64(len(c.rows["notes"])))
		if !ok || next < told {
			t.Fatalf("killed after %v: %d blocks and %d notes, commit %d was told of\n%s", after, len(c.rows["blocks"]), len(c.rows["notes"]), told, said)
		}
		v, err := a.View()
		if err != nil {
			t.Fatal(err)
		}
		for n, row := range c.rows["blocks"] {
			if !equal(row, killedBlock(uint64(n))) {
				t.Fatalf("block %d is %q", n, row)
			}
			if rng.IntN(20) == 0 {
				if got, err := v.Lookup("hash", row[1]); err != nil || got != uint64(n) {
					t.Fatalf("block %d is found as %d, %v", n, got, err)
				}
			}
		}
		v.Close()
		for n, row := range c.rows["notes"][7:] {
			if !equal(row, killedNote(uint64(n+7))) {
				t.Fatalf("note %d is %q", n+7, row)
			}
		}
		for _, i := range a.Tables() {
			sealed += i.Segments
			logged += int(i.LogRows)
		}
		wantWhole(t, a)
		mustClose(t, a)
	}
	if sealed == 0 || logged == 0 {
		t.Errorf("%d segments and %d rows in logs were seen", sealed, logged)
	}
}

// A disk that is full, at whatever write of whatever work: the error says so, and the
// archive opens whole, with all that was committed.
func TestLiveNoSpace(t *testing.T) {
	s := script()
	for k := 1; ; k++ {
		mem := vfs.NewMem()
		mustBuild(t, mem, "/chain", archive.CreateOptions{}, liveTables(t, s2Policy))
		w := window{-1, -1}
		hit := false
		var n atomic.Int64
		fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if op.Kind == errorfs.OpFileWrite && n.Add(1) > int64(k) {
				hit = true
				return errNoSpace
			}
			return nil
		}))
		err := s.run(fs, func(step int, done bool) { s.reach(&w, step, done) })
		if !hit {
			if err != nil || k < 40 {
				t.Fatalf("%d writes: %v", k, err)
			}
			return
		}
		if !errors.Is(err, archive.ErrNoSpace) {
			t.Fatalf("write %d: %v", k, err)
		}
		a := mustOpen(t, mem, "/chain", archive.Options{SealBytes: -1})
		c, err := read(a)
		if err != nil {
			t.Fatalf("write %d: %v", k, err)
		}
		if _, ok := s.find(c, w); !ok {
			t.Fatalf("write %d: the archive is in none of the states %d to %d: %v", k, w.from, w.to, c)
		}
		mustClose(t, a)
	}
}

// Views, recompressions and rewinds leave neither files nor descriptors behind.
func TestNothingIsLeft(t *testing.T) {
	cycles := 1000
	if testing.Short() {
		cycles = 100
	}
	dir := filepath.Join(t.TempDir(), "chain")
	mustBuild(t, vfs.Default, dir, archive.CreateOptions{}, liveTables(t, s2Policy))
	ctx := context.Background()
	descriptors := func() int {
		names, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			return 0
		}
		return len(names)
	}
	mustClose(t, mustOpen(t, vfs.Default, dir, archive.Options{})) // what the process opens once and keeps
	open := descriptors()
	a := mustOpen(t, vfs.Default, dir, archive.Options{SealBytes: -1, OpenFiles: 4, Workers: 1})
	var views []*archive.View
	recompressed := 0
	for i := range cycles {
		b := a.Batch()
		if err := b.Append("blocks", killedBlock(uint64(i%50))); err != nil {
			t.Fatal(err)
		}
		if _, err := b.CommitNoSync(ctx); err != nil {
			t.Fatal(err)
		}
		v, err := a.View()
		if err != nil {
			t.Fatal(err)
		}
		views = append(views, v)
		switch i % 4 {
		case 0:
			err = a.Seal(ctx)
		case 2:
			end := v.Position()["blocks"]
			err = a.Rewind(ctx, archive.Position{"blocks": end - min(end, 4)}) // as many as came since
		}
		if err != nil {
			t.Fatal(err)
		}
		rep, err := a.Recompress(ctx, under(t, []string{zstdPolicy, rawPolicy}[i%2]), nil)
		if err != nil {
			t.Fatal(err)
		}
		recompressed += len(rep.Segments) - rep.Total.Skipped
		if tab, err := v.Table("blocks"); err != nil || tab.EndRow() > 0 {
			if _, err := tab.Row(nil, tab.EndRow()-1); err != nil {
				t.Fatalf("cycle %d: %v", i, err)
			}
		}
		if len(views) == 5 {
			views[0].Close()
			views = views[1:]
		}
	}
	for _, v := range views {
		v.Close()
	}
	if err := a.Seal(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Recompress(ctx, under(t, s2Policy), nil); err != nil {
		t.Fatal(err)
	}
	wantTidy(t, vfs.Default, a)
	if recompressed < cycles/2 {
		t.Errorf("%d segments were recompressed in %d cycles: this proves nothing", recompressed, cycles)
	}
	if c := a.Metrics().Gauges; c.Views != 0 || c.Waiting != 0 {
		t.Errorf("%+v", c)
	}
	mustClose(t, a)
	if n := descriptors(); n != open {
		t.Errorf("%d descriptors are open, %d were before", n, open)
	}
}
