package segment_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/segstore/segstore/codec"
	"github.com/segstore/segstore/segment"
)

// TestSizes holds the profiles to what the README says of them: percent of the raw
// bytes, files as they lie. The table blocks holds uncles beside headers; all of
// its file but the uncles' blocks and their dictionary is counted for the headers.
//
//	go test ./segment -run TestSizes -v
func TestSizes(t *testing.T) {
	if testing.Short() {
		t.Skip("compresses all real rows three times over")
	}
	most := map[string][3]float64{ // transactions, receipts, headers
		"hot":      {64, 14, 29},
		"balanced": {62.0, 12.5, 27.0},
		"cold":     {61.0, 11.3, 25.8},
	}
	var table strings.Builder
	fmt.Fprintf(&table, "| profile | transactions | receipts | headers |\n|---|---|---|---|\n")
	for _, name := range codec.Profiles() {
		fmt.Fprintf(&table, "| `%s` |", name)
		for i, of := range []struct{ table, column string }{{"transactions", "transaction"}, {"receipts", "receipt"}, {"blocks", "header"}} {
			_, b := realSegment(t, of.table, profile(t, name).WithEncoding("plain"))
			got := percent(t, b, of.column)
			fmt.Fprintf(&table, " %.1f |", got)
			if got > most[name][i] {
				t.Errorf("%s, %s: %.2f %% of raw, more than %.1f", name, of.column, got, most[name][i])
			}
		}
		fmt.Fprintln(&table)
	}
	t.Logf("\n%s", table.String())
}

// percent is a file's size, without what the column uncles alone takes, in percent
// of the raw bytes of column.
func percent(t *testing.T, b []byte, column string) float64 {
	t.Helper()
	r := open(t, b, segment.ReaderOptions{})
	schema, raw, stored := r.Schema(), uint64(0), int64(0)
	for i, c := range r.Stats() {
		if c.Column == column {
			raw = r.Stats()[i].RawBytes
		}
	}
	uncles := -2 // the dictionary that only uncles use
	if i := schema.Index("uncles"); i >= 0 {
		uncles = r.Layout().Columns[i].Blocks[0].Dictionary
	}
	for p := range r.Places() {
		if p.Column == "uncles" || p.Section == segment.SectionDictionary && p.Block == uncles {
			continue
		}
		stored += p.Length
	}
	return 100 * float64(stored) / float64(raw)
}
