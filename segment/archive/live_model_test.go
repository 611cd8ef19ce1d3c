package archive_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/segment/archive"
	"pgregory.net/rapid"
)

// liveModel is an archive beside plain slices of what it should hold.
type liveModel struct {
	t     *rapid.T
	fs    vfs.FS
	a     *archive.Archive
	o     archive.Options
	names []string
	rows  map[string][]segment.Row // by table, from row 0 on
	first map[string]uint64        // by table: rows before are pruned
	next  int                      // makes values unique
	views []modelView
}

// modelView is a view and what it should hold for as long as it is open.
type modelView struct {
	v     *archive.View
	rows  map[string][]segment.Row
	first map[string]uint64
}

// liveTables are an archive's tables without rows; the second begins with row 7.
func liveTables(t testing.TB, text string) []testTable {
	return []testTable{
		{spec: archive.TableSpec{Name: "blocks", Schema: blocksSchema(), Policy: policy(t, text)}},
		{spec: archive.TableSpec{Name: "notes", Schema: notesSchema(), FirstRow: 7, Policy: policy(t, text)}},
	}
}

func (m *liveModel) row(table string, size int) segment.Row {
	m.next++
	body := fmt.Appendf(nil, "row %d of %s", m.next, table)
	for len(body) < size {
		body = append(body, body...)
	}
	if table == "notes" {
		return segment.Row{body}
	}
	return segment.Row{segment.AppendUint(nil, uint64(m.next)), body[:0:0], body}
}

func (m *liveModel) fixed(r segment.Row) segment.Row { // a hash that says which row it is
	if len(r) == 3 {
		r[1] = make([]byte, 32)
		copy(r[1], r[0])
	}
	return r
}

func snapshot(rows map[string][]segment.Row) map[string][]segment.Row {
	c := map[string][]segment.Row{}
	for k, v := range rows {
		c[k] = slices.Clone(v)
	}
	return c
}

func (m *liveModel) open() {
	var err error
	if m.a, err = archive.Open(m.fs, "/chain", m.o); err != nil {
		m.t.Fatal(err)
	}
}

// tabler is an archive or a view.
type tabler interface {
	Table(name string) (*archive.Table, error)
}

// check holds all rows against what they should be, some of them one by one.
func (m *liveModel) check(what string, from tabler, rows map[string][]segment.Row, first map[string]uint64) {
	for _, name := range m.names {
		tab, err := from.Table(name)
		if err != nil {
			m.t.Fatal(err)
		}
		want := rows[name]
		if tab.FirstRow() != first[name] || tab.EndRow() != uint64(len(want)) {
			m.t.Fatalf("%s: %s has rows %d to %d, want %d to %d", what, name, tab.FirstRow(), tab.EndRow(), first[name], len(want))
		}
		n := first[name]
		for row, err := range tab.Rows(n) {
			if err != nil {
				m.t.Fatalf("%s: %s, row %d: %v", what, name, n, err)
			}
			if !equal(row, want[n]) {
				m.t.Fatalf("%s: %s, row %d is %q, want %q", what, name, n, row, want[n])
			}
			n++
		}
		if n != uint64(len(want)) {
			m.t.Fatalf("%s: %s: %d rows, want %d", what, name, n, len(want))
		}
		lo := rapid.Uint64Range(first[name], n).Draw(m.t, "from")
		hi := rapid.Uint64Range(lo, n).Draw(m.t, "to")
		back := hi
		for row, err := range tab.Scan(context.Background(), lo, hi, segment.ScanOptions{Reverse: true, Workers: int(n % 3)}) {
			if back--; err != nil || !equal(row, want[back]) {
				m.t.Fatalf("%s: %s, row %d backwards: %v", what, name, back, err)
			}
		}
		if back != lo {
			m.t.Fatalf("%s: %s: %d rows of %d to %d, backwards", what, name, hi-back, lo, hi)
		}
		if n > first[name] {
			at := rapid.Uint64Range(first[name], n-1).Draw(m.t, "row")
			row, err := tab.Row(nil, at)
			if err != nil || !equal(row, want[at]) {
				m.t.Fatalf("%s: %s, row %d: %q, %v, want %q", what, name, at, row, err, want[at])
			}
			last := tab.Schema().Columns[len(row)-1].Name
			c, err := tab.Column(last)
			if err != nil {
				m.t.Fatal(err)
			}
			if v, err := c.Value(nil, at); err != nil || string(v) != string(want[at][len(row)-1]) {
				m.t.Fatalf("%s: %s, row %d, column %s: %q, %v", what, name, at, last, v, err)
			}
		}
		for _, at := range []uint64{first[name] - 1, n} {
			if _, err := tab.Row(nil, at); !errors.Is(err, segment.ErrRange) {
				m.t.Fatalf("%s: %s, row %d: %v", what, name, at, err)
			}
		}
	}
}

func (m *liveModel) commit(t *rapid.T) {
	b := m.a.Batch()
	add := map[string][]segment.Row{}
	for _, name := range m.names {
		for range rapid.IntRange(0, 12).Draw(t, "rows") {
			r := m.fixed(m.row(name, rapid.SampledFrom([]int{0, 100, 40_000}).Draw(t, "size")))
			if err := b.Append(name, r); err != nil {
				t.Fatal(err)
			}
			add[name] = append(add[name], r)
		}
	}
	do := b.Commit
	if rapid.Bool().Draw(t, "without sync") {
		do = b.CommitNoSync
	}
	p, err := do(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for name, rows := range add {
		m.rows[name] = append(m.rows[name], rows...)
	}
	for _, name := range m.names {
		if p[name] != uint64(len(m.rows[name])) {
			t.Fatalf("committed up to %v", p)
		}
	}
}

func (m *liveModel) rewind(t *rapid.T) {
	to := archive.Position{}
	for _, name := range m.names {
		if rapid.Bool().Draw(t, "rewind "+name) {
			to[name] = rapid.Uint64Range(m.first[name], uint64(len(m.rows[name]))).Draw(t, "end")
		}
	}
	if err := m.a.Rewind(context.Background(), to); err != nil {
		t.Fatal(err)
	}
	for name, end := range to {
		m.rows[name] = slices.Clone(m.rows[name][:end])
	}
}

func (m *liveModel) prune(t *rapid.T) {
	name := rapid.SampledFrom(m.names).Draw(t, "table")
	before := rapid.Uint64Range(0, uint64(len(m.rows[name]))).Draw(t, "before")
	dry, err := m.a.Prune(context.Background(), name, before, true)
	if err != nil {
		t.Fatal(err)
	}
	p, err := m.a.Prune(context.Background(), name, before, false)
	if err != nil {
		t.Fatal(err)
	}
	if p != dry || p.FirstRow > max(before, m.first[name]) || p.FirstRow-m.first[name] != p.Rows {
		t.Fatalf("pruned before %d: %+v, dry run %+v, first row was %d", before, p, dry, m.first[name])
	}
	m.first[name] = p.FirstRow
}

func TestLiveModel(t *testing.T) {
	tb := t
	rapid.Check(t, func(rt *rapid.T) {
		m := &liveModel{t: rt, fs: vfs.NewMem(), rows: map[string][]segment.Row{}, first: map[string]uint64{}}
		text := rapid.SampledFrom([]string{s2Policy, dictPolicy}).Draw(rt, "policy")
		tables := liveTables(tb, text)
		mustBuild(tb, m.fs, "/chain", archive.CreateOptions{}, tables)
		for _, tab := range tables {
			m.names = append(m.names, tab.spec.Name)
			m.first[tab.spec.Name] = tab.spec.FirstRow
			m.rows[tab.spec.Name] = make([]segment.Row, tab.spec.FirstRow)
		}
		m.o = archive.Options{SealBytes: -1, SegmentBytes: rapid.SampledFrom([]int64{1 << 10, 100 << 10, 1 << 30}).Draw(rt, "segment bytes"), Workers: 1, CompressLog: rapid.Bool().Draw(rt, "compress log")}
		if rapid.Bool().Draw(rt, "seals by itself") {
			m.o.SealBytes = 60_000
		}
		m.open()
		rt.Repeat(map[string]func(*rapid.T){
			"commit":  m.commit,
			"commit ": m.commit,
			"rewind":  m.rewind,
			"prune":   m.prune,
			"seal": func(t *rapid.T) {
				if err := m.a.Seal(context.Background()); err != nil {
					t.Fatal(err)
				}
				for _, i := range m.a.Tables() {
					if i.LogRows != 0 && m.o.SealBytes < 0 {
						t.Fatalf("sealed, and %+v", i)
					}
				}
			},
			"recompress": func(t *rapid.T) {
				p := rapid.SampledFrom([]string{zstdPolicy, s2Policy, rawPolicy}).Draw(t, "policy")
				if _, err := m.a.Recompress(context.Background(), archive.RecompressOptions{RecompressOptions: segment.RecompressOptions{Policy: policy(tb, p)}}, nil); err != nil {
					t.Fatal(err)
				}
			},
			"sync": func(t *rapid.T) {
				if err := m.a.Sync(context.Background()); err != nil {
					t.Fatal(err)
				}
			},
			"reopen": func(t *rapid.T) {
				m.closeViews()
				if err := m.a.Close(); err != nil {
					t.Fatal(err)
				}
				m.open()
			},
			"read only": func(t *rapid.T) {
				r, err := archive.Open(m.fs, "/chain", archive.Options{ReadOnly: true})
				if err != nil {
					t.Fatal(err)
				}
				m.check("read-only", r, m.rows, m.first)
				if err := r.Close(); err != nil {
					t.Fatal(err)
				}
			},
			"view": func(t *rapid.T) {
				v, err := m.a.View()
				if err != nil {
					t.Fatal(err)
				}
				m.views = append(m.views, modelView{v, snapshot(m.rows), maps.Clone(m.first)})
			},
			"close view": func(t *rapid.T) {
				if len(m.views) > 0 {
					i := rapid.IntRange(0, len(m.views)-1).Draw(t, "view")
					m.views[i].v.Close()
					m.views = slices.Delete(m.views, i, i+1)
				}
			},
			"": func(t *rapid.T) {
				m.t = t
				m.check("now", m.a, m.rows, m.first)
				for i, v := range m.views {
					m.check(fmt.Sprintf("view %d", i), v.v, v.rows, v.first)
				}
			},
		})
		m.closeViews()
		if err := m.a.Seal(context.Background()); err != nil {
			rt.Fatal(err)
		}
		wantLogsGone(rt, m.fs, m.a)
		if err := m.a.Close(); err != nil {
			rt.Fatal(err)
		}
		m.open()
		m.check("at last", m.a, m.rows, m.first)
		if err := m.a.Close(); err != nil {
			rt.Fatal(err)
		}
	})
}

func (m *liveModel) closeViews() {
	for _, v := range m.views {
		v.v.Close()
	}
	m.views = nil
}

// wantLogsGone says that sealing everything leaves at most one log, without rows, and
// of segments those that are named.
func wantLogsGone(t interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}, fs vfs.FS, a *archive.Archive) {
	t.Helper()
	names, err := fs.List("/chain")
	if err != nil {
		t.Fatal(err)
	}
	logs := 0
	for _, n := range names {
		if len(n) > 4 && n[:4] == "log-" {
			logs++
		}
	}
	if logs > 1 {
		t.Fatalf("%d logs: %q", logs, names)
	}
	want := map[string]int{}
	segs, err := a.Segments()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range segs {
		want[s.Table]++
	}
	for _, i := range a.Tables() {
		files, err := fs.List("/chain/" + i.Table)
		if err != nil {
			t.Fatal(err)
		}
		if len(files) != want[i.Table] {
			t.Fatalf("table %s has %d segments, and the files %q", i.Table, want[i.Table], files)
		}
	}
}
