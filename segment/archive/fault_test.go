package archive_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/segment/archive"
)

// faults calls run again and again, each time with a file system of which one
// operation fails: the first, the second, … until run needs no more; and the same
// with one of which that operation and all after it fail. Failures must come back
// as an error; after each, check is called with the file system, whole again. A
// nil check says that run changes nothing.
func faults(t *testing.T, prepare func(fs vfs.FS), run func(fs vfs.FS) error, check func(fs vfs.FS, failed error)) {
	t.Helper()
	var mem *vfs.MemFS
	for _, sticky := range []bool{false, true} {
		for k := int64(0); ; k++ {
			if k == 0 || check != nil {
				mem = vfs.NewMem()
				prepare(mem)
			}
			var n atomic.Int64
			var what atomic.Pointer[string]
			fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
				i := n.Add(1) - 1
				if i != k && (!sticky || i < k) {
					return nil
				}
				if i == k {
					s := fmt.Sprintf("kind %d on %s", op.Kind, op.Path)
					switch op.Kind {
					case errorfs.OpRemove:
						s = "removing " + op.Path
					case errorfs.OpLock:
						s = "locking " + op.Path
					}
					what.Store(&s)
				}
				return errorfs.ErrInjected
			}))
			err := run(fs)
			w := what.Load()
			if w == nil {
				if err != nil {
					t.Fatalf("without a fault: %v", err)
				}
				if k < 10 {
					t.Fatalf("only %d operations", k)
				}
				t.Logf("sticky %t: %d operations", sticky, k)
				break
			}
			// Tried again, or left to the next writer; and a foreign builder's lock.
			cleanup := strings.HasPrefix(*w, "removing ") && !sticky || strings.HasPrefix(*w, "locking "+staleDir)
			if !errors.Is(err, errorfs.ErrInjected) && !(cleanup && err == nil) {
				t.Fatalf("operation %d (%s), sticky %t: failure swallowed: %v", k, *w, sticky, err)
			}
			if errors.Is(err, segment.ErrCorrupt) {
				t.Fatalf("operation %d (%s): an I/O error is reported as corruption: %v", k, *w, err)
			}
			if check != nil {
				check(mem, err)
			}
			if t.Failed() {
				t.Fatalf("operation %d (%s), sticky %t, error %v", k, *w, sticky, err)
			}
		}
	}
}

const staleDir = "/chain.tmp-0123456789abcdef"

func TestFaultsBuild(t *testing.T) {
	for text, size := range map[string]int64{zstdPolicy: 4 << 10, dictPolicy: 1 << 20} {
		tables := testTables(t, 40, text)
		again := testTables(t, 40, zstdPolicy) // training takes its time
		o := archive.CreateOptions{SegmentBytes: size, Workers: 1, Policy: policy(t, s2Policy)}
		faults(t,
			func(fs vfs.FS) {
				if err := fs.MkdirAll(staleDir+"/blocks", 0o777); err != nil {
					t.Fatal(err)
				}
			},
			func(fs vfs.FS) error {
				_, err := build(fs, "/chain", o, tables)
				return err
			},
			func(fs vfs.FS, failed error) {
				if _, err := fs.Stat("/chain"); err == nil {
					// Whole, if it is there: the disk failed just when it got its name, and
					// removing it failed too.
					a := mustOpen(t, fs, "/chain", archive.Options{})
					wantRows(t, a, tables)
					wantTidy(t, fs, a)
					mustClose(t, a)
					return
				}
				mustBuild(t, fs, "/chain", o, again)
			})
	}
}

func TestFaultsRecompress(t *testing.T) {
	tables := testTables(t, 40, s2Policy)
	var before []archive.SegmentInfo
	prepare := func(fs vfs.FS) {
		mustBuild(t, fs, "/chain", archive.CreateOptions{SegmentBytes: 4 << 10, Workers: 1, Policy: policy(t, s2Policy)}, tables)
		writeFile(t, fs, "/chain/blocks/0000000100.1.tmp", []byte("half"))
		writeFile(t, fs, "/chain/MANIFEST.json.tmp", []byte("half"))
		writeFile(t, fs, "/chain/blocks/0000000100-0000000101-0123456789abcdef.seg", []byte("replaced"))
		a := mustOpen(t, fs, "/chain", archive.Options{ReadOnly: true})
		before = segments(t, a)
		mustClose(t, a)
	}
	for _, each := range []bool{true, false} {
		run := func(fs vfs.FS) error {
			a, err := archive.Open(fs, "/chain", archive.Options{OpenFiles: 2, Workers: 1})
			if err != nil {
				return err
			}
			if each {
				archive.NameEach(a)
			}
			rep, err := a.Recompress(context.Background(), under(t, zstdPolicy), nil)
			if err == nil {
				err = compareRows(a, tables, false)
			}
			reportHolds(t, a, rep)
			return errors.Join(err, a.Close())
		}
		faults(t, prepare, run, func(fs vfs.FS, _ error) {
			oldOrNew(t, fs, tables, before)
		})
	}
}

// reportHolds insists that every segment of a report is in the archive as it is now.
func reportHolds(t *testing.T, a *archive.Archive, rep *archive.Report) {
	t.Helper()
	if rep == nil {
		return
	}
	all := segments(t, a)
	for _, s := range rep.Segments {
		if !slices.ContainsFunc(all, func(i archive.SegmentInfo) bool { return i.File == s.File }) {
			t.Errorf("the report has %s, which is not there", s.File)
		}
	}
}

// oldOrNew opens an archive that was being recompressed: each segment must be the
// old one or hold the same rows, and nothing else may be there.
func oldOrNew(t *testing.T, fs vfs.FS, tables []testTable, before []archive.SegmentInfo) {
	t.Helper()
	r := mustOpen(t, fs, "/chain", archive.Options{ReadOnly: true})
	wantRows(t, r, tables)
	mustClose(t, r)
	a := mustOpen(t, fs, "/chain", archive.Options{})
	defer mustClose(t, a)
	wantTidy(t, fs, a)
	wantRows(t, a, tables)
	wantWhole(t, a)
	for i, s := range segments(t, a) {
		if s.ContentRoot != before[i].ContentRoot || s.FirstRow != before[i].FirstRow || s.Rows != before[i].Rows {
			t.Errorf("segment %+v, before %+v", s, before[i])
		}
		if s.File != before[i].File && (len(s.Replaced) == 0 || s.Replaced[len(s.Replaced)-1].Checksum != before[i].Checksum) {
			t.Errorf("segment %s does not remember %s", s.File, before[i].File)
		}
	}
}

func TestFaultsRecompressTo(t *testing.T) {
	tables := testTables(t, 40, s2Policy)
	o := under(t, zstdPolicy)
	o.Tables = []string{"blocks"}
	faults(t,
		func(fs vfs.FS) {
			mustBuild(t, fs, "/chain", archive.CreateOptions{SegmentBytes: 4 << 10, Workers: 1}, tables)
		},
		func(fs vfs.FS) error {
			a, err := archive.Open(fs, "/chain", archive.Options{ReadOnly: true, Workers: 1})
			if err != nil {
				return err
			}
			_, err = a.RecompressTo(context.Background(), "/copy", o, nil)
			return errors.Join(err, a.Close())
		},
		func(fs vfs.FS, failed error) {
			if _, err := fs.Stat("/copy"); err == nil && failed != nil {
				// Complete, or nothing: reading the source may fail after that.
				a := mustOpen(t, fs, "/copy", archive.Options{})
				wantRows(t, a, tables)
				wantTidy(t, fs, a)
				mustClose(t, a)
			}
			a := mustOpen(t, fs, "/chain", archive.Options{})
			wantRows(t, a, tables)
			wantTidy(t, fs, a)
			mustClose(t, a)
		})
}

// All that only reads.
func TestFaultsRead(t *testing.T) {
	tables := testTables(t, 40, dictPolicy)
	ctx := context.Background()
	var list strings.Builder
	var pinned string
	prepare := func(fs vfs.FS) {
		list.Reset()
		mustBuild(t, fs, "/chain", archive.CreateOptions{SegmentBytes: 4 << 10, Workers: 1}, tables)
		a := mustOpen(t, fs, "/chain", archive.Options{})
		pinned = segments(t, a)[0].Checksum.String()
		mustRecompress(t, a, under(t, s2Policy))
		for _, s := range segments(t, a) {
			fmt.Fprintf(&list, "%s  %s\n", s.Checksum, a.Path(s))
		}
		mustClose(t, a)
	}
	run := func(fs vfs.FS) error {
		a, err := archive.Open(fs, "/chain", archive.Options{ReadOnly: true, OpenFiles: 1, Workers: 1, CacheBytes: -1})
		if err != nil {
			return err
		}
		err = compareRows(a, tables, true)
		for _, e := range a.Verify(ctx, archive.VerifyOptions{Depth: segment.Content}) {
			err = errors.Join(err, e)
		}
		_, e := a.Stats(ctx)
		err = errors.Join(err, e)
		ex, e := a.Expect(ctx, pinned)
		if err = errors.Join(err, e); e == nil && ex.Answer != archive.SameContent {
			err = errors.Join(err, fmt.Errorf("wrong answer %+v", ex))
		}
		for x, e := range archive.CheckList(ctx, fs, a, strings.NewReader(list.String())) {
			if err = errors.Join(err, e); e == nil && x.Answer != archive.SameFile {
				err = errors.Join(err, fmt.Errorf("wrong answer %+v", x))
			}
		}
		_, e = a.Recompress(ctx, archive.RecompressOptions{RecompressOptions: segment.RecompressOptions{Retrain: true}, DryRun: true}, nil)
		return errors.Join(err, e, a.Refresh(), a.Close())
	}
	faults(t, prepare, run, nil)
}

func TestFaultsFiles(t *testing.T) {
	rows := testTables(t, 60, zstdPolicy)[0]
	write := func(fs vfs.FS, path string) error {
		w, err := archive.CreateFile(fs, path, segment.WriterOptions{Table: "blocks", Schema: blocksSchema(), FirstRow: 100, Policy: policy(t, s2Policy), Workers: 1})
		if err != nil {
			return err
		}
		for _, r := range rows.rows {
			if err := w.Append(r); err != nil {
				return errors.Join(err, w.Abort())
			}
		}
		_, err = w.Finish()
		return errors.Join(err, w.Abort())
	}
	whole := func(fs vfs.FS, path string) error {
		for f, err := range archive.VerifyFile(context.Background(), fs, path, segment.VerifyOptions{}) {
			if err != nil {
				return err
			}
			return &f
		}
		f, err := archive.OpenFile(fs, path, segment.ReaderOptions{})
		if err != nil {
			return err
		}
		n := 0
		for row, err := range f.Rows(100) {
			if err != nil || !equal(row, rows.rows[n]) {
				return errors.Join(fmt.Errorf("row %d is %q: %w", n, row, err), f.Close())
			}
			n++
		}
		return f.Close()
	}
	faults(t, func(vfs.FS) {}, func(fs vfs.FS) error {
		return errors.Join(write(fs, "/new.seg"), whole(fs, "/new.seg"))
	}, func(fs vfs.FS, failed error) {
		if _, err := fs.Stat("/new.seg"); err == nil && whole(fs, "/new.seg") != nil {
			t.Error("a bad file under the final name")
		}
	})
	prepare := func(fs vfs.FS) {
		if err := write(fs, "/old.seg"); err != nil {
			t.Fatal(err)
		}
	}
	for _, out := range []string{"", "/out.seg"} {
		faults(t, prepare, func(fs vfs.FS) error {
			_, err := archive.RecompressFile(context.Background(), fs, "/old.seg", out, under(t, zstdPolicy), nil)
			return err
		}, func(fs vfs.FS, failed error) {
			if err := whole(fs, "/old.seg"); err != nil {
				t.Errorf("the old file: %v", err)
			}
			if failed != nil && slices.Contains(tree(t, fs, "/"), "/out.seg") && whole(fs, "/out.seg") != nil {
				t.Error("a bad file under the final name")
			}
		})
	}
}

// Where nobody knows whether a manifest is durable, nothing is changed any more
// until the archive is opened anew; rows are read all the same.
func TestUncertainManifest(t *testing.T) {
	mem := vfs.NewMem()
	tables := small(t, mem, s2Policy)
	var renamed, failed atomic.Bool
	fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpRename && strings.HasSuffix(op.Path, "MANIFEST.json.tmp") {
			renamed.Store(true)
		}
		if op.Kind == errorfs.OpFileSync && op.Path == "/chain" && renamed.Load() && !failed.Swap(true) {
			return errorfs.ErrInjected
		}
		return nil
	}))
	a := mustOpen(t, fs, "/chain", archive.Options{})
	before := segments(t, a)
	for i := range 2 {
		if _, err := a.Recompress(context.Background(), under(t, zstdPolicy), nil); !errors.Is(err, errorfs.ErrInjected) {
			t.Fatalf("recompress %d: %v", i, err)
		}
	}
	wantRows(t, a, tables)
	mustClose(t, a)
	oldOrNew(t, mem, tables, before)
}
