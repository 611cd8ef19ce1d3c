package chain_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/tools/chain"
	"github.com/segstore/segstore/tools/chain/chaintest"
)

func TestSourceRow(t *testing.T) {
	s := chain.Source{Name: "a.era1", Format: "era1", FirstBlock: 8192, Blocks: 3, Size: 1 << 40, SHA256: chain.Sum{1, 2, 31: 3},
		Head: []byte("head"), Tail: []byte("tail"), Extra: []byte{0}}
	row := s.AppendRow(nil)
	m := &chaintest.Memory{}
	if err := m.Create(chain.Table{Name: chain.SourcesTable, Schema: chain.SourcesSchema()}); err != nil {
		t.Fatal(err)
	}
	if err := m.Append(chain.SourcesTable, row); err != nil { // it fits the schema
		t.Fatal(err)
	}
	all, err := chain.Sources(m)
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	if got := all[0]; got.Name != s.Name || got.Format != s.Format || got.FirstBlock != 8192 || got.Blocks != 3 || got.Size != s.Size ||
		got.SHA256 != s.SHA256 || string(got.Head) != "head" || string(got.Tail) != "tail" || !bytes.Equal(got.Extra, []byte{0}) {
		t.Errorf("%+v", got)
	}
	for name, change := range map[string]func(segment.Row) segment.Row{
		"short row":   func(r segment.Row) segment.Row { return r[:8] },
		"no name":     func(r segment.Row) segment.Row { r[0] = nil; return r },
		"long name":   func(r segment.Row) segment.Row { r[0] = make([]byte, 256); return r },
		"bad name":    func(r segment.Row) segment.Row { r[0] = []byte{0xff}; return r },
		"no format":   func(r segment.Row) segment.Row { r[1] = nil; return r },
		"short first": func(r segment.Row) segment.Row { r[2] = nil; return r },
		"overflow":    func(r segment.Row) segment.Row { r[2] = bytes.Repeat([]byte{0xff}, 8); return r },
		"short sum":   func(r segment.Row) segment.Row { r[5] = r[5][1:]; return r },
	} {
		if got, err := chain.ParseSource(change(slices.Clone(row))); err == nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if all, err := chain.Sources(&chaintest.Memory{}); err != nil || all != nil {
		t.Errorf("no table: %v, %v", all, err)
	}
}

func TestSumText(t *testing.T) {
	s := chain.Sum{0xab, 31: 0x01}
	b, err := json.Marshal(map[string]chain.Sum{"sha256": s})
	if err != nil || string(b) != `{"sha256":"ab`+strings.Repeat("0", 60)+`01"}` {
		t.Errorf("%s, %v", b, err)
	}
	var got map[string]chain.Sum
	if err := json.Unmarshal(b, &got); err != nil || got["sha256"] != s {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{"ab", strings.Repeat("g", 64), strings.Repeat("0", 66)} {
		if err := s.UnmarshalText([]byte(bad)); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}

func TestSafeName(t *testing.T) {
	for in, want := range map[string]string{
		"mainnet-00000-5ec1ffb8.era1":      "mainnet-00000-5ec1ffb8.era1",
		"blk00000.dat":                     "blk00000.dat",
		"../../etc/passwd":                 "passwd",
		`..\..\windows\system.ini`:         "system.ini",
		"/":                                "unnamed",
		"..":                               "unnamed",
		".":                                "unnamed",
		"":                                 "unnamed",
		"a/..":                             "unnamed",
		"a\x00b\n\u202ec":                  "a_b__c",
		"c:file<>|?*\".x":                  "c_file______.x",
		"trailing. . ":                     "trailing",
		"NUL":                              "_NUL",
		"nul.era1":                         "_nul.era1",
		"com1":                             "_com1",
		"com10":                            "com10",
		"\xff\xfe":                         "_",
		"世界.rlps":                          "世界.rlps",
		strings.Repeat("é", 150) + ".rlps": strings.Repeat("é", 97) + ".rlps",
	} {
		if got := chain.SafeName(in); got != want {
			t.Errorf("%q: %q, not %q", in, got, want)
		}
	}
}

func FuzzSafeName(f *testing.F) {
	for _, s := range []string{"../x", "a.era1", "nul", strings.Repeat("x", 300), ". .", "a\\b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := chain.SafeName(s)
		if got == "" || len(got) > 201 || strings.ContainsAny(got, "/\\\x00") || !filepath.IsLocal(got) || filepath.Base(got) != got {
			t.Errorf("%q: %q", s, got)
		}
		if again := chain.SafeName(got); len(got) <= 200 && again != got {
			t.Errorf("%q: %q, and again %q", s, got, again)
		}
	})
}

func TestSourceName(t *testing.T) {
	for _, tc := range []struct {
		in   string
		gz   bool
		want string
	}{
		{"/data/a.era1", false, "a.era1"},
		{"https://host/x/a.rlp.gz", true, "a.rlp"},
		{"a.rlp.gz", false, "a.rlp.gz"},
		{".gz", true, ".gz"},
		{`C:\data\a.rlp`, false, "a.rlp"},
		{"/", false, "unnamed"},
		{"", false, "unnamed"},
		{strings.Repeat("x", 300) + ".era1", false, strings.Repeat("x", 250) + ".era1"},
	} {
		if got := chain.SourceName(chain.File{Name: tc.in}, tc.gz); got != tc.want {
			t.Errorf("%q: %q, not %q", tc.in, got, tc.want)
		}
	}
}

// view is a view with sources of these names, whose content is their name as it was at import.
func view(t *testing.T, names ...string) *chaintest.Memory {
	t.Helper()
	m := &chaintest.Memory{}
	if err := m.Create(chain.Table{Name: chain.SourcesTable, Schema: chain.SourcesSchema()}); err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		in, err := chain.OpenInput(t.Context(), chaintest.BytesFile(n, []byte(n)), chain.InputOptions{Hash: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := in.Skip(int64(len(n)), "name"); err != nil {
			t.Fatal(err)
		}
		end, err := in.End()
		if err != nil {
			t.Fatal(err)
		}
		s := chain.Source{Name: n, Format: "text", Size: end.Size, SHA256: end.SHA256}
		if err := m.Append(chain.SourcesTable, s.AppendRow(nil)); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

func write(text string, o chain.Outcome) func(context.Context, io.Writer) (chain.Outcome, error) {
	return func(_ context.Context, w io.Writer) (chain.Outcome, error) {
		_, err := io.WriteString(w, text)
		return o, err
	}
}

func TestExportMatch(t *testing.T) {
	m := view(t, "same", "recoded", "equal", "other", "converted")
	plans := map[string]chain.Job{
		"same":      {Format: "text", Write: write("same", chain.Outcome{Reason: "not used"})},
		"recoded":   {Format: "text", Write: write("recoded", chain.Outcome{Recoded: true, Reason: "was a gzip"})},
		"equal":     {Format: "text", Write: write("EQUAL", chain.Outcome{Equal: true, Reason: "upper case"})},
		"other":     {Format: "text", Write: write("something", chain.Outcome{})},
		"converted": {Format: "html", Write: write("converted", chain.Outcome{})},
	}
	var calls, last int64
	out := &chaintest.Output{}
	r, err := chain.ExportSources(t.Context(), m, out, chain.ExportOptions{Progress: func(done, total int64) { calls, last = calls+1, done }},
		func(s chain.Source) (chain.Job, error) {
			j := plans[s.Name]
			j.Name = s.Name
			return j, nil
		})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]chain.Match{"same": chain.Identical, "recoded": chain.EqualContent, "equal": chain.EqualContent, "other": chain.Different, "converted": chain.Converted}
	var written int64
	for _, e := range r.Files {
		if e.Match != want[e.Source] || (e.Match == chain.Different || e.Match == chain.EqualContent) != (e.Reason != "") || e.Bytes != uint64(len(out.Files[e.File])) {
			t.Errorf("%+v", e)
		}
		written += int64(e.Bytes)
	}
	if len(r.Files) != 5 || calls == 0 || last != written {
		t.Errorf("%d files; %d calls of progress, the last with %d of %d", len(r.Files), calls, last, written)
	}
}

// Files of the same name, or that some systems would take for the same, get names that differ; none leaves the directory.
func TestExportNames(t *testing.T) {
	names := []string{"a.era1", "b/a.era1", "A.ERA1", "../../a.era1", "a-2.era1", "..", "/etc/passwd"}
	dir := filepath.Join(t.TempDir(), "out")
	r, err := chain.ExportSources(t.Context(), view(t, names...), chain.DirOutput(dir), chain.ExportOptions{}, func(s chain.Source) (chain.Job, error) {
		return chain.Job{Format: "text", Name: s.Name, Write: write(s.Name, chain.Outcome{})}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"a.era1", "a-2.era1", "A-3.ERA1", "a-4.era1", "a-2-2.era1", "unnamed", "passwd"}
	for i, e := range r.Files {
		b, err := os.ReadFile(filepath.Join(dir, want[i]))
		if e.File != want[i] || err != nil || string(b) != names[i] || e.Match != chain.Identical {
			t.Errorf("%q: %+v, %q, %v", names[i], e, b, err)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != len(names) {
		t.Errorf("%d entries, %v", len(entries), err)
	}
}

func TestExportFails(t *testing.T) {
	broken := errors.New("broken")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "taken"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	for name, tc := range map[string]struct {
		write func(context.Context, io.Writer) (chain.Outcome, error)
		want  error
	}{
		"x":     {func(_ context.Context, w io.Writer) (chain.Outcome, error) { return chain.Outcome{}, broken }, broken},
		"taken": {write("taken", chain.Outcome{}), fs.ErrExist},
		"ctx": {func(_ context.Context, w io.Writer) (chain.Outcome, error) {
			cancel()
			_, err := w.Write(make([]byte, 1<<20))
			return chain.Outcome{}, err
		}, context.Canceled},
	} {
		use := t.Context()
		if name == "ctx" {
			use = ctx
		}
		sub := filepath.Join(dir, "sub-"+name)
		for _, out := range []chain.Output{chain.DirOutput(dir), chain.FileOutput(filepath.Join(dir, name)), chain.DirOutput(sub)} {
			r, err := chain.ExportSources(use, view(t, name), out, chain.ExportOptions{}, func(s chain.Source) (chain.Job, error) {
				return chain.Job{Format: "text", Name: s.Name, Write: tc.write}, nil
			})
			if want := tc.want; !errors.Is(err, want) && (want != fs.ErrExist || err != nil) || len(r.Files) > 0 && err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, err := os.Stat(sub); (err == nil) != (name == "taken") {
			t.Errorf("%s: the directory that was made for it: %v", name, err)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 { // taken, and sub-taken, where it was free
		t.Errorf("left behind: %v, %v", entries, err)
	}
	if _, err := chain.ExportSources(t.Context(), view(t), &chaintest.Output{}, chain.ExportOptions{}, nil); !errors.Is(err, chain.ErrCannotExport) {
		t.Errorf("no sources: %v", err)
	}
	two := view(t, "a", "b")
	one := chain.FileOutput(filepath.Join(t.TempDir(), "f"))
	r, err := chain.ExportSources(t.Context(), two, one, chain.ExportOptions{}, func(s chain.Source) (chain.Job, error) {
		return chain.Job{Format: "text", Name: s.Name, Write: write(s.Name, chain.Outcome{})}, nil
	})
	if err == nil || len(r.Files) != 1 {
		t.Errorf("two sources into one file: %+v, %v", r, err)
	}
}

func TestOSFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	if err := os.WriteFile(path, []byte("12345"), 0o666); err != nil {
		t.Fatal(err)
	}
	f, err := chain.OSFile(path)
	if err != nil || f.Size != 5 || f.Base() != "f" || string(chaintest.ReadAll(t, f)) != "12345" {
		t.Errorf("%+v, %v", f, err)
	}
	if _, err := chain.OSFile(dir); err == nil {
		t.Error("a directory is a file")
	}
	if _, err := chain.OSFile(path + "x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}
