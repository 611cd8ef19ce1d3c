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
	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/segment/archive"
)

// A segment that was replaced is released after its archive was closed, when
// another writer has brought back a file of the same bytes and so of its name.
func TestReleaseAfterClose(t *testing.T) {
	fs, ctx := vfs.NewMem(), context.Background()
	b, err := archive.Create(fs, "/a", archive.CreateOptions{})
	must(t, err)
	must(t, b.Create(archive.TableSpec{Name: "t", Schema: segment.Schema{Columns: []segment.Column{{Name: "c", Kind: segment.Bytes}}}}))
	for i := range 2000 {
		must(t, b.Append("t", segment.Row{fmt.Appendf(nil, "row %d of a table that compresses at every level in its own way", i*i)}))
	}
	_, err = b.Finish(ctx)
	must(t, err)
	recompress := func(level int) *archive.Archive {
		a, err := archive.Open(fs, "/a", archive.Options{})
		must(t, err)
		_, err = a.Recompress(ctx, archive.RecompressOptions{RecompressOptions: segment.RecompressOptions{Level: &level}}, nil)
		must(t, err)
		return a
	}
	must(t, recompress(1).Close())
	a, err := archive.Open(fs, "/a", archive.Options{})
	must(t, err)
	_, release, err := a.OpenSegment("t", 0)
	must(t, err)
	seven := 7
	_, err = a.Recompress(ctx, archive.RecompressOptions{RecompressOptions: segment.RecompressOptions{Level: &seven}}, nil)
	must(t, err)
	must(t, a.Close())
	must(t, recompress(1).Close())
	release()

	a, err = archive.Open(fs, "/a", archive.Options{ReadOnly: true})
	must(t, err)
	defer a.Close()
	tab, err := a.Table("t")
	must(t, err)
	if _, err := tab.Row(nil, 1999); err != nil {
		t.Fatal(err)
	}
}

// Close waits for a Refresh that is at work: no log stays open.
func TestCloseDuringRefresh(t *testing.T) {
	count := &countingFS{FS: vfs.NewMem()}
	var reader *archive.Archive
	closed := make(chan error, 1)
	fs := errorfs.Wrap(count, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if a := reader; a != nil && op.Kind == errorfs.OpOpen && strings.Contains(op.Path, "log-") {
			reader = nil
			go func() { closed <- a.Close() }()
			time.Sleep(20 * time.Millisecond) // as far as it gets
		}
		return nil
	}))
	w := openPairs(t, count.FS, archive.Options{SealBytes: -1, Workers: 1})
	_, err := pair(w, 0)
	must(t, err)
	r := mustOpen(t, fs, "/chain", archive.Options{ReadOnly: true})
	_, err = pair(w, 1)
	must(t, err)
	reader = r
	if err := r.Refresh(); err != nil && !errors.Is(err, archive.ErrClosed) {
		t.Errorf("Refresh: %v", err)
	}
	must(t, <-closed)
	must(t, w.Close())
	if n := count.open.Load(); n != 0 {
		t.Errorf("%d files are open", n)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
