package jsonl

import (
	"context"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/segstore/segstore/tools/chain"
	"github.com/segstore/segstore/tools/chain/chaintest"
)

const benchColumns = "number:uint,hash:fixed(32),from:hex,memo:bytes,data:hex"

func benchFile() chain.File {
	var s strings.Builder
	rng := rand.NewChaCha8([32]byte{1})
	random := func(n int) string {
		b := make([]byte, n)
		rng.Read(b)
		return hex.EncodeToString(b)
	}
	for i := range 20000 {
		fmt.Fprintf(&s, `{"number":%d,"hash":"0x%s","from":"0x%s","memo":"a memo of %d words, with a \"quote\"","data":"0x%s"}`+"\n",
			i, random(32), random(20), i, random(i%300))
	}
	return file("x.jsonl", s.String())
}

func BenchmarkImport(b *testing.B) {
	f, columns := benchFile(), parse(b, benchColumns)
	b.SetBytes(f.Size)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := (Importer{Columns: columns}).Import(context.Background(), []chain.File{f}, chaintest.Discard{}, chain.ImportOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkExport(b *testing.B) {
	f, m := benchFile(), new(chaintest.Memory)
	if _, err := (Importer{Columns: parse(b, benchColumns)}).Import(context.Background(), []chain.File{f}, m, chain.ImportOptions{}); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(f.Size)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := (Exporter{}).Export(context.Background(), m, chaintest.Nowhere{}, chain.ExportOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}
