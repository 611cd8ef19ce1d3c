package lint

import "regexp"

// Segstore returns the rules of this repository. Imports point one way:
//
//	dict ◄ codec ◄ segment ◄ segment/archive ◄ tools/segtool
//
// and the leaves import nothing of ours.
func Segstore() Rules {
	// Tests of the engine may take real records through the importers.
	records := []string{"tools/chain/**"}
	return Rules{
		Module: "github.com/segstore/segstore",
		TopLevel: []string{
			"segment", "codec", "dict", "index", "tools",
			"go.mod", "go.sum", "Makefile",
			"README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE",
		},
		Packages: []Package{
			{Folder: "dict", TestImports: records},
			{Folder: "codec/wire"},
			{Folder: "segment/merkle"},
			{Folder: "segment/parity"},
			{Folder: "index"},
			{Folder: "codec", Imports: []string{"dict", "codec/wire"}, TestImports: records},
			{Folder: "codec/ethereum", Imports: []string{"codec", "codec/wire"}, TestImports: records},
			{Folder: "codec/bitcoin", Imports: []string{"codec", "codec/wire"}, TestImports: records},
			{Folder: "segment", Imports: []string{"codec", "codec/wire", "dict", "segment/merkle"}, TestImports: records},
			{Folder: "segment/archive/journal"},
			{
				Folder:      "segment/archive",
				Imports:     []string{"codec", "codec/wire", "dict", "segment", "segment/merkle", "segment/archive/journal", "index"},
				TestImports: append([]string{"codec/ethereum"}, records...), // real transactions are looked up by their hash
			},
			// Formats of the outside world fill rows; they know no segment. What
			// they keep beside the rows is a record of codec/wire, a leaf.
			{
				Folder: "tools/chain/**", Imports: []string{"segment", "tools/chain/**", "codec/wire"},
				Only: map[string]string{"segment": "segment/schema.go"},
			},
			{Folder: "tools/blob/**", Imports: []string{"tools/blob/**"}},
			{Folder: "tools/lint"},
			{Folder: "tools/segtool/**", Imports: []string{"**"}},
		},
		Modules: []Module{
			{Path: "github.com/klauspost/compress", Folders: []string{"**"}, Tests: true},
			{Path: "github.com/cespare/xxhash/v2", Folders: []string{"**"}, Tests: true},
			{Path: "golang.org/x/crypto", Folders: []string{"**"}, Tests: true},
			{Path: "golang.org/x/sync", Folders: []string{"**"}, Tests: true},
			{Path: "golang.org/x/sys", Folders: []string{"**"}, Tests: true},
			{Path: "github.com/hashicorp/golang-lru/v2", Folders: []string{"segment/**", "index"}, Tests: true},
			{Path: "github.com/klauspost/reedsolomon", Folders: []string{"segment/parity", "tools/segtool/**"}, Tests: true},
			// Framed snappy as era1 has it; nothing of ours is written with it.
			{Path: "github.com/golang/snappy", Folders: []string{"tools/chain/**"}, Tests: true},
			// Its vfs belongs where files are opened, synced and renamed.
			{Path: "github.com/cockroachdb/pebble/v2", Folders: []string{"segment/archive/**", "index", "tools/segtool/**"}, Tests: true},
			{Path: "github.com/spf13", Folders: []string{"tools/segtool/**"}, Tests: true},
			{Path: "github.com/vbauerster/mpb/v8", Folders: []string{"tools/segtool/**"}, Tests: true},
			{Path: "github.com/dustin/go-humanize", Folders: []string{"tools/segtool/**"}, Tests: true},
			{Path: "gonum.org/v1/plot", Folders: []string{"tools/segtool/**"}, Tests: true},
			{Path: "github.com/goccy/go-yaml", Folders: []string{"tools/segtool/**"}, Tests: true},
			{Path: "github.com/minio/minio-go/v7", Folders: []string{"tools/blob/**"}},
			// Oracles and harnesses: tests only.
			{Path: "golang.org/x/mod", Tests: true},
			{Path: "github.com/cockroachdb/datadriven", Tests: true},
			{Path: "github.com/rogpeppe/go-internal", Tests: true},
			{Path: "pgregory.net/rapid", Tests: true},
		},
		Programs: []string{"tools/segtool/**"},
		ExitFile: "tools/segtool/main.go",
		// Spelled in pieces, so that this file passes.
		Words: []Word{
			{regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X)\b`), "what is left to do belongs into an issue"},
			{regexp.MustCompile(`(^|[^\w.)}-])/(wo` + `rk|fa` + `rm|ro` + `ot)/`), "an absolute path of one machine"},
		},
		MaxLines: 400,
	}
}
