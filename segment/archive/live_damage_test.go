package archive_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/segment/archive"
)

// Every byte of a log flipped, and every cut: the archive opens with what was committed
// but for the last record, or says where the log is damaged; no row is a wrong one. The
// last record of a log that was closed has no rows: there no commit is lost unnoticed.
func TestDamagedLog(t *testing.T) {
	fs := vfs.NewMem()
	a := openPairs(t, fs, archive.Options{SealBytes: -1, Workers: 1})
	var ends []int
	for n := range uint64(4) {
		if _, err := pair(a, n); err != nil {
			t.Fatal(err)
		}
		ends = append(ends, len(readFile(t, fs, "/chain/log-000001")))
	}
	unclosed, before := readFile(t, fs, "/chain/log-000001"), readFile(t, fs, "/chain/MANIFEST.json")
	mustClose(t, a)
	whole := readFile(t, fs, "/chain/log-000001")
	if !bytes.HasPrefix(whole, unclosed) || len(whole) == len(unclosed) {
		t.Fatalf("%d bytes before it was closed, %d after", len(unclosed), len(whole))
	}
	open := func(b []byte) (contents, error) {
		writeFile(t, fs, "/chain/log-000001", b)
		a, err := archive.Open(fs, "/chain", archive.Options{ReadOnly: true})
		if err != nil {
			return contents{}, err
		}
		defer mustClose(t, a)
		c, err := read(a)
		if err != nil {
			return c, err
		}
		for name, row := range map[string]func(uint64) segment.Row{"blocks": killedBlock, "notes": killedNote} {
			for n, r := range c.rows[name] {
				if !equal(r, row(uint64(n))) {
					t.Fatalf("%s, row %d is %q", name, n, r)
				}
			}
		}
		return c, nil
	}
	for _, log := range []struct {
		bytes    []byte
		manifest []byte
		last     int // where the last record begins
		rows     int // before it
	}{{unclosed, before, ends[2], 3}, {whole, readFile(t, fs, "/chain/MANIFEST.json"), ends[3], 4}} {
		writeFile(t, fs, "/chain/MANIFEST.json", log.manifest)
		for i := range log.bytes {
			b := bytes.Clone(log.bytes)
			b[i] ^= 1 << (i % 8)
			c, err := open(b)
			var le *archive.LogError
			switch {
			case i >= log.last:
				if err != nil || len(c.rows["blocks"]) != log.rows || len(c.rows["notes"]) != log.rows {
					t.Fatalf("byte %d of the last record: %d blocks, %v", i, len(c.rows["blocks"]), err)
				}
			case !errors.As(err, &le) && !errors.Is(err, archive.ErrVersion), errors.As(err, &le) && le.File != "log-000001":
				t.Fatalf("byte %d: %v", i, err)
			}
		}
	}
	for n := range unclosed { // what was closed must have all records
		if _, err := open(whole[:n]); err == nil {
			t.Fatalf("cut at %d after Close: no error", n)
		}
	}
	writeFile(t, fs, "/chain/MANIFEST.json", before)
	for n := range whole {
		c, err := open(whole[:n])
		want := 0
		for want < len(ends) && ends[want] <= n {
			want++
		}
		if err != nil || len(c.rows["blocks"]) != want || len(c.rows["notes"]) != want {
			t.Fatalf("cut at %d: %d blocks, want %d: %v", n, len(c.rows["blocks"]), want, err)
		}
	}
	if c, err := open(make([]byte, 400)); err != nil || len(c.rows["blocks"]) != 0 { // its size was durable, and nothing else
		t.Fatalf("zeros: %v, %v", c, err)
	}
}

// Newest logs that somebody has removed are missed as far as the manifest knows of them:
// after Close, that is all; after a crash it need not be, as the package says. One between
// others is missed always.
func TestLogRemoved(t *testing.T) {
	fs := vfs.NewMem()
	o := archive.Options{SealBytes: -1, Workers: 1}
	mustClose(t, openPairs(t, fs, o))
	var crashed []byte
	for n := range uint64(3) { // a log each
		a := mustOpen(t, fs, "/chain", o)
		if _, err := pair(a, n); err != nil {
			t.Fatal(err)
		}
		crashed = readFile(t, fs, "/chain/MANIFEST.json")
		mustClose(t, a)
	}
	closed := readFile(t, fs, "/chain/MANIFEST.json")
	newest := readFile(t, fs, "/chain/log-000003")
	remove := func(name string) {
		t.Helper()
		if err := fs.Remove("/chain/" + name); err != nil {
			t.Fatal(err)
		}
	}
	remove("log-000003")
	var missed *archive.LogError
	if _, err := archive.Open(fs, "/chain", archive.Options{ReadOnly: true}); !errors.As(err, &missed) {
		t.Errorf("the last log of a closed archive is gone: %v", err)
	}
	writeFile(t, fs, "/chain/MANIFEST.json", crashed)
	a := mustOpen(t, fs, "/chain", archive.Options{ReadOnly: true})
	if c, err := read(a); err != nil || len(c.rows["blocks"]) != 2 {
		t.Errorf("%d blocks, %v", len(c.rows["blocks"]), err)
	}
	mustClose(t, a)
	writeFile(t, fs, "/chain/log-000003", newest)
	writeFile(t, fs, "/chain/MANIFEST.json", closed)

	between := readFile(t, fs, "/chain/log-000002")
	remove("log-000002")
	var le *archive.LogError
	if _, err := archive.Open(fs, "/chain", o); !errors.As(err, &le) || le.File != "log-000002" {
		t.Errorf("a log between others: %v", err)
	}
	writeFile(t, fs, "/chain/log-000002", between)

	a = mustOpen(t, fs, "/chain", o) // its manifest will know of three records
	if err := a.CreateIndex(t.Context(), archive.IndexSpec{Name: "note", Table: "notes", Key: key(t, "note")}, nil); err != nil {
		t.Fatal(err)
	}
	mustClose(t, a)
	remove("log-000003")
	if _, err := archive.Open(fs, "/chain", o); !errors.As(err, &le) || !errors.Is(err, segment.ErrCorrupt) {
		t.Errorf("a log that the manifest knows: %v", err)
	}
}

// A log of another number, or of another archive, in the place of the newest is damage and
// not a log that was being made: nobody removes it.
func TestLogUnderAnotherName(t *testing.T) {
	fs := vfs.NewMem()
	o := archive.Options{SealBytes: -1, Workers: 1}
	a := openPairs(t, fs, o)
	for n := range uint64(2) {
		if _, err := pair(a, n); err != nil {
			t.Fatal(err)
		}
		mustClose(t, a)
		a = mustOpen(t, fs, "/chain", o)
	}
	mustClose(t, a)
	first := readFile(t, fs, "/chain/log-000001")
	for _, name := range []string{"log-000002", "log-000003"} {
		kept := vfs.NewMem()
		if _, err := vfs.Clone(fs, kept, "/chain", "/chain"); err != nil {
			t.Fatal(err)
		}
		writeFile(t, kept, "/chain/"+name, first)
		for _, readOnly := range []bool{true, false} {
			_, err := archive.Open(kept, "/chain", archive.Options{ReadOnly: readOnly})
			var le *archive.LogError
			if !errors.As(err, &le) || le.File != name {
				t.Errorf("%s, read-only %t: %v", name, readOnly, err)
			}
		}
		if !bytes.Equal(readFile(t, kept, "/chain/"+name), first) {
			t.Errorf("%s was touched", name)
		}
	}
}

// Verify goes on with the segments that it began with when they are pruned or rewound.
func TestVerifyBesidePrune(t *testing.T) {
	fs := vfs.NewMem()
	a := openPairs(t, fs, archive.Options{SealBytes: -1, Workers: 1})
	defer mustClose(t, a)
	ctx := context.Background()
	for n := range uint64(4) {
		if _, err := pair(a, n); err != nil {
			t.Fatal(err)
		}
		must(t, a.Seal(ctx))
	}
	pruned := false
	o := archive.VerifyOptions{Depth: segment.Content, Progress: func(archive.Progress) {
		if pruned {
			return
		}
		pruned = true
		_, err := a.Prune(ctx, "blocks", 3, false)
		must(t, err)
		must(t, a.Rewind(ctx, archive.Position{"notes": 1}))
	}}
	for flaw, err := range a.Verify(ctx, o) {
		t.Errorf("%v, %v", flaw, err)
	}
	if !pruned || a.Info().Segments != 2 {
		t.Fatalf("%d segments", a.Info().Segments)
	}
}
