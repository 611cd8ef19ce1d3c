package archive_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/segstore/segstore/codec"
	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/segment/archive"
	"github.com/segstore/segstore/segment/merkle"
)

// Policies that are quick, of two tables.
const (
	rawPolicy   = "chunk 1024\n* group=column codec=raw\n"
	s2Policy    = "chunk 2048\n* group=column codec=s2\n"
	zstdPolicy  = "chunk 2048\n* group=column codec=zstd:1\n"
	dictPolicy  = "chunk 1024\n* group=column codec=zstd:1+dict else=zstd:3 dict=4096\n"
	largePolicy = "chunk 8192\n* group=stream codec=zstd:3\n"
)

func policy(t testing.TB, text string) codec.Policy {
	t.Helper()
	p, err := codec.ParsePolicy(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// testTable is a table with all its rows.
type testTable struct {
	spec archive.TableSpec
	rows []segment.Row
}

func blocksSchema() segment.Schema {
	return segment.Schema{Columns: []segment.Column{
		{Name: "number", Kind: segment.Uint},
		{Name: "hash", Kind: segment.Fixed, Width: 32},
		{Name: "body", Kind: segment.Bytes, Format: "test-body"},
	}}
}

func notesSchema() segment.Schema {
	return segment.Schema{Columns: []segment.Column{{Name: "note", Kind: segment.Bytes}}}
}

// testTables returns a table of n rows, one of 2n, and one without rows.
func testTables(t testing.TB, n int, text string) []testTable {
	t.Helper()
	rng := rand.New(rand.NewPCG(7, uint64(n)))
	words := []string{"transfer", "approve", "swap", "0x000000000000000000", "deposit", "withdraw"}
	blocks := testTable{spec: archive.TableSpec{Name: "blocks", Schema: blocksSchema(), FirstRow: 100, Policy: policy(t, text)}}
	for i := range n {
		hash := make([]byte, 32)
		for k := 0; k < 32; k += 8 {
			binary.LittleEndian.PutUint64(hash[k:], rng.Uint64())
		}
		var body []byte
		for range rng.IntN(20) {
			body = append(body, words[rng.IntN(len(words))]...)
		}
		blocks.rows = append(blocks.rows, segment.Row{segment.AppendUint(nil, uint64(1000+i)), hash, body})
	}
	notes := testTable{spec: archive.TableSpec{Name: "notes", Schema: notesSchema()}}
	for i := range 2 * n {
		notes.rows = append(notes.rows, segment.Row{fmt.Appendf(nil, "note %d of %s", i, words[rng.IntN(len(words))])})
	}
	empty := testTable{spec: archive.TableSpec{Name: "empty", Schema: notesSchema(), FirstRow: 5}}
	return []testTable{blocks, notes, empty}
}

// build makes an archive; the tables' rows arrive mixed. On failure it aborts.
func build(fs vfs.FS, dir string, o archive.CreateOptions, tables []testTable) (info archive.Info, err error) {
	b, err := archive.Create(fs, dir, o)
	if err != nil {
		return info, err
	}
	defer func() { err = errors.Join(err, b.Abort()) }()
	for _, t := range tables {
		if err := b.Create(t.spec); err != nil {
			return info, err
		}
	}
	for i := 0; ; i++ {
		more := false
		for _, t := range tables {
			if i < len(t.rows) {
				more = true
				if err := b.Append(t.spec.Name, t.rows[i]); err != nil {
					return info, err
				}
			}
		}
		if !more {
			break
		}
	}
	return b.Finish(context.Background())
}

func mustBuild(t testing.TB, fs vfs.FS, dir string, o archive.CreateOptions, tables []testTable) archive.Info {
	t.Helper()
	info, err := build(fs, dir, o, tables)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func mustOpen(t testing.TB, fs vfs.FS, dir string, o archive.Options) *archive.Archive {
	t.Helper()
	a, err := archive.Open(fs, dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func mustClose(t testing.TB, c io.Closer) {
	t.Helper()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}

func mustRecompress(t testing.TB, a *archive.Archive, o archive.RecompressOptions) *archive.Report {
	t.Helper()
	rep, err := a.Recompress(context.Background(), o, nil)
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

// under returns options to recompress under a policy, with one goroutine.
func under(t testing.TB, text string) archive.RecompressOptions {
	t.Helper()
	return archive.RecompressOptions{RecompressOptions: segment.RecompressOptions{Policy: policy(t, text), Workers: 1}}
}

// wantRows reads every row of every table, all at once and one by one.
func wantRows(t testing.TB, a *archive.Archive, tables []testTable) {
	t.Helper()
	if err := compareRows(a, tables, true); err != nil {
		t.Fatal(err)
	}
}

func compareRows(a *archive.Archive, tables []testTable, each bool) error {
	for _, want := range tables {
		tab, err := a.Table(want.spec.Name)
		if err != nil {
			return err
		}
		first := want.spec.FirstRow
		if tab.FirstRow() != first || tab.EndRow() != first+uint64(len(want.rows)) {
			return fmt.Errorf("table %s has rows %d to %d", want.spec.Name, tab.FirstRow(), tab.EndRow())
		}
		n := 0
		for row, err := range tab.Rows(first) {
			if err != nil {
				return err
			}
			if n >= len(want.rows) || !equal(row, want.rows[n]) {
				return fmt.Errorf("table %s, row %d is %q", want.spec.Name, n, row)
			}
			n++
		}
		if n != len(want.rows) {
			return fmt.Errorf("table %s: %d rows, want %d", want.spec.Name, n, len(want.rows))
		}
		if !each {
			continue
		}
		var row segment.Row
		for i := range want.rows {
			if row, err = tab.Row(row, first+uint64(i)); err != nil || !equal(row, want.rows[i]) {
				return fmt.Errorf("table %s, row %d is %q: %w", want.spec.Name, i, row, err)
			}
		}
	}
	return nil
}

func equal(a, b segment.Row) bool { return slices.EqualFunc(a, b, bytes.Equal) }

// roots returns the content roots of the segments, in order.
func roots(t testing.TB, a *archive.Archive) (all []merkle.Hash) {
	t.Helper()
	for _, s := range segments(t, a) {
		all = append(all, s.ContentRoot)
	}
	return all
}

func segments(t testing.TB, a *archive.Archive) []archive.SegmentInfo {
	t.Helper()
	all, err := a.Segments()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// flaws returns what Verify finds.
func flaws(t testing.TB, a *archive.Archive, d segment.Depth) (found []segment.Flaw) {
	t.Helper()
	for f, err := range a.Verify(context.Background(), archive.VerifyOptions{Depth: d}) {
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, f)
	}
	return found
}

func wantWhole(t testing.TB, a *archive.Archive) {
	t.Helper()
	for _, d := range []segment.Depth{segment.Structure, segment.Checksums, segment.Content} {
		for _, f := range flaws(t, a, d) {
			t.Errorf("depth %d: flaw %v", d, &f)
		}
	}
}

// tree returns the names of all files and directories under dir.
func tree(t testing.TB, fs vfs.FS, dir string) (names []string) {
	t.Helper()
	list, err := fs.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range list {
		path := fs.PathJoin(dir, name)
		st, err := fs.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, path)
		if st.IsDir() {
			names = append(names, tree(t, fs, path)...)
		}
	}
	slices.Sort(names)
	return names
}

// wantTidy insists that dir holds what the manifest names and nothing else.
func wantTidy(t testing.TB, fs vfs.FS, a *archive.Archive) {
	t.Helper()
	want := []string{fs.PathJoin(a.Dir(), archive.LockName), fs.PathJoin(a.Dir(), archive.ManifestName)}
	for _, tab := range a.Tables() {
		want = append(want, fs.PathJoin(a.Dir(), tab.Table))
	}
	for _, s := range segments(t, a) {
		want = append(want, a.Path(s))
	}
	slices.Sort(want)
	if got := tree(t, fs, a.Dir()); !slices.Equal(got, want) {
		t.Fatalf("in the directory:\n%s\nwanted:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func readFile(t testing.TB, fs vfs.FS, path string) []byte {
	t.Helper()
	f, err := fs.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func writeFile(t testing.TB, fs vfs.FS, path string, b []byte) {
	t.Helper()
	f, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(bytes.Clone(b)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		t.Fatal(err)
	}
}
