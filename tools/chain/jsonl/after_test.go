package jsonl

import (
	"errors"
	"strings"
	"testing"

	"github.com/segstore/segstore/tools/chain"
	"github.com/segstore/segstore/tools/chain/chaintest"
)

const someLines = `{"N":1,"h":"0xab"}` + "\n" + `{"N":2,"h":"0xcd"}` + "\n"

// Files go one behind the other, also without columns and table given: they are as they were.
func TestInParts(t *testing.T) {
	files := []chain.File{
		chaintest.BytesFile("a.jsonl", []byte(someLines)), chaintest.BytesFile("b.jsonl", nil),
		chaintest.BytesFile("c.jsonl", []byte(`{"N":3,"h":"ef"}`)), chaintest.BytesFile("d.jsonl", []byte(someLines)),
	}
	im := Importer{Table: "t", Columns: parse(t, "n=N:uint,h:hex")}
	chaintest.InParts(t, im, Exporter{}, chain.ImportOptions{}, files...)
	whole, _ := chaintest.Import(t, im, files...)
	parts, _ := chaintest.Import(t, im, files[0])
	if _, err := chaintest.ImportAfter(t, parts, Importer{}, chain.ImportOptions{}, files[1:]...); err != nil || !parts.Equal(whole) {
		t.Errorf("the tables are others: %v", err)
	}
}

// Tables of several kinds of lines are filled one by one: each has its own sources.
func TestAfterTables(t *testing.T) {
	x := chaintest.BytesFile("x.jsonl", []byte(`{"a":1}`+"\n"))
	m, _ := chaintest.Import(t, Importer{Table: "t", Columns: parse(t, "a:uint")}, x)
	if err := m.Create(chain.Table{Name: "u", Schema: must(Schema(parse(t, "a:bytes")))}); err != nil {
		t.Fatal(err)
	}
	_, err := chaintest.ImportAfter(t, m, Importer{}, chain.ImportOptions{}, x)
	if !errors.Is(err, chain.ErrTables) || !strings.Contains(err.Error(), `no table "rows", there are ["sources" "t" "u"]`) {
		t.Error(err)
	}
	y := chaintest.BytesFile("y.jsonl", []byte(`{"a":"y"}`+"\n"))
	for _, tc := range []struct {
		table string
		f     chain.File
	}{{"u", y}, {"t", x}, {"u", y}} {
		if _, err := chaintest.ImportAfter(t, m, Importer{Table: tc.table}, chain.ImportOptions{}, tc.f); err != nil {
			t.Fatal(err)
		}
	}
	if m.Rows("t") != 2 || m.Rows("u") != 2 || m.Rows(chain.SourcesTable) != 4 {
		t.Error("rows are missing")
	}
	m.Cut("t", 1)
	if _, err := chaintest.ImportAfter(t, m, Importer{Table: "t"}, chain.ImportOptions{AllowGap: true}, x); !errors.Is(err, chain.ErrTables) {
		t.Error(err)
	}
	m.Cut(chain.SourcesTable, 1)
	var gap *chain.GapError
	if _, err := chaintest.ImportAfter(t, m, Importer{Table: "u"}, chain.ImportOptions{}, y); !errors.As(err, &gap) || gap.First != 1 || gap.End != 2 {
		t.Error(err)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
