//go:build unix

package archive_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/segment/archive"
)

// A pipe, opening which waits for ever, and a socket are refused, wherever a file
// should be.
func TestPipesAndSockets(t *testing.T) {
	dir := t.TempDir()
	chain := filepath.Join(dir, "chain")
	mustBuild(t, vfs.Default, chain, archive.CreateOptions{SegmentBytes: 20 << 10}, testTables(t, 300, s2Policy))
	a := mustOpen(t, vfs.Default, chain, archive.Options{ReadOnly: true})
	defer mustClose(t, a)
	all := segments(t, a)
	for _, s := range all[:2] {
		if err := os.Remove(a.Path(s)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(a.Path(all[0]), 0o666); err != nil {
		t.Skip(err)
	}
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Skip(err)
	}
	defer syscall.Close(fd)
	t.Chdir(filepath.Dir(a.Path(all[1]))) // addresses are short
	if err := syscall.Bind(fd, &syscall.SockaddrUnix{Name: filepath.Base(a.Path(all[1]))}); err != nil {
		t.Skip(err)
	}
	done := make(chan bool)
	go func() {
		defer close(done)
		var files []string
		for f, err := range a.Verify(context.Background(), archive.VerifyOptions{}) {
			if err != nil || !errors.Is(&f, archive.ErrNotFile) {
				t.Errorf("%v, %v", &f, err)
			}
			files = append(files, f.File)
		}
		if len(files) != 2 || files[0] != all[0].File || files[1] != all[1].File {
			t.Errorf("flaws in %q", files)
		}
		for _, s := range all[:2] {
			if _, err := archive.OpenFile(vfs.Default, a.Path(s), segment.ReaderOptions{}); !errors.Is(err, archive.ErrNotFile) {
				t.Errorf("OpenFile: %v", err)
			}
			if _, _, err := archive.Checksum(context.Background(), vfs.Default, a.Path(s)); !errors.Is(err, archive.ErrNotFile) {
				t.Errorf("Checksum: %v", err)
			}
			if e, err := a.Expect(context.Background(), s.Checksum.String()); err != nil || e.Answer != archive.Different {
				t.Errorf("Expect: %+v, %v", e, err)
			}
		}
		pipes := filepath.Join(dir, "pipes")
		if err := errors.Join(os.Mkdir(pipes, 0o777), syscall.Mkfifo(filepath.Join(pipes, archive.ManifestName), 0o666)); err != nil {
			t.Error(err)
		}
		if _, err := archive.Open(vfs.Default, pipes, archive.Options{ReadOnly: true}); !errors.Is(err, archive.ErrManifest) {
			t.Errorf("a pipe for a manifest: %v", err)
		}
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("waits for a pipe")
	}
}
