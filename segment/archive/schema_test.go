package archive_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/cespare/xxhash/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/segment/archive"
)

// A manifest with another schema than its segments, and a right checksum of
// itself: no read returns mislabelled values, none panics, and Verify says so.
func TestSchemaOfAnotherTable(t *testing.T) {
	for name, edit := range map[string][2]string{
		"a column more":      {`{"name":"b","kind":"bytes"}`, `{"name":"b","kind":"bytes"},{"name":"z","kind":"uint"}`},
		"a column fewer":     {`{"name":"a","kind":"uint"},`, ``},
		"a column renamed":   {`"name":"b"`, `"name":"c"`},
		"another kind":       {`"kind":"uint"`, `"kind":"bytes"`},
		"more bytes of rows": {`"raw_bytes":`, `"raw_bytes":1`},
	} {
		t.Run(name, func(t *testing.T) {
			fs, ctx := vfs.NewMem(), context.Background()
			b, err := archive.Create(fs, "/a", archive.CreateOptions{})
			must(t, err)
			must(t, b.Create(archive.TableSpec{Name: "t", Schema: segment.Schema{Columns: []segment.Column{{Name: "a", Kind: segment.Uint}, {Name: "b", Kind: segment.Bytes}}}}))
			for i := range uint64(100) {
				must(t, b.Append("t", segment.Row{segment.AppendUint(nil, i), fmt.Appendf(nil, "value %d", i)}))
			}
			_, err = b.Finish(ctx)
			must(t, err)
			editManifest(t, fs, edit[0], edit[1])

			a, err := archive.Open(fs, "/a", archive.Options{ReadOnly: true})
			must(t, err)
			defer a.Close()
			tab, err := a.Table("t")
			must(t, err)
			if row, err := tab.Row(nil, 3); !errors.Is(err, segment.ErrCorrupt) {
				t.Errorf("row %q, %v", row, err)
			}
			for _, column := range []string{"a", "b", "c", "z"} {
				c, err := tab.Column(column)
				if err != nil {
					continue
				}
				if v, err := c.Value(nil, 3); !errors.Is(err, segment.ErrCorrupt) {
					t.Errorf("value %q of %s, %v", v, column, err)
				}
			}
			flaws := 0
			for _, err := range a.Verify(ctx, archive.VerifyOptions{}) {
				must(t, err)
				flaws++
			}
			if flaws == 0 {
				t.Error("whole")
			}
		})
	}
}

// editManifest replaces text in the manifest of /a, and stamps its checksum anew.
func editManifest(t *testing.T, fs vfs.FS, from, to string) {
	t.Helper()
	path := "/a/" + archive.ManifestName
	f, err := fs.Open(path)
	must(t, err)
	st, err := f.Stat()
	must(t, err)
	m := make([]byte, st.Size())
	_, err = f.ReadAt(m, 0)
	must(t, err)
	must(t, f.Close())
	if !bytes.Contains(m, []byte(from)) {
		t.Fatalf("%s is not in\n%s", from, m)
	}
	m = bytes.Replace(m, []byte(from), []byte(to), 1)
	at := bytes.LastIndexByte(bytes.TrimRight(m, "\n}"), '\n') + 1 // the line of the checksum
	quote := bytes.LastIndexByte(m[:len(m)-4], ':') + 1
	quote += bytes.IndexByte(m[quote:], '"') + 1
	copy(m[quote:], fmt.Sprintf("%016x", xxhash.Sum64(m[:at])))
	w, err := fs.Create(path, "test")
	must(t, err)
	_, err = w.Write(m)
	must(t, err)
	must(t, w.Close())
}

// A segment is not recompressed by itself while the manifest that names it is
// damaged or gone: it would not be the file that the manifest means.
func TestFileBesideDamagedManifest(t *testing.T) {
	fs, ctx := vfs.NewMem(), context.Background()
	b, err := archive.Create(fs, "/a", archive.CreateOptions{})
	must(t, err)
	must(t, b.Create(archive.TableSpec{Name: "t", Schema: segment.Schema{Columns: []segment.Column{{Name: "b", Kind: segment.Bytes}}}}))
	must(t, b.Append("t", segment.Row{[]byte("value")}))
	_, err = b.Finish(ctx)
	must(t, err)
	names, err := fs.List("/a/t")
	must(t, err)
	level := 19
	recompress := func() error {
		_, err := archive.RecompressFile(ctx, fs, "/a/t/"+names[0], "", archive.RecompressOptions{RecompressOptions: segment.RecompressOptions{Level: &level}}, nil)
		return err
	}
	if err := recompress(); !errors.Is(err, archive.ErrInArchive) {
		t.Errorf("whole manifest: %v", err)
	}
	w, err := fs.Create("/a/"+archive.ManifestName, "test")
	must(t, err)
	must(t, w.Close())
	if err := recompress(); !errors.Is(err, archive.ErrManifest) {
		t.Errorf("empty manifest: %v", err)
	}
	must(t, fs.Remove("/a/"+archive.ManifestName))
	if err := recompress(); !errors.Is(err, archive.ErrManifest) {
		t.Errorf("no manifest: %v", err)
	}
}
