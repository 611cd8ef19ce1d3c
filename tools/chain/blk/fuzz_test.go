package blk

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/segstore/segstore/tools/chain"
)

// FuzzImport: whatever a file holds, it is refused as foreign or comes back byte for byte.
func FuzzImport(f *testing.F) {
	a, b := framed(mainnet, genesis(f)), framed(mainnet, blockOne(f))
	key := Key{0xf9, 2, 3, 4, 0, 6, 7, 8}
	whole := [][]byte{
		join(a, b),
		join(a, zeros(20), b, zeros(300)),
		genesis(f),
		framed(Magic{0x0a, 0x03, 0xcf, 0x40}, segwitBlock(f, 3)),
		segwitBlock(f, 2),
		join(a, b[:100], zeros(7), b),
	}
	for _, w := range whole {
		f.Add(w, []byte(nil), false, false)
		f.Add(obfuscate(w, key), key[:], true, true)
		f.Add(join(obfuscate(w, key), zeros(64)), key[:], false, true)
		f.Add(w[:len(w)/2], []byte(nil), true, true)
	}
	f.Fuzz(func(t *testing.T, file []byte, k []byte, keep, skip bool) {
		var key Key
		copy(key[:], k)
		fuzzOne(t, Importer{Key: &key, KeepJunk: keep, SkipChecks: skip}, file)
	})
}

func fuzzOne(t *testing.T, im Importer, b []byte) {
	m, report, err := importFiles(im, file("x", b))
	if err != nil {
		if !errors.Is(err, chain.ErrInput) {
			t.Fatal(err)
		}
		return
	}
	var out output
	if _, err := (Exporter{}).Export(context.Background(), m, &out, chain.ExportOptions{}); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(out.files["x"], b) {
		t.Fatalf("%x comes back as %x: %+v", b, out.files["x"], report)
	}
}

// FuzzGap: no record makes the exporter fail other than by an error, and what it accepts is bounded.
func FuzzGap(f *testing.F) {
	f.Add(appendBytes(appendRun(nil, runHidden, 7), join([]byte("junk"), zeros(40), []byte("more"))))
	f.Add(appendRun(nil, runZero, 16<<20))
	f.Fuzz(func(t *testing.T, record []byte) {
		var again []byte
		err := gapRuns(record, func(kind int, n int64, b []byte) error {
			if again = appendRun(again, kind, int(n)); kind == runBytes {
				again = append(again, b...)
			}
			return nil
		})
		if err == nil && !bytes.Equal(again, record) {
			t.Fatalf("%x is read as %x", record, again)
		}
	})
}
