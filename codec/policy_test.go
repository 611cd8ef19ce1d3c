package codec

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestProfiles(t *testing.T) {
	if got := Profiles(); !slices.Equal(got, []string{"hot", "balanced", "cold"}) || !slices.Contains(got, DefaultProfile) {
		t.Errorf("profiles %v, default %s", got, DefaultProfile)
	}
	for _, p := range profiles() {
		got, err := Profile(p.name)
		if err != nil {
			t.Fatal(err)
		}
		if got.String() != p.text {
			t.Errorf("%s is written %q, canonically %q", p.name, p.text, got)
		}
	}
	if _, err := Profile("warm"); err == nil || !strings.Contains(err.Error(), "hot, balanced, cold") {
		t.Error(err)
	}
}

func drawRule(t *rapid.T, match string) Rule {
	r := Rule{
		Match:    match,
		Encoding: rapid.SampledFrom([]string{"", "plain", "plain/1", "eth-tx/12", "a_b"}).Draw(t, "encoding"),
		Group:    rapid.SampledFrom([]string{GroupColumn, GroupStream}).Draw(t, "group"),
		Spec:     drawSpec(t, rapid.Bool().Draw(t, "dict")),
	}
	if r.Spec.Dict {
		r.Fallback = drawSpec(t, false)
		r.DictBytes = rapid.IntRange(MinDictBytes, MaxDictBytes).Draw(t, "bytes")
	}
	return r
}

func drawPolicy(t *rapid.T) Policy {
	p := Policy{ChunkBytes: rapid.IntRange(MinChunkBytes, MaxChunkBytes).Draw(t, "chunk")}
	names := rapid.SliceOfNDistinct(rapid.StringMatching(`(column:[a-z0-9_]{1,64}|format:[a-z0-9_-]{1,64}|kind:(bytes|fixed|uint))`), 0, 9, rapid.ID).Draw(t, "matches")
	for _, m := range append(names, "*") {
		p.Rules = append(p.Rules, drawRule(t, m))
	}
	return p
}

func TestPolicyText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPolicy(t)
		if err := p.Validate(); err != nil {
			t.Fatal(err)
		}
		text := p.String()
		got, err := ParsePolicy(text)
		if err != nil || !reflect.DeepEqual(got, p) || got.String() != text {
			t.Fatalf("%q became %+v: %v", text, got, err)
		}
		// A person's text of it: fields in another order, comments, spaces.
		var loose []string
		for line := range strings.Lines(text) {
			f := strings.Fields(line)
			if f[0] != "chunk" {
				slices.Reverse(f[1:])
			}
			loose = append(loose, "\t"+strings.Join(f, "  ")+" # why", "")
		}
		if got, err := ParsePolicy(strings.Join(loose, "\r\n")); err != nil || !reflect.DeepEqual(got, p) {
			t.Fatalf("%q: %v", loose, err)
		}
	})
}

func TestParsePolicyErrors(t *testing.T) {
	many := new(strings.Builder)
	many.WriteString("chunk 4096\n")
	for i := range MaxRules {
		fmt.Fprintf(many, "column:c%d group=column codec=s2\n", i)
	}
	many.WriteString("* group=column codec=s2\n")
	for _, c := range []struct{ text, want string }{
		{"", `line 1: the text ends, expected "chunk BYTES"`},
		{"\n# nothing\n", `line 3: the text ends`},
		{"* group=column codec=s2", `line 1: "* group=column codec=s2", expected "chunk BYTES"`},
		{"chunk", `line 1: "chunk", expected "chunk BYTES"`},
		{"chunk 4 KiB", `expected "chunk BYTES"`},
		{"chunk 1023", `line 1: chunk: "1023", expected a number of bytes in 1024..16777216`},
		{"chunk 16777217", `"16777217"`},
		{"chunk 04096", `"04096"`},
		{"chunk -1", `"-1"`},
		{"chunk 99999999999999999999", "expected a number"},
		{"chunk 4096\n", "0 rules, not in 1..1024"},
		{"chunk 4096\nchunk 4096\n", `line 2: "4096", expected key=value`},
		{"chunk 4096\ngroup=column codec=s2", "line 2: \"group=column\", expected what the rule matches first"},
		{"chunk 4096\n* group=column", "line 2: codec= is missing"},
		{"chunk 4096\n* codec=s2", "line 2: group= is missing"},
		{"chunk 4096\n\n* group=column codec=lz4", `line 3: codec: spec "lz4": expected raw`},
		{"chunk 4096\n* group=row codec=s2", `line 2: group "row": expected column or stream`},
		{"chunk 4096\n* group=column codec=s2 level=3", "line 2: level: unknown key"},
		{"chunk 4096\n* group=column codec=s2 codec=raw", "line 2: codec twice"},
		{"chunk 4096\n* group=column codec=", `line 2: "codec=", expected key=value`},
		{"chunk 4096\n* group=column codec=zstd:1+dict dict=4096", "line 2: else= is missing"},
		{"chunk 4096\n* group=column codec=zstd:1+dict else=raw", "line 2: dict= is missing"},
		{"chunk 4096\n* group=column codec=zstd:1+dict else=zstd:1+dict dict=4096", "fallback zstd:1+dict"},
		{"chunk 4096\n* group=column codec=zstd:1+dict else=raw dict=1048577", `line 2: dict: "1048577"`},
		{"chunk 4096\n* group=column codec=zstd:12+dict else=raw dict=4096", "no dictionary at level 10"},
		{"chunk 4096\n* group=column codec=zstd:1 else=raw", "takes no dictionary"},
		{"chunk 4096\n* group=column codec=zstd:1 dict=4096", "takes no dictionary"},
		{"chunk 4096\nbody group=column codec=s2\n", `line 2: match "body": expected *, column:NAME`},
		{"chunk 4096\ncolumn:Body group=column codec=s2\n", `match "column:Body"`},
		{"chunk 4096\ncolumn: group=column codec=s2\n", `match "column:"`},
		{"chunk 4096\nkind:text group=column codec=s2\n", `match "kind:text"`},
		{"chunk 4096\n*:x group=column codec=s2\n", `match "*:x"`},
		{"chunk 4096\n* encoding=a/0 group=column codec=s2\n", `encoding "a/0"`},
		{"chunk 4096\n* encoding=/1 group=column codec=s2\n", `encoding "/1"`},
		{"chunk 4096\nkind:uint group=column codec=s2\n", "rule 1: the last rule is kind:uint, expected *"},
		{"chunk 4096\n* group=column codec=s2\n* group=column codec=s2\n", "rule 1: * is not the last"},
		{"chunk 4096\nkind:uint group=column codec=s2\nkind:uint group=column codec=s2\n* group=column codec=s2\n", "rule 2: kind:uint twice"},
		{many.String(), "line 1026: more than 1024 rules"},
		{"chunk 4096\n" + strings.Repeat("#\n", MaxPolicyBytes/2), "text of 65547 bytes, at most 65536"},
	} {
		if _, err := ParsePolicy(c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.80q: %v, expected %q", c.text, err, c.want)
		}
	}
}

// What String could write and ParsePolicy would not read is refused before.
func TestValidate(t *testing.T) {
	good := Policy{ChunkBytes: 4096, Rules: []Rule{{Match: "*", Group: GroupColumn, Spec: Spec{ID: S2}}}}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(p *Policy){
		"chunk 0":             func(p *Policy) { p.ChunkBytes = 0 },
		"spec":                func(p *Policy) { p.Rules[0].Spec = Spec{ID: 9} },
		"level 0":             func(p *Policy) { p.Rules[0].Spec = Spec{ID: Zstd} },
		"dictionary size":     func(p *Policy) { p.Rules[0].DictBytes = 4096 },
		"fallback":            func(p *Policy) { p.Rules[0].Fallback = Spec{ID: S2} },
		"fallback's level":    func(p *Policy) { p.Rules[0].Fallback = Spec{Level: 3} },
		"name with space":     func(p *Policy) { p.Rules[0].Match = "column:a b" },
		"encoding with break": func(p *Policy) { p.Rules[0].Encoding = "a\n*" },
		"too long": func(p *Policy) {
			for i := range 800 {
				p.Rules = append([]Rule{{Match: fmt.Sprintf("column:%060d", i), Group: GroupColumn, Spec: Spec{ID: S2}}}, p.Rules...)
			}
		},
	} {
		p := good
		p.Rules = slices.Clone(good.Rules)
		change(&p)
		if err := p.Validate(); err == nil {
			t.Errorf("%s: valid", name)
		}
	}
}

func TestRule(t *testing.T) {
	p, err := ParsePolicy(`chunk 4096
column:number group=column codec=raw
format:eth-tx group=stream codec=zstd:1+dict else=zstd:2 dict=4096
kind:uint group=column codec=s2
* group=column codec=zstd:5
`)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ column, kind, format, match, without string }{
		{"number", "uint", "", "column:number", "raw"},
		{"count", "uint", "", "kind:uint", "s2"},
		{"transaction", "bytes", "eth-tx", "format:eth-tx", "zstd:2"},
		{"number", "bytes", "eth-tx", "column:number", "raw"}, // the first that matches
		{"header", "fixed", "btc-header", "*", "zstd:5"},
		{"format", "bytes", "", "*", "zstd:5"},
	} {
		if r := p.Rule(c.column, c.kind, c.format); r.Match != c.match || r.Without().String() != c.without {
			t.Errorf("%v: %s", c, r)
		}
	}
	if r := (Policy{}).Rule("a", "bytes", ""); r.Validate() == nil {
		t.Errorf("no rule matches, got %s", r)
	}
}

func TestPolicyWith(t *testing.T) {
	p, err := ParsePolicy(`chunk 4096
kind:uint group=column codec=s2
format:eth-tx encoding=eth-tx/1 group=stream codec=zstd:1
* group=column codec=zstd:1+dict else=zstd:3 dict=4096
`)
	if err != nil {
		t.Fatal(err)
	}
	before := p.String()
	for _, c := range []struct {
		name string
		got  Policy
		want string
	}{
		{"level 7", p.WithLevel(7), `chunk 4096
kind:uint group=column codec=s2
format:eth-tx encoding=eth-tx/1 group=stream codec=zstd:7
* group=column codec=zstd:7+dict else=zstd:7 dict=4096
`},
		{"level 19 drops the dictionary", p.WithLevel(19), `chunk 4096
kind:uint group=column codec=s2
format:eth-tx encoding=eth-tx/1 group=stream codec=zstd:19
* group=column codec=zstd:19
`},
		{"encoding", p.WithEncoding("plain"), `chunk 4096
kind:uint group=column codec=s2
format:eth-tx encoding=plain group=stream codec=zstd:1
kind:bytes encoding=plain group=column codec=zstd:1+dict else=zstd:3 dict=4096
* group=column codec=zstd:1+dict else=zstd:3 dict=4096
`},
		{"encoding twice", p.WithEncoding("plain").WithEncoding("other/2"), `chunk 4096
kind:uint group=column codec=s2
format:eth-tx encoding=other/2 group=stream codec=zstd:1
kind:bytes encoding=other/2 group=column codec=zstd:1+dict else=zstd:3 dict=4096
* group=column codec=zstd:1+dict else=zstd:3 dict=4096
`},
		{"no encoding", p.WithEncoding(""), `chunk 4096
kind:uint group=column codec=s2
format:eth-tx group=stream codec=zstd:1
* group=column codec=zstd:1+dict else=zstd:3 dict=4096
`},
	} {
		if err := c.got.Validate(); err != nil || c.got.String() != c.want {
			t.Errorf("%s: %v\n%s", c.name, err, c.got)
		}
	}
	if p.String() != before {
		t.Error("the policy itself was changed")
	}
}

func FuzzParsePolicy(f *testing.F) {
	for _, p := range profiles() {
		f.Add(p.text)
	}
	f.Add("chunk 1024\ncolumn:a encoding=b/1 group=stream codec=raw # c\n\n* codec=s2 group=column")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParsePolicy(text)
		if err != nil {
			return
		}
		again, err := ParsePolicy(p.String())
		if err != nil || !reflect.DeepEqual(again, p) {
			t.Fatalf("%q is %+v, its text %+v: %v", text, p, again, err)
		}
		for _, n := range []int{-7, 0, 9, 10, 22} {
			if err := p.WithLevel(n).Validate(); err != nil {
				t.Fatalf("level %d: %v", n, err)
			}
		}
	})
}
