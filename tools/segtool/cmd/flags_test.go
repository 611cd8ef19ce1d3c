package cmd

import (
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/segment/archive"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// What flags allow is what the library does: the next number is an error there, which would come too late.
func TestLimits(t *testing.T) {
	create := func(o archive.CreateOptions, tables ...string) error {
		b, err := archive.Create(vfs.NewMem(), "/x", o)
		if err != nil {
			return err
		}
		defer b.Abort()
		for _, name := range tables {
			if err := b.Create(archive.TableSpec{Name: name, Schema: segment.Schema{Columns: []segment.Column{{Name: "a", Kind: segment.Bytes}}}}); err != nil {
				return err
			}
		}
		return nil
	}
	recompress := func(runs int) error {
		_, err := archive.RecompressFile(t.Context(), vfs.NewMem(), "absent", "", archive.RecompressOptions{Runs: runs}, nil)
		if err != nil && strings.Contains(err.Error(), "Runs") {
			return err
		}
		return nil
	}
	for name, tc := range map[string]struct{ most, more error }{
		"workers":       {create(archive.CreateOptions{Workers: maxWorkers}), create(archive.CreateOptions{Workers: maxWorkers + 1})},
		"segment bytes": {create(archive.CreateOptions{SegmentBytes: 1 << 40}), create(archive.CreateOptions{SegmentBytes: 1<<40 + 1})},
		"chain id":      {create(archive.CreateOptions{ChainID: strings.Repeat("x", maxChainID)}), create(archive.CreateOptions{ChainID: strings.Repeat("x", maxChainID+1)})},
		"runs":          {recompress(maxRuns), recompress(maxRuns + 1)},
		"table":         {create(archive.CreateOptions{}, "rows"), create(archive.CreateOptions{}, "index")},
		"name":          {create(archive.CreateOptions{}, strings.Repeat("x", segment.MaxNameBytes)), create(archive.CreateOptions{}, strings.Repeat("x", segment.MaxNameBytes+1))},
	} {
		if tc.most != nil || tc.more == nil {
			t.Errorf("%s: at the limit: %v; above: %v", name, tc.most, tc.more)
		}
	}
}

// No flag of any verb takes nothing, which an unset variable of a shell gives, and none that is a number takes words.
func TestEveryFlag(t *testing.T) {
	a := testApp(t, vfs.NewMem())
	flags := 0
	var walk func(c *cobra.Command, path []string)
	walk = func(c *cobra.Command, path []string) {
		for _, sub := range c.Commands() {
			if sub.Name() != "help" && sub.Name() != "completion" {
				walk(sub, append(slices.Clone(path), sub.Name()))
			}
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			flags++
			values := []string{""}
			if kind := f.Value.Type(); kind != "string" && kind != "strings" {
				values = append(values, "words", "0x", "1e999", "-9223372036854775809")
			}
			for _, v := range values {
				err := a.run(t, append(slices.Clone(path), "--"+f.Name+"="+v)...)
				if codeOf(err) != codeUsage || !strings.Contains(err.Error(), "invalid argument") {
					t.Errorf("segtool %s --%s=%q: %v", strings.Join(path, " "), f.Name, v, err)
				}
			}
			if f.Value.Type() == "string" || f.Value.Type() == "int" || f.Value.Type() == "strings" || f.Value.Type() == "bytes" {
				if _, ok := f.Value.(*flagValue); !ok {
					t.Errorf("segtool %s --%s is not checked where it is parsed", strings.Join(path, " "), f.Name)
				}
			}
		})
	}
	walk(a.root(), nil)
	if flags < 50 {
		t.Errorf("only %d flags seen", flags)
	}
}

func TestShown(t *testing.T) {
	for in, want := range map[string]string{
		"":                         "",
		"plain, ü and 🙂 │ █":       "plain, ü and 🙂 │ █",
		"\x1b[2J":                  `\x1b[2J`,
		"a\nb\tc\rd\x00\x7f":       `a\nb\tc\rd\x00\x7f`,
		"\u009b\u202e\u200b\ufeff": `\u009b\u202e\u200b\ufeff`,
		"a\xffb\xe2\x82":           `a\xffb\xe2\x82`,
		"\ufffd":                   "\ufffd",
		`C:\dir`:                   `C:\dir`,
		"it's \x01":                `it's \x01`,
	} {
		if got := shown(in); got != want {
			t.Errorf("%q is shown as %s, not %s", in, got, want)
		}
	}
	for in, want := range map[string]string{
		"a b":       "'a b'",
		"a\x1b'\\ü": `$'a\x1b\x27\x5c\xc3\xbc'`,
	} {
		if got := quote(in); got != want {
			t.Errorf("%q is quoted as %s, not %s", in, got, want)
		}
	}
}
