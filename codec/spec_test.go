package codec

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParseSpec(t *testing.T) {
	for text, want := range map[string]struct {
		spec    Spec
		text    string // canonical
		encoder string
		without string // error, if any
	}{
		"raw":          {Spec{ID: Raw}, "raw", "", ""},
		"s2":           {Spec{ID: S2}, "s2", "s2", ""},
		"zstd":         {Spec{ID: Zstd, Level: 3}, "zstd:3", "default", ""},
		"zstd:0":       {Spec{ID: Zstd, Level: 3}, "zstd:3", "default", ""},
		"zstd+dict":    {Spec{ID: Zstd, Level: 3, Dict: true}, "zstd:3+dict", "default", ""},
		"zstd:-7":      {Spec{ID: Zstd, Level: -7}, "zstd:-7", "fastest", ""},
		"zstd:1+dict":  {Spec{ID: Zstd, Level: 1, Dict: true}, "zstd:1+dict", "fastest", ""},
		"zstd:2":       {Spec{ID: Zstd, Level: 2}, "zstd:2", "fastest", ""},
		"zstd:5":       {Spec{ID: Zstd, Level: 5}, "zstd:5", "default", ""},
		"zstd:6":       {Spec{ID: Zstd, Level: 6}, "zstd:6", "better", ""},
		"zstd:9":       {Spec{ID: Zstd, Level: 9}, "zstd:9", "better", ""},
		"zstd:10":      {Spec{ID: Zstd, Level: 10}, "zstd:10", "best", ""},
		"zstd:22":      {Spec{ID: Zstd, Level: 22}, "zstd:22", "best", ""},
		"":             {without: "expected raw, s2, zstd:N"},
		"lz4":          {without: `"lz4"`},
		"Zstd":         {without: "expected raw"},
		"zstd:":        {without: `level ""`},
		"zstd:+1":      {without: `level "+1"`},
		"zstd:01":      {without: `level "01"`},
		"zstd:x":       {without: `level "x"`},
		"zstd:23":      {without: "level 23 not in -7..22"},
		"zstd:-8":      {without: "level -8 not in -7..22"},
		"raw:1":        {without: "raw has no levels"},
		"raw:0":        {without: "raw has no levels"},
		"raw+dict":     {without: "raw takes no dictionary"},
		"s2+dict":      {without: "s2 takes no dictionary"},
		"zstd+dict:1":  {without: "expected raw"},
		" zstd":        {without: "expected raw"},
		"zstd:1+dict ": {without: "level"},
	} {
		s, err := ParseSpec(text)
		if want.without != "" {
			if err == nil || !strings.Contains(err.Error(), want.without) || s != (Spec{}) {
				t.Errorf("%q: %v, %v, expected %q", text, s, err, want.without)
			}
			continue
		}
		if err != nil || s != want.spec || s.String() != want.text || s.Encoder() != want.encoder {
			t.Errorf("%q: %+v %s %s %v, expected %+v", text, s, s, s.Encoder(), err, want)
		}
	}
}

func drawSpec(t *rapid.T, dict bool) Spec {
	s := Spec{ID: Zstd, Level: rapid.IntRange(MinLevel, MaxLevel).Filter(func(n int) bool { return n != 0 }).Draw(t, "level")}
	if dict {
		s.Dict, s.Level = true, min(s.Level, minBestLevel-1)
		return s
	}
	return rapid.SampledFrom([]Spec{{ID: Raw}, {ID: S2}, s}).Draw(t, "spec")
}

func TestSpecText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSpec(t, rapid.Bool().Draw(t, "dict"))
		b, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var got Spec
		if err := json.Unmarshal(b, &got); err != nil || got != s || string(b) != `"`+s.String()+`"` {
			t.Fatalf("%v became %s, then %v: %v", s, b, got, err)
		}
	})
	if _, err := json.Marshal(Spec{ID: 7}); err == nil {
		t.Error("a spec that means nothing has a text")
	}
}

func TestWithLevel(t *testing.T) {
	for _, c := range []struct {
		in    string
		level int
		want  string
	}{{"raw", 9, "raw"}, {"s2", 1, "s2"}, {"zstd:1+dict", 0, "zstd:3+dict"}, {"zstd:3", -2, "zstd:-2"}, {"zstd:1", 19, "zstd:19"}} {
		s, err := ParseSpec(c.in)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.WithLevel(c.level).String(); got != c.want {
			t.Errorf("%s at %d: %s, expected %s", c.in, c.level, got, c.want)
		}
	}
}

func TestEncoderVersion(t *testing.T) {
	mod, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^\s*(?:require )?github\.com/klauspost/compress (v\S+)`).FindSubmatch(mod)
	if m == nil {
		t.Fatal("go.mod does not require klauspost/compress")
	}
	if got := string(m[1]); got != fallbackVersion {
		t.Errorf("fallbackVersion is %s, go.mod requires %s", fallbackVersion, got)
	}
	if got, want := EncoderVersion(), "klauspost/compress "+string(m[1]); got != want {
		t.Errorf("%q, expected %q", got, want)
	}
}

func FuzzParseSpec(f *testing.F) {
	for _, s := range []string{"raw", "s2", "zstd", "zstd:-7", "zstd:1+dict", "zstd:22", "zstd:0+dict"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseSpec(text)
		if err != nil {
			return
		}
		again, err := ParseSpec(s.String())
		if err != nil || again != s {
			t.Fatalf("%q is %v, its text %v: %v", text, s, again, err)
		}
	})
}
