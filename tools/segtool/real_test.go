package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// Real files come back byte for byte, under each profile, also after recompression.
func TestRealFiles(t *testing.T) {
	data := dataDir(t)
	if data == "" {
		t.Skip("no real data: set SEGSTORE_DATA")
	}
	for _, f := range []struct {
		format string
		files  []string
	}{
		{"era1", []string{"era1/mainnet-00000-5ec1ffb8.era1"}},
		{"era1", []string{"era1/mainnet-00000-5ec1ffb8.era1", "era1/mainnet-00001-a5364e9a.era1"}},
		{"era1", []string{"era1/sepolia-00021-b8814b14.era1"}},
		{"rlp", []string{"eth/fixture-small.rlps"}},
		{"rlp", []string{"eth/bench-mainnet.rlps"}},
		{"rlp", []string{"eth/early-headers.rlps"}},
		{"blk", []string{"btc/mainnet-large.dat"}},
		{"blk", []string{"btc/blk_0_to_14131.dat", "btc/block300025.raw"}},
	} {
		var paths []string
		for _, name := range f.files {
			paths = append(paths, filepath.Join(data, filepath.FromSlash(name)))
		}
		for _, profile := range []string{"hot", "balanced", "cold"} {
			if testing.Short() && (profile != "balanced" || !strings.Contains(f.files[0], "fixture-small")) {
				continue
			}
			t.Run(strings.Join(f.files, "+")+"/"+profile, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				chain := filepath.Join(dir, "chain")
				segtool(t, append(append([]string{"import", "--from", f.format, "--profile", profile}, paths...), chain)...)
				comesBack(t, f.format, chain, filepath.Join(dir, "out"), paths)
				if profile == "balanced" {
					roots := contentRoots(t, chain)
					segtool(t, "recompress", "--level", "1", chain)
					if got := contentRoots(t, chain); got != roots {
						t.Errorf("content roots are %s, were %s", got, roots)
					}
					segtool(t, "verify", "--content", chain)
					comesBack(t, f.format, chain, filepath.Join(dir, "out2"), paths)
				}
			})
		}
	}
}

// comesBack exports an archive and wants the files it was made of.
func comesBack(t *testing.T, format, chain, out string, paths []string) {
	t.Helper()
	segtool(t, "export", "--to", format, chain, out)
	if len(paths) == 1 {
		same(t, out, paths[0])
		return
	}
	for _, p := range paths {
		same(t, filepath.Join(out, filepath.Base(p)), p)
	}
}

// The blocks of a stream with receipts, as geth exports them: without.
func TestRealGeth(t *testing.T) {
	data := dataDir(t)
	if data == "" {
		t.Skip("no real data: set SEGSTORE_DATA")
	}
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	segtool(t, "import", "--from", "rlps", filepath.Join(data, "eth", "fixture-small.rlps"), at("a"))
	segtool(t, "export", "--to", "geth", at("a"), at("a.rlp"))
	segtool(t, "import", "--from", "geth", at("a.rlp"), at("b"))
	segtool(t, "export", "--to", "rlp", at("b"), at("b.rlp"))
	same(t, at("b.rlp"), at("a.rlp"))
}
