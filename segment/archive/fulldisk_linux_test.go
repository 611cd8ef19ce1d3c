package archive_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/segment/archive"
)

// noisy returns the nth block: 3 KiB that do not compress.
func noisy(n uint64) segment.Row {
	var seed [32]byte
	binary.LittleEndian.PutUint64(seed[:], n)
	r := rand.NewChaCha8(seed)
	hash, body := make([]byte, 32), make([]byte, 3<<10)
	_, _ = r.Read(hash) // never fails
	_, _ = r.Read(body)
	return segment.Row{segment.AppendUint(nil, n), hash, body}
}

// fullDisk is an archive on a small disk, and what it was told to keep.
type fullDisk struct {
	t     *testing.T
	root  string // of the disk
	dir   string
	a     *archive.Archive
	acked uint64 // blocks, each with a note
}

const noisyBatch = 20 // blocks of a commit

func newFullDisk(t *testing.T) *fullDisk {
	d := &fullDisk{t: t, root: tmpfs(t, 32<<20)}
	d.dir = filepath.Join(d.root, "chain")
	tables := liveTables(t, s2Policy)
	tables[1].spec.FirstRow = 0
	mustBuild(t, vfs.Default, d.dir, archive.CreateOptions{}, tables)
	d.open()
	if err := d.a.CreateIndex(t.Context(), archive.IndexSpec{Name: "hash", Table: "blocks", Key: key(t, "hash")}, nil); err != nil {
		t.Fatal(err)
	}
	for i := range 40 { // 2.4 MB, half of it sealed
		if err := d.commit(); err != nil {
			t.Fatal(err)
		}
		if i == 20 {
			if err := d.a.Seal(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	return d
}

func (d *fullDisk) open() {
	d.t.Helper()
	d.a = mustOpen(d.t, vfs.Default, d.dir, archive.Options{SealBytes: -1, Workers: 1, SegmentBytes: 1 << 20})
}

func (d *fullDisk) commit() error {
	b := d.a.Batch()
	for n := d.acked; n < d.acked+noisyBatch; n++ {
		if err := errors.Join(b.Append("blocks", noisy(n)), b.Append("notes", killedNote(n))); err != nil {
			return err
		}
	}
	_, err := b.Commit(d.t.Context())
	if err == nil {
		d.acked += noisyBatch
	}
	return err
}

// fill leaves so many bytes on the disk, or a little less.
func (d *fullDisk) fill(room int64) {
	d.t.Helper()
	f, err := os.OpenFile(filepath.Join(d.root, "ballast"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		d.t.Fatal(err)
	}
	var st syscall.Statfs_t
	if err := syscall.Statfs(d.root, &st); err != nil {
		d.t.Fatal(err)
	}
	_, err = io.CopyN(f, zeros{}, max(int64(st.Bavail)*st.Bsize-room, 0))
	if err = errors.Join(err, f.Close()); err != nil && !errors.Is(err, syscall.ENOSPC) {
		d.t.Fatal(err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// holds wants the rows that were acknowledged, no others, and all of them by key; or,
// where that is allowed, that the index says that it cannot answer.
func (d *fullDisk) holds(what string, a *archive.Archive, unbuilt bool) {
	d.t.Helper()
	v, err := a.View()
	if err != nil {
		d.t.Fatalf("%s: %v", what, err)
	}
	defer v.Close()
	if p := v.Position(); p["blocks"] != d.acked || p["notes"] != d.acked {
		d.t.Fatalf("%s: tables end at %v, %d was acknowledged", what, p, d.acked)
	}
	for name, want := range map[string]func(uint64) segment.Row{"blocks": noisy, "notes": killedNote} {
		tab, err := v.Table(name)
		if err != nil {
			d.t.Fatal(err)
		}
		n := uint64(0)
		for row, err := range tab.Rows(0) {
			if err != nil || !equal(row, want(n)) {
				d.t.Fatalf("%s: row %d of %s: %v", what, n, name, err)
			}
			n++
		}
		if n != d.acked {
			d.t.Fatalf("%s: %d rows of %s", what, n, name)
		}
	}
	for n := range d.acked {
		got, err := v.Lookup("hash", noisy(n)[1])
		if unbuilt && errors.Is(err, archive.ErrIndex) {
			continue
		}
		if err != nil || got != n {
			d.t.Fatalf("%s: block %d is found as %d, %v", what, n, got, err)
		}
	}
	if _, err := v.Lookup("hash", noisy(d.acked)[1]); !errors.Is(err, archive.ErrNotFound) && !(unbuilt && errors.Is(err, archive.ErrIndex)) {
		d.t.Fatalf("%s: a block that was not acknowledged: %v", what, err)
	}
}

// A real disk that is full: whatever needs room says so and names a file; all that was
// acknowledged is there, for those who have the archive open and for those who open it
// then; and it goes on when there is room again.
func TestFullDisk(t *testing.T) {
	if !inOwnMounts(t) {
		return
	}
	seal := func(d *fullDisk) error { return d.a.Seal(context.Background()) }
	recompress := func(d *fullDisk, progress func(archive.Progress)) error {
		_, err := d.a.Recompress(context.Background(), under(d.t, rawPolicy), progress)
		return err
	}
	build := func(d *fullDisk) error { return d.a.BuildIndex(context.Background(), "hash", nil) }
	for _, c := range []struct {
		name  string
		room  int64
		fail  func(d *fullDisk) error
		again func(d *fullDisk) error
		file  string // that the error names
	}{
		{"append", 200 << 10, func(d *fullDisk) error {
			for range 1000 {
				if err := d.commit(); err != nil {
					return err
				}
			}
			return nil
		}, (*fullDisk).commit, "log-"},
		{"append to a new log", 0, func(d *fullDisk) error {
			mustClose(d.t, d.a)
			d.open()
			return d.commit()
		}, (*fullDisk).commit, "log-"},
		{"seal", 600 << 10, seal, seal, ".tmp"},
		{"recompress", 0, func(d *fullDisk) error { return recompress(d, nil) }, func(d *fullDisk) error { return recompress(d, nil) }, ".seg"},
		{"recompress, full meanwhile", 4 << 20, func(d *fullDisk) error {
			return recompress(d, func(archive.Progress) { d.fill(0) })
		}, func(d *fullDisk) error { return recompress(d, nil) }, ".seg"},
		{"index", 0, build, build, "index"},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			d := newFullDisk(t)
			d.fill(c.room)
			err := c.fail(d)
			if !errors.Is(err, archive.ErrNoSpace) || !strings.Contains(err.Error(), c.file) || !strings.Contains(err.Error(), " space") {
				t.Fatalf("%v", err)
			}
			t.Log(err)
			unbuilt := c.name == "index"
			d.holds("still open", d.a, unbuilt || c.name == "append to a new log") // opened while full: an index opens by writing
			r := mustOpen(t, vfs.Default, d.dir, archive.Options{ReadOnly: true})
			d.holds("opened by a reader while full", r, unbuilt)
			mustClose(t, r)
			if err := d.a.Close(); err != nil && !errors.Is(err, archive.ErrNoSpace) {
				t.Fatalf("closing: %v", err)
			}
			d.open()
			d.holds("opened by a writer while full", d.a, true)
			mustClose(t, d.a)
			if err := os.Remove(filepath.Join(d.root, "ballast")); err != nil {
				t.Fatal(err)
			}
			d.open()
			d.holds("opened with room", d.a, unbuilt)
			if err := c.again(d); err != nil {
				t.Fatalf("with room: %v", err)
			}
			for _, f := range []func(*fullDisk) error{(*fullDisk).commit, seal} {
				if err := f(d); err != nil {
					t.Fatalf("with room: %v", err)
				}
				d.holds("going on", d.a, false)
			}
			wantWhole(t, d.a)
			for _, name := range tree(t, vfs.Default, d.dir) {
				if strings.HasSuffix(name, ".tmp") || strings.Contains(name, "load-") {
					t.Errorf("left: %s", name)
				}
			}
			mustClose(t, d.a)
		})
	}
}
