package jsonl

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/tools/chain"
	"github.com/segstore/segstore/tools/chain/chaintest"
)

const allKinds = "n:uint,text:bytes,h=someHex:hex,b:base64,f:fixed(2)"

func TestValues(t *testing.T) {
	m, report, err := importFiles(t, allKinds, file("dir/a.jsonl",
		`{"n":0,"text":"","someHex":"0x","b":"","f":"0000"}`+"\n"+
			`{"n":18446744073709551615,"text":"naïve \"q\" \\ \n \u0001 🙂","someHex":"0x00ff","b":"/+8=","f":"a0b1"}`+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []segment.Row{
		{make([]byte, 8), {}, {}, {}, {0, 0}},
		{{255, 255, 255, 255, 255, 255, 255, 255}, []byte("naïve \"q\" \\ \n \x01 🙂"), {0, 0xff}, {0xff, 0xef}, {0xa0, 0xb1}},
	} {
		if got := m.Row(DefaultTable, uint64(i)); fmt.Sprintf("%x", got) != fmt.Sprintf("%x", want) {
			t.Errorf("row %d is %x, want %x", i, got, want)
		}
	}
	s := report.Sources[0]
	if s.Name != "a.jsonl" || s.Format != "jsonl" || s.FirstBlock != 0 || s.Blocks != 2 || s.Restore != chain.Identical {
		t.Errorf("source %+v", s)
	}
	schema := m.Tables()[1].Schema
	if got := fmt.Sprint(schema.Columns); got != "[{n uint 0 } {text bytes 0 text} {h bytes 0 hex} {b bytes 0 base64} {f fixed 2 hex}]" {
		t.Errorf("schema %s", got)
	}
	if r := report.Tables[1]; r.Table != DefaultTable || r.Rows != 2 || r.RawBytes != 16+21+2+2+4 {
		t.Errorf("report %+v", r)
	}
}

// TestForms: what comes back for each form that a line may have.
func TestForms(t *testing.T) {
	const canonical = `{"n":7,"text":"a\"/é","someHex":"ab","b":"AA==","f":"0102"}` + "\n"
	for _, c := range []struct {
		name, in, out string
		match         chain.Match
	}{
		{"canonical", canonical, canonical, chain.Identical},
		{"many", strings.Repeat(canonical, 9000), strings.Repeat(canonical, 9000), chain.Identical},
		{"no newline at the end", canonical + canonical[:len(canonical)-1], canonical + canonical[:len(canonical)-1], chain.Identical},
		{"nothing", "", "", chain.Identical},
		{"0x in one column", strings.Replace(canonical, "0102", "0x0102", 1), strings.Replace(canonical, "0102", "0x0102", 1), chain.Identical},
		{"0x in the first line", strings.Replace(canonical+canonical, "0102", "0x0102", 1), strings.ReplaceAll(canonical+canonical, "0102", "0x0102"), chain.EqualContent},
		{"upper case", strings.Replace(canonical, "ab", "AB", 1), canonical, chain.EqualContent},
		{"spaces", " { \"n\" : 7 ,\t\"text\":\"a\\\"/é\",\"someHex\":\"ab\",\"b\":\"AA==\",\"f\":\"0102\" } \r\n", canonical, chain.EqualContent},
		{"escapes", strings.Replace(canonical, "/é", `\/\u00e9`, 1), canonical, chain.EqualContent},
		{"surrogates", strings.Replace(canonical, "/é", `\uD83D\uDE42`, 1), strings.Replace(canonical, "/é", "🙂", 1), chain.EqualContent},
		{"escaped field", strings.Replace(canonical, "text", `te\u0078t`, 1), canonical, chain.EqualContent},
		{"order", `{"b":"AA==","f":"0102","n":7,"text":"a\"/é","someHex":"ab"}` + "\n", canonical, chain.EqualContent},
		{"late", canonical + strings.Replace(canonical, "7", "7 ", 1), canonical + canonical, chain.EqualContent},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, report, err := importFiles(t, allKinds, file("x.jsonl", c.in))
			if err != nil {
				t.Fatal(err)
			}
			if s := report.Sources[0]; s.Restore != c.match || (s.Reason == "") != (c.match == chain.Identical) {
				t.Errorf("import says %s, %q", s.Restore, s.Reason)
			}
			out, exported := export(t, m)
			if out["x.jsonl"] != c.out {
				t.Errorf("got  %.400s\nwant %.400s", out["x.jsonl"], c.out)
			}
			if f := exported.Files[0]; f.Match != c.match {
				t.Errorf("export says %s, %q", f.Match, f.Reason)
			}
			if c.name == "late" && !strings.Contains(report.Sources[0].Reason, "line 2 ") {
				t.Errorf("reason %q", report.Sources[0].Reason)
			}
			again, report, err := importFiles(t, allKinds, file("x.jsonl", out["x.jsonl"]))
			if err != nil || report.Sources[0].Restore != chain.Identical {
				t.Errorf("canonical form is not canonical: %v, %+v", err, report.Sources)
			}
			if a, b := again.Column(DefaultTable, "text"), m.Column(DefaultTable, "text"); !slices.EqualFunc(a, b, slices.Equal) {
				t.Errorf("text %q, then %q", b, a)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	const good = `{"n":7,"text":"a","someHex":"ab","b":"AA==","f":"0102"}`
	in := func(from, to string) string { return good + "\n" + strings.Replace(good, from, to, 1) + "\n" }
	line := func(s string) string { return good + "\n" + s + "\n" }
	start := len(good) + 1
	for _, c := range []struct {
		name, in string
		at       int // in the second line
		says     string
	}{
		{"missing", in(`"text":"a",`, ``), 43, `field "text" (column "text") in line 2: it is missing`},
		{"missing all", line(`{}`), 1, `field "n" (column "n") in line 2: it is missing`},
		{"unknown", in(`"text":"a"`, `"text":"a","Text":"a"`), 18, `no other fields than the columns' in line 2: field "Text"`},
		{"column's name for the field's", in("someHex", "h"), 18, `field "h"`},
		{"twice", in(`"text":"a"`, `"n":7`), 7, `one field "n" (column "n") in line 2: it is there twice`},
		{"twice and once", in(`"text":"a"`, `"text":"a","text":"a"`), 18, `twice`},
		{"string for number", in(`7`, `"7"`), 5, `an integer from 0 to 18446744073709551615 as column "n" in line 2: it is a string`},
		{"number for string", in(`"a"`, `1`), 14, `a string as column "text" in line 2: it is a number`},
		{"null", in(`"a"`, `null`), 14, `it is null`},
		{"array", in(`"a"`, `[1]`), 14, `it is an array`},
		{"object", in(`"a"`, `{"a":"}"}`), 14, `it is an object`},
		{"boolean", in(`7`, `true`), 5, `it is a boolean`},
		{"negative", in(`7`, `-7`), 5, `-7: out of range`},
		{"negative zero", in(`7`, `-0`), 5, `-0: out of range`},
		{"too large", in(`7`, `18446744073709551616`), 5, `18446744073709551616: out of range`},
		{"much too large", in(`7`, strings.Repeat("9", 100)), 5, `out of range`},
		{"fraction", in(`7`, `7.0`), 5, `7.0: not an integer`},
		{"exponent", in(`7`, `7e1`), 5, `7e1: not an integer`},
		{"negative exponent", in(`7`, `-7E+1`), 5, `not an integer`},
		{"leading zero", in(`7`, `07`), 6, `a JSON object in line 2: invalid character '7'`},
		{"odd hex", in(`"ab"`, `"0xabc"`), 28, `a string of hex digits as column "h" in line 2: odd number`},
		{"no hex", in(`"ab"`, `"ag"`), 28, `U+0067 'g'`},
		{"0X", in(`"ab"`, `"0Xab"`), 28, `U+0058 'X'`},
		{"short", in(`"0102"`, `"01"`), 48, `a string of hex digits, 2 bytes as column "f" in line 2: 1 bytes`},
		{"long", in(`"0102"`, `"0x010203"`), 48, `3 bytes`},
		{"base64 without padding", in(`AA==`, `AA`), 37, `a string of base64 as column "b"`},
		{"base64 with stray bits", in(`AA==`, `AB==`), 37, `base64`},
		{"base64 with newline", in(`AA==`, `AA\n==`), 37, `newline`},
		{"base64 for URLs", in(`AA==`, `_w==`), 37, `base64`},
		{"half a surrogate", in(`"a"`, `"\ud83d"`), 14, `a string as column "text" in line 2: half a surrogate pair, \ud83d`},
		{"two halves", in(`"a"`, `"\ud83d\ud83d"`), 14, `half a surrogate`},
		{"the other half", in(`"a"`, `"\ude42\ud83d"`), 14, `\ude42`},
		{"half in a name", in(`text`, `\ud83d`), 7, `a field's name in line 2: half`},
		{"not UTF-8", in(`"a"`, "\"a\xff\""), 16, `text in UTF-8 in line 2: not valid UTF-8`},
		{"surrogate in UTF-8", in(`"a"`, "\"\xed\xa0\x80\""), 15, `not valid UTF-8`},
		{"control character", in(`"a"`, "\"\t\""), 15, `invalid character '\t'`},
		{"empty line", line(""), 0, `a JSON object in line 2: it is empty`},
		{"spaces only", line("  "), 1, `a JSON object in line 2`},
		{"number", line("1"), 0, `an object, { … }, in line 2`},
		{"two objects", line(good + good), len(good), `a JSON object in line 2: invalid character '{' after top-level value`},
		{"cut", good + "\n" + good[:30], 29, `unexpected end of JSON input`},
		{"not JSON", line("n,text,hex"), 1, `a JSON object in line 2`},
		{"byte order mark", line("\ufeff" + good), 0, `invalid character 'ï'`},
		{"comma at the end", in(`"0102"`, `"0102",`), 55, `a JSON object in line 2`},
		{"deep", line(`{"n":` + strings.Repeat("[", 20000)), 10004, `exceeded max depth`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := importFiles(t, allKinds, file("x.jsonl", c.in))
			var bad *chain.InputError
			if !errors.As(err, &bad) || !strings.Contains(err.Error(), c.says) || !strings.HasPrefix(err.Error(), "x.jsonl: at byte ") {
				t.Fatalf("error is %v\nwant %s", err, c.says)
			}
			if bad.Offset != int64(start+c.at) {
				t.Errorf("error at %d, want %d: %v", bad.Offset, start+c.at, err)
			}
		})
	}
}

func TestLineLimit(t *testing.T) {
	long := `{"a":"` + strings.Repeat("x", 3<<20) + `"}`
	columns := parse(t, "a:bytes")
	for _, in := range []string{long + "\n", long} {
		for _, limit := range []int{0, len(long), len(long) - 1, 300 << 10, 100} {
			m := new(chaintest.Memory)
			_, err := Importer{Columns: columns}.Import(context.Background(), []chain.File{file("x", in)}, m, chain.ImportOptions{MaxBlockBytes: limit})
			if fits := limit == 0 || limit >= len(long); fits != (err == nil) || !fits && !strings.Contains(err.Error(), fmt.Sprintf("within %d bytes", limit)) {
				t.Errorf("limit %d: %v", limit, err)
			}
			if err == nil && len(m.Row(DefaultTable, 0)[0]) != 3<<20 {
				t.Error("value is cut")
			}
		}
	}
}

func TestSeveralFiles(t *testing.T) {
	a, b := "{\"a\":\"0x01\"}\n{\"a\":\"0x02\"}\n", "{\"a\":\"03\"}\n"
	m := new(chaintest.Memory)
	files := []chain.File{file("1/x.jsonl", a), file("empty", ""), file("2/x.jsonl", b), file("z.jsonl.gz", string(chaintest.Gzip([]byte(a))))}
	report, err := Importer{Table: "things", Columns: parse(t, "a:hex")}.Import(context.Background(), files, m, chain.ImportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range report.Sources {
		got = append(got, fmt.Sprint(s.Name, " ", s.FirstBlock, "+", s.Blocks, " ", s.Restore))
	}
	if want := []string{"x.jsonl 0+2 identical", "empty 2+0 identical", "x.jsonl 2+1 identical", "z.jsonl 3+2 equal_content"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	out, exported := export(t, m)
	for name, want := range map[string]string{"x.jsonl": a, "empty": "", "x-2.jsonl": b, "z.jsonl": a} {
		if out[name] != want {
			t.Errorf("%s: %q", name, out[name])
		}
	}
	if f := exported.Files[3]; f.Match != chain.EqualContent || f.Reason != reasonGzip {
		t.Errorf("%+v", f)
	}
}

func TestParseColumns(t *testing.T) {
	const list = "a:uint,b=Some Field:hex,c=x:y:base64,d:fixed(65536),e:bytes"
	var back []string
	for _, c := range parse(t, list) {
		back = append(back, c.String())
	}
	if got := strings.Join(back, ","); got != list {
		t.Errorf("%s", got)
	}
	for list, says := range map[string]string{
		"":                "not name:kind",
		"a":               "not name:kind",
		"a:":              `kind ""`,
		"a:text":          `kind "text" is not bytes, hex, base64, uint or fixed(N)`,
		"a:fixed":         "fixed(N)",
		"a:fixed(0)":      "1..65536",
		"a:fixed(65537)":  "1..65536",
		"A:uint":          `name "A"`,
		":uint":           `name ""`,
		"a:uint,a=b:hex":  `"a" twice`,
		"a:uint,b=a:hex":  `field "a" twice`,
		"a:uint,":         "not name:kind",
		"a=\xff:uint":     "UTF-8",
		"a :uint,b: uint": "kind",
	} {
		if _, err := ParseColumns(list); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", list, err)
		}
	}
	for _, im := range []Importer{{}, {Table: "sources", Columns: parse(t, "a:uint")}, {Columns: []Column{{Name: "a", Kind: 9}}}} {
		if _, err := im.Import(context.Background(), nil, new(chaintest.Memory), chain.ImportOptions{}); err == nil {
			t.Errorf("%+v: no error", im)
		}
	}
}

// TestExportOfDamage: rows that cannot be right are errors, or the report says so.
func TestExportOfDamage(t *testing.T) {
	const in = `{"a":"x"}` + "\n" + `{"a":"y"}` + "\n"
	for name, damage := range map[string]func(m *chaintest.Memory){
		"not UTF-8": func(m *chaintest.Memory) { m.Row(DefaultTable, 1)[0] = []byte{0xff} },
		"blocks":    func(m *chaintest.Memory) { m.Row(chain.SourcesTable, 0)[3][0] = 3 },
		"extra":     func(m *chaintest.Memory) { m.Row(chain.SourcesTable, 0)[8] = []byte{1} },
		"fields":    func(m *chaintest.Memory) { m.Row(chain.SourcesTable, 0)[8] = []byte("\x04rows\x00\x00") },
		"table":     func(m *chaintest.Memory) { m.Drop(DefaultTable) },
		"format":    func(m *chaintest.Memory) { m.Row(chain.SourcesTable, 0)[1] = []byte("era1") },
	} {
		m, _, err := importFiles(t, "a:bytes", file("x", in))
		if err != nil {
			t.Fatal(err)
		}
		damage(m)
		out := output{}
		if report, err := (Exporter{}).Export(context.Background(), m, out, chain.ExportOptions{}); err == nil || len(out) > 0 {
			t.Errorf("%s: no error: %+v", name, report)
		}
	}
	for _, in := range []string{in, " " + in} {
		m, _, err := importFiles(t, "a:bytes", file("x", in))
		if err != nil {
			t.Fatal(err)
		}
		m.Row(DefaultTable, 1)[0][0] ^= 1
		if _, report := export(t, m); report.Files[0].Match != chain.Different {
			t.Errorf("another value: %+v", report)
		}
	}
}
