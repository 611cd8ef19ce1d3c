package jsonl

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/segstore/segstore/tools/chain"
	"github.com/segstore/segstore/tools/chain/chaintest"
)

// A long line is in memory about once while it is read, and but for its values not at all while it is written: what is allocated in all, the
// buffer's growth included, is a small multiple of it. It comes back as it was, piece by piece.
func TestLongLine(t *testing.T) {
	size := 16 << 20
	if testing.Short() {
		size = 2 << 20
	}
	raw := bytes.Repeat([]byte("0123456789abcdef\xe2\x82\xac\x00\xff"), size/21)
	for name, tc := range map[string]struct {
		columns, value string
		most           float64 // bytes allocated a byte of the line
	}{
		"text":    {"a:bytes", strings.Repeat("naïve ", size/7), 3.5},
		"escapes": {"a:bytes", strings.Repeat(`\n\u0001 \"é`, size/14), 5},
		"hex":     {"a:hex", "0x" + hex.EncodeToString(raw[:size/2]), 5},
		"base64":  {"a:base64", base64.StdEncoding.EncodeToString(raw[:size/4*3-1]), 5},
	} {
		line := `{"a":"` + tc.value + `"}` + "\n"
		for kind, f := range map[string]chain.File{"file": file("x.jsonl", line), "gzip": file("x.jsonl.gz", string(chaintest.Gzip([]byte(line))))} {
			im := Importer{Columns: parse(t, tc.columns)}
			most := tc.most
			if kind == "gzip" { // nothing says how long the line can be
				most++
			}
			allocated := allocatedBy(func() {
				if _, err := im.Import(t.Context(), []chain.File{f}, chaintest.Discard{}, chain.ImportOptions{}); err != nil {
					t.Fatal(err)
				}
			})
			if got := float64(allocated) / float64(len(line)); got > most {
				t.Errorf("%s, %s: %.1f bytes allocated a byte of the line", name, kind, got)
			}
		}
		m, report := chaintest.Import(t, Importer{Columns: parse(t, tc.columns)}, file("x.jsonl", line))
		if report.Sources[0].Restore != chain.Identical {
			t.Errorf("%s: %s", name, report.Sources[0].Reason)
		}
		allocated := allocatedBy(func() {
			r, err := Exporter{}.Export(t.Context(), m, chaintest.Nowhere{}, chain.ExportOptions{})
			if err != nil || r.Files[0].Match != chain.Identical {
				t.Errorf("%s: %+v, %v", name, r, err)
			}
		})
		if allocated > uint64(size)*5/4+1<<17 { // the view itself copies the value
			t.Errorf("%s: %d bytes allocated by the export", name, allocated)
		}
	}
}

func allocatedBy(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// A line that differs from its canonical form only behind the first piece is told from one that does not.
func TestLongLineLoose(t *testing.T) {
	long := strings.Repeat("x", 5*piece)
	for name, line := range map[string]string{
		"escape": `{"a":"` + long + `\u0041"}`,
		"space":  `{"a":"` + long + `"} `,
		"first":  ` {"a":"` + long + `"}`,
	} {
		m, report := chaintest.Import(t, Importer{Columns: parse(t, "a:bytes")}, file("x.jsonl", line))
		out, r := chaintest.Export(t, Exporter{}, m)
		want := strings.ReplaceAll(strings.TrimSpace(line), `\u0041`, "A")
		if report.Sources[0].Restore != chain.EqualContent || r.Files[0].Match != chain.EqualContent || string(out.Files["x.jsonl"]) != want {
			t.Errorf("%s: %+v, %+v", name, report.Sources[0].Restore, r.Files[0].Match)
		}
	}
}

// The limit of a line is exact, and the error has its number.
func TestLongestLine(t *testing.T) {
	line := `{"a":"` + strings.Repeat("x", 100_000) + `"}`
	for _, end := range []string{"", "\n", "\n" + line} {
		for _, limit := range []int{len(line), len(line) - 1} {
			o := chain.ImportOptions{MaxBlockBytes: limit}
			_, err := Importer{Columns: parse(t, "a:bytes")}.Import(t.Context(), []chain.File{file("x.jsonl", line+end)}, chaintest.Discard{}, o)
			if limit == len(line) && err != nil {
				t.Errorf("at the limit: %v", err)
			}
			var e *chain.InputError
			if limit < len(line) && (!errors.As(err, &e) || !strings.Contains(e.Want, "within 100007 bytes")) {
				t.Errorf("over the limit: %v", err)
			}
		}
	}
}
