package archive_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/segstore/segstore/segment/archive"
)

// image is what the disk may hold after a crash.
type image struct {
	fs   *vfs.MemFS
	what string // the operation before which it was taken
	done bool   // whether run had returned
}

// crash runs something on a file system and returns images of it: before each
// write, sync, rename or removal, and at the end; with nothing of what was not
// synced, and twice with half of it.
func crash(t *testing.T, prepare, run func(fs vfs.FS)) (images []image) {
	t.Helper()
	mem := vfs.NewCrashableMem()
	prepare(mem)
	rng := rand.New(rand.NewPCG(3, 4))
	take := func(what string, done bool) {
		for _, percent := range []int{0, 50, 50} {
			images = append(images, image{mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rng}), fmt.Sprintf("%s, %d %%", what, percent), done})
		}
	}
	n := 0
	run(errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			take(fmt.Sprintf("write %d: kind %d on %s", n, op.Kind, op.Path), false)
			n++
		}
		return nil
	})))
	take("the end", true)
	t.Logf("%d writes, %d images", n, len(images))
	if n < 20 {
		t.Fatal("too few writes")
	}
	return images
}

func TestCrashBuild(t *testing.T) {
	for _, text := range []string{zstdPolicy, dictPolicy} {
		tables := testTables(t, 60, text)
		o := archive.CreateOptions{SegmentBytes: 4 << 10, Workers: 1, Policy: policy(t, s2Policy)}
		images := crash(t, func(vfs.FS) {}, func(fs vfs.FS) { mustBuild(t, fs, "/chain", o, tables) })
		there := 0
		for _, im := range images {
			_, err := im.fs.Stat("/chain")
			switch {
			case err == nil:
				there++
			case im.done:
				t.Fatalf("%s: no archive", im.what)
			default:
				mustBuild(t, im.fs, "/chain", o, tables)
			}
			a := mustOpen(t, im.fs, "/chain", archive.Options{})
			wantRows(t, a, tables)
			wantWhole(t, a)
			wantTidy(t, im.fs, a)
			if names := tree(t, im.fs, "/"); len(names) != len(tree(t, im.fs, "/chain"))+1 {
				t.Errorf("beside the archive: %q", names)
			}
			mustClose(t, a)
			if t.Failed() {
				t.Fatal(im.what)
			}
		}
		if there < 3 {
			t.Fatal("no image has the archive")
		}
	}
}

func TestCrashRecompress(t *testing.T) {
	for name, each := range map[string]bool{"each": true, "together": false} {
		t.Run(name, func(t *testing.T) { crashRecompress(t, each) })
	}
}

// crashRecompress lets the manifest name each new segment by itself, or several.
func crashRecompress(t *testing.T, each bool) {
	tables := testTables(t, 60, s2Policy)
	var before []archive.SegmentInfo
	images := crash(t, func(fs vfs.FS) {
		mustBuild(t, fs, "/chain", archive.CreateOptions{SegmentBytes: 4 << 10, Workers: 1, Policy: policy(t, s2Policy)}, tables)
		a := mustOpen(t, fs, "/chain", archive.Options{})
		before = segments(t, a)
		mustClose(t, a)
	}, func(fs vfs.FS) {
		a := mustOpen(t, fs, "/chain", archive.Options{})
		if each {
			archive.NameEach(a)
		}
		mustRecompress(t, a, under(t, zstdPolicy))
		mustClose(t, a)
	})
	news := map[int]int{} // images by how many of their segments are new
	for _, im := range images {
		oldOrNew(t, im.fs, tables, before)
		a := mustOpen(t, im.fs, "/chain", archive.Options{})
		fresh := 0
		for i, s := range segments(t, a) {
			if s.File != before[i].File {
				fresh++
			}
		}
		news[fresh]++
		if im.done && fresh != len(before) {
			t.Errorf("%d of %d segments are new, after all was done", fresh, len(before))
		}
		// What was done is not done again.
		rep := mustRecompress(t, a, under(t, zstdPolicy))
		if rep.Total.Skipped != fresh {
			t.Errorf("%d segments skipped, %d were new", rep.Total.Skipped, fresh)
		}
		mustClose(t, a)
		if t.Failed() {
			t.Fatal(im.what)
		}
	}
	if each && len(news) != len(before)+1 || news[0] == 0 || news[len(before)] == 0 {
		t.Errorf("images have %v new segments, of %d", news, len(before))
	}
}

// A crash while the next writer clears away what the last one left.
func TestCrashTwice(t *testing.T) {
	tables := testTables(t, 60, s2Policy)
	var before []archive.SegmentInfo
	prepare := func(fs vfs.FS) {
		mustBuild(t, fs, "/chain", archive.CreateOptions{SegmentBytes: 4 << 10, Workers: 1}, tables)
		a := mustOpen(t, fs, "/chain", archive.Options{})
		before = segments(t, a)
		mustClose(t, a)
		for i := range 12 {
			writeFile(t, fs, fmt.Sprintf("/chain/blocks/0000000100.%d.tmp", i), []byte("half"))
			writeFile(t, fs, fmt.Sprintf("/chain/blocks/0000000100-0000000101-%016x.seg", i), []byte("replaced"))
		}
	}
	for _, im := range crash(t, prepare, func(fs vfs.FS) { mustClose(t, mustOpen(t, fs, "/chain", archive.Options{})) }) {
		oldOrNew(t, im.fs, tables, before)
		if t.Failed() {
			t.Fatal(im.what)
		}
	}
}

func TestCrashRecompressTo(t *testing.T) {
	tables := testTables(t, 40, s2Policy)
	images := crash(t, func(fs vfs.FS) {
		mustBuild(t, fs, "/chain", archive.CreateOptions{SegmentBytes: 4 << 10, Workers: 1}, tables)
	}, func(fs vfs.FS) {
		a := mustOpen(t, fs, "/chain", archive.Options{ReadOnly: true})
		if _, err := a.RecompressTo(context.Background(), "/copy", under(t, zstdPolicy), nil); err != nil {
			t.Fatal(err)
		}
		mustClose(t, a)
	})
	for _, im := range images {
		if slices.Contains(tree(t, im.fs, "/"), "/copy") {
			a := mustOpen(t, im.fs, "/copy", archive.Options{})
			wantRows(t, a, tables)
			wantTidy(t, im.fs, a)
			mustClose(t, a)
		} else if im.done {
			t.Fatal("no copy")
		}
		a := mustOpen(t, im.fs, "/chain", archive.Options{})
		wantRows(t, a, tables)
		wantTidy(t, im.fs, a)
		mustClose(t, a)
	}
}
