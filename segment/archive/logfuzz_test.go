package archive_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"github.com/cespare/xxhash/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/segment/archive"
)

// restampLog returns a log with every checksum of head, body and records made right, as
// far as lengths lead; frames keep theirs.
func restampLog(b []byte) []byte {
	le := binary.LittleEndian
	b = bytes.Clone(b)
	if len(b) < 64 {
		return b
	}
	number := le.Uint64(b[16:])
	le.PutUint64(b[56:], xxhash.Sum64(b[:56]))
	n := le.Uint64(b[40:])
	if n > uint64(len(b)) || 64+n+8 > uint64(len(b)) {
		return b
	}
	at := 64 + int(n)
	le.PutUint64(b[at:], xxhash.Sum64(slices.Concat([]byte("\x89SEGLOG\n"), numbers(number, 0, 0), b[64:at])))
	for at += 8; len(b)-at >= 40; {
		end := at + 32 + int(le.Uint32(b[at+4:]))
		if end+8 > len(b) {
			break
		}
		le.PutUint64(b[end:], xxhash.Sum64(slices.Concat([]byte("RCRD\x00\x00\x00\x00"), numbers(number, uint64(at), 0), b[at:end])))
		at = end + 8
	}
	return b
}

// FuzzLog opens archives whose log is anything, also with right checksums: they open, and
// then every row is read or said to be damaged, and what is committed behind is there
// when the archive is opened again; or the error says what is wrong.
func FuzzLog(f *testing.F) {
	mem := vfs.NewMem()
	tables := liveTables(f, s2Policy)
	mustBuild(f, mem, "/chain", archive.CreateOptions{}, tables)
	manifest := readFile(f, mem, "/chain/MANIFEST.json")
	a := mustOpen(f, mem, "/chain", archive.Options{SealBytes: -1, Workers: 1})
	ctx := context.Background()
	for n := range uint64(3) {
		b := a.Batch()
		if err := errors.Join(b.Append("blocks", killedBlock(n), killedBlock(n+1)), b.Append("notes", killedNote(n))); err != nil {
			f.Fatal(err)
		}
		if _, err := b.Commit(ctx); err != nil {
			f.Fatal(err)
		}
		if n == 1 {
			if err := a.Rewind(ctx, archive.Position{"blocks": 1, "notes": 8}); err != nil {
				f.Fatal(err)
			}
		}
	}
	mustClose(f, a)
	log := readFile(f, mem, "/chain/log-000001")
	f.Add(log)
	f.Add(log[:len(log)*2/3])
	f.Add(log[:72])
	f.Fuzz(func(t *testing.T, log []byte) {
		for _, log := range [][]byte{log, restampLog(log)} {
			fs := vfs.NewMem()
			for _, dir := range []string{"/chain/blocks", "/chain/notes"} {
				if err := fs.MkdirAll(dir, 0o777); err != nil {
					t.Fatal(err)
				}
			}
			writeFile(t, fs, "/chain/MANIFEST.json", manifest)
			writeFile(t, fs, "/chain/log-000001", log)
			a, err := archive.Open(fs, "/chain", archive.Options{SealBytes: -1, Workers: 1})
			if err != nil {
				var le *archive.LogError
				if !errors.As(err, &le) && !errors.Is(err, archive.ErrVersion) {
					t.Fatalf("error of no kind: %v", err)
				}
				continue
			}
			before := a.Tables()
			for _, i := range before {
				table, err := a.Table(i.Table)
				if err != nil {
					t.Fatal(err)
				}
				for n := i.FirstRow; n < i.FirstRow+min(i.Rows, 1000); n++ {
					if _, err := table.Row(nil, n); err != nil && !errors.Is(err, segment.ErrCorrupt) && !errors.Is(err, archive.ErrVersion) {
						t.Fatalf("row %d of %s: %v", n, i.Table, err)
					}
				}
			}
			b := a.Batch()
			if err := b.Append("notes", killedNote(99)); err != nil {
				t.Fatal(err)
			}
			after, err := b.Commit(ctx)
			if err != nil {
				mustClose(t, a)
				continue // no row number is left, or the log's layout cannot be gone on with
			}
			mustClose(t, a)
			a = mustOpen(t, fs, "/chain", archive.Options{ReadOnly: true})
			for _, i := range a.Tables() {
				if i.FirstRow+i.Rows != after[i.Table] {
					t.Fatalf("%s ends at %d, ended at %d", i.Table, i.FirstRow+i.Rows, after[i.Table])
				}
			}
			table, err := a.Table("notes")
			if err != nil {
				t.Fatal(err)
			}
			if row, err := table.Row(nil, after["notes"]-1); err != nil || !equal(row, killedNote(99)) {
				t.Fatalf("what was committed is %q, %v", row, err)
			}
			mustClose(t, a)
		}
	})
}
