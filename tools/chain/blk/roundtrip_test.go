package blk

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/segstore/segstore/tools/chain"
	"github.com/segstore/segstore/tools/chain/chaintest"
)

// hashOf returns the double SHA-256 as explorers print it.
func hashOf(b []byte) string {
	once := sha256.Sum256(b)
	twice := sha256.Sum256(once[:])
	slices.Reverse(twice[:])
	return hex.EncodeToString(twice[:])
}

func TestGenesisRows(t *testing.T) {
	for name, b := range map[string][]byte{
		"blk": join(framed(mainnet, genesis(t)), framed(mainnet, blockOne(t))),
		"raw": genesis(t),
	} {
		m, report := roundTrip(t, Importer{}, "x.dat", b)
		row := m.Row(BlocksTable, 0)
		if got := hashOf(row[0]); got != "000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f" {
			t.Errorf("%s: hash of the first header is %s", name, got)
		}
		tx := m.Row(TransactionsTable, 0)[0]
		if hex.EncodeToString(tx) != genesisTxHex || hashOf(tx) != "4a5e1e4baab89f3a32518a88c31bc87f618f76673e2cc77ab2127b7afdeda33b" {
			t.Errorf("%s: first transaction is %x", name, tx)
		}
		if first, n := le.Uint64(row[1]), le.Uint64(row[2]); first != 0 || n != 1 || len(row[3]) != 0 {
			t.Errorf("%s: first %d, count %d, framing %x", name, first, n, row[3])
		}
		if s := report.Sources[0]; s.Format != name || s.Size != uint64(len(b)) || s.SHA256 != sha256.Sum256(b) || s.Restore != chain.Identical {
			t.Errorf("%s: source %+v", name, s)
		}
		if name == "blk" {
			row := m.Row(BlocksTable, 1)
			if got := hashOf(row[0]); got != "00000000839a8e6886ab5951d76f411475428afc90947ee320161bbf18eb6048" || le.Uint64(row[1]) != 1 {
				t.Errorf("second block: hash %s, row %x", got, row[1:])
			}
			if extra := m.Row(chain.SourcesTable, 0)[8]; !bytes.Equal(extra, []byte{0xf9, 0xbe, 0xb4, 0xd9, 0}) {
				t.Errorf("extra record is %x", extra)
			}
		}
	}
}

// TestFramings puts two blocks into files of all shapes and demands the bytes back.
func TestFramings(t *testing.T) {
	a, b := genesis(t), blockOne(t)
	two := func(m Magic, gap int) []byte { return join(framed(m, a), zeros(gap), framed(m, b)) }
	random := Key{0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde, 0xf0}
	hides := Key{0xf9, 0xbe, 0xb4, 0x11, 0, 0, 0, 0x80} // the obfuscated magic begins with zeros
	reserve := func(b []byte, n int) []byte { return join(b, zeros(n)) }
	for _, c := range []struct {
		name  string
		bytes []byte
		key   Key
		magic Magic // wanted
		ask   Magic
		gap   string // framing of the second block
		tail  string
	}{
		{name: "plain", bytes: two(mainnet, 0), magic: mainnet},
		{name: "one", bytes: framed(mainnet, a), magic: mainnet},
		{name: "zeros between", bytes: two(mainnet, 3), magic: mainnet, gap: "0c"},
		{name: "zeros before", bytes: join(zeros(9), two(mainnet, 0)), magic: mainnet},
		{name: "zeros after", bytes: reserve(two(mainnet, 0), 1<<20), magic: mainnet, tail: "80808002"},
		{name: "regtest", bytes: two(Magic{0xfa, 0xbf, 0xb5, 0xda}, 0), magic: Magic{0xfa, 0xbf, 0xb5, 0xda}},
		{name: "unknown magic", bytes: two(Magic{1, 2, 3, 4}, 1), magic: Magic{1, 2, 3, 4}, gap: "04"},
		{name: "unknown magic after zeros", bytes: join(zeros(700), two(Magic{1, 2, 3, 4}, 1)), magic: Magic{1, 2, 3, 4}, gap: "04"},
		{name: "magic that begins with zero", bytes: two(Magic{0, 0, 3, 4}, 2), ask: Magic{0, 0, 3, 4}, magic: Magic{0, 0, 3, 4}, gap: "08"},
		{name: "XOR", bytes: obfuscate(two(mainnet, 0), random), key: random, magic: mainnet},
		{name: "XOR, reserved", bytes: reserve(obfuscate(two(mainnet, 0), random), 300), key: random, magic: mainnet, tail: "b009"},
		{name: "XOR over all", bytes: obfuscate(reserve(two(mainnet, 5), 300), random), key: random, magic: mainnet, gap: "15", tail: "b109"},
		{name: "XOR, unknown magic", bytes: obfuscate(two(Magic{1, 2, 3, 4}, 0), random), key: random, magic: Magic{1, 2, 3, 4}},
		{name: "XOR, hidden magic", bytes: obfuscate(two(mainnet, 0), hides), key: hides, magic: mainnet},
		{name: "XOR, zeros before hidden magic", bytes: join(zeros(8), obfuscate(two(mainnet, 0), hides)), key: hides, magic: mainnet},
		{name: "plain beside a key", bytes: two(mainnet, 4), key: random, magic: mainnet, gap: "10"},
		{name: "plain after zeros beside a key", bytes: join(zeros(40), two(mainnet, 4)), key: random, magic: mainnet, gap: "10"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, _ := roundTrip(t, Importer{Key: &c.key, Magic: c.ask}, "blk00000.dat", c.bytes)
			if n := m.Rows(BlocksTable); n != 2 && c.name != "one" {
				t.Fatalf("%d blocks", n)
			}
			source := m.Row(chain.SourcesTable, 0)
			if got := source[8][:4]; !bytes.Equal(got, c.magic[:]) {
				t.Errorf("magic %x", got)
			}
			if got := hex.EncodeToString(source[7]); got != c.tail {
				t.Errorf("tail %s, want %s", got, c.tail)
			}
			if c.name != "one" {
				if got := hex.EncodeToString(m.Row(BlocksTable, 1)[3]); got != c.gap {
					t.Errorf("framing %s, want %s", got, c.gap)
				}
			}
		})
	}
}

// TestRandomFramings is TestFramings with dice: keys that hide magics, gaps of both kinds, files of unknown size.
func TestRandomFramings(t *testing.T) {
	blocks := [][]byte{genesis(t), blockOne(t)}
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var key Key
		for i := range key {
			switch rng.IntN(4) {
			case 0:
				key[i] = mainnet[i%4]
			case 1:
				key[i] = byte(rng.Uint32())
			}
		}
		if Magic(key[:4]) == mainnet || Magic(key[4:]) == mainnet {
			continue // zeros would look like magics: not to be told apart
		}
		var b []byte
		for range 1 + rng.IntN(5) {
			b = append(b, obfuscateAt(framed(mainnet, blocks[rng.IntN(2)]), key, len(b))...)
			switch n := rng.IntN(40); rng.IntN(3) {
			case 0:
				b = append(b, zeros(n)...)
			case 1:
				b = append(b, obfuscateAt(zeros(n), key, len(b))...)
			}
		}
		f := file("blk00000.dat", b)
		f.Size = -1
		m, _, err := importFiles(Importer{Key: &key}, f)
		if err != nil {
			t.Fatalf("seed %d, key %x: %v", seed, key, err)
		}
		var out output
		if _, err := (Exporter{}).Export(context.Background(), m, &out, chain.ExportOptions{}); err != nil || !bytes.Equal(out.files["blk00000.dat"], b) {
			t.Fatalf("seed %d, key %x: other bytes, %v", seed, key, err)
		}
	}
}

func obfuscateAt(b []byte, key Key, off int) []byte {
	return obfuscate(join(zeros(off), b), key)[off:]
}

func TestRealFiles(t *testing.T) {
	key := Key{0xd7, 0x0c, 0x00, 0x9e, 0x41, 0x5a, 0x21, 0xfb}
	for _, c := range []struct {
		name   string
		blocks uint64
		txs    uint64
	}{
		{"btc/mainnet-large.dat", 22, 28560},
		{"btc/blk_0_to_14131.dat", 14132, 0},
		{"btc/block300025.raw", 1, 461},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := chaintest.ReadAll(t, chaintest.DataFile(t, c.name))
			m, _ := roundTrip(t, Importer{}, "blk00000.dat", b)
			if n := m.Rows(BlocksTable); n != c.blocks {
				t.Errorf("%d blocks, want %d", n, c.blocks)
			}
			if n := m.Rows(TransactionsTable); n != c.txs && c.txs > 0 {
				t.Errorf("%d transactions, want %d", n, c.txs)
			}
			if filepath.Ext(c.name) != ".raw" {
				x, _ := roundTrip(t, Importer{Key: &key}, "blk00000.dat", join(obfuscate(b, key), zeros(1<<20)))
				for _, table := range []string{BlocksTable, TransactionsTable} {
					if x.Rows(table) != m.Rows(table) || !slices.EqualFunc(x.Row(table, 5), m.Row(table, 5), bytes.Equal) {
						t.Errorf("%s differ when obfuscated", table)
					}
				}
			}
		})
	}
}

// TestSeveralFiles: names that clash, a key file among the sources, a raw block, a selection.
func TestSeveralFiles(t *testing.T) {
	a, b := genesis(t), blockOne(t)
	key := Key{1, 2, 3, 4, 5, 6, 7, 8}
	files := []chain.File{
		file("one/blk00000.dat", obfuscate(framed(mainnet, a), key)),
		file("one/xor.dat", key[:]),
		file("two/blk00000.dat", join(framed(mainnet, b), zeros(5), framed(mainnet, a))),
		file("two/block.raw", b),
	}
	m, report, err := importFiles(Importer{}, files...)
	if err != nil {
		t.Fatal(err)
	}
	if n := m.Rows(BlocksTable); n != 4 {
		t.Fatalf("%d blocks", n)
	}
	var formats []string
	for _, s := range report.Sources {
		formats = append(formats, fmt.Sprint(s.Format, " ", s.FirstBlock, "+", s.Blocks))
	}
	if want := []string{"blk 0+1", "blk-xor 1+0", "blk 1+2", "raw 3+1"}; !slices.Equal(formats, want) {
		t.Errorf("sources %q, want %q", formats, want)
	}
	var out output
	exported, err := Exporter{}.Export(context.Background(), m, &out, chain.ExportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"blk00000.dat", "xor.dat", "blk00000-2.dat", "block.raw"} {
		r, err := files[i].Open()
		if err != nil {
			t.Fatal(err)
		}
		var want bytes.Buffer
		if _, err := want.ReadFrom(r); err != nil || !bytes.Equal(out.files[name], want.Bytes()) || exported.Files[i].Match != chain.Identical {
			t.Errorf("%s is not as it was: %v, %+v", name, err, exported.Files[i])
		}
	}
	out = output{}
	if _, err := (Exporter{}).Export(context.Background(), m, &out, chain.ExportOptions{Sources: []string{"block.raw"}}); err != nil {
		t.Fatal(err)
	}
	if len(out.files) != 1 || !bytes.Equal(out.files["block.raw"], b) {
		t.Errorf("selection gave %q", out.order)
	}
}

// TestKeyBeside finds Core's key file on the disk.
func TestKeyBeside(t *testing.T) {
	dir, key := t.TempDir(), Key{9, 8, 7, 6, 5, 4, 3, 2}
	b := obfuscate(framed(mainnet, genesis(t)), key)
	name := filepath.Join(dir, "blk00000.dat")
	for path, content := range map[string][]byte{name: b, filepath.Join(dir, KeyFile): key[:]} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f, err := chain.OSFile(name)
	if err != nil {
		t.Fatal(err)
	}
	m, _, err := importFiles(Importer{}, f)
	if err != nil {
		t.Fatal(err)
	}
	if got := m.Row(chain.SourcesTable, 0)[8]; !bytes.Equal(got[5:], key[:]) {
		t.Errorf("key %x", got)
	}
	if err := os.WriteFile(filepath.Join(dir, KeyFile), key[:7], 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, err = importFiles(Importer{}, f)
	wantInputError(t, err, 0, "xor.dat", "8 bytes")
}

// TestExportOfDamage: rows that cannot be right are errors, not panics or wrong files.
func TestExportOfDamage(t *testing.T) {
	b := join(framed(mainnet, genesis(t)), framed(mainnet, blockOne(t)))
	for name, damage := range map[string]func(m *chaintest.Memory){
		"count":        func(m *chaintest.Memory) { m.Row(BlocksTable, 0)[2][7] = 0x80 },
		"first":        func(m *chaintest.Memory) { m.Row(BlocksTable, 1)[1][0] = 9 },
		"first of all": func(m *chaintest.Memory) { m.Row(BlocksTable, 0)[1][6] = 9 },
		"blocks":       func(m *chaintest.Memory) { m.Row(chain.SourcesTable, 0)[3][0] = 3 },
		"extra":        func(m *chaintest.Memory) { m.Row(chain.SourcesTable, 0)[8][4] = 7 },
		"framing":      func(m *chaintest.Memory) { m.Row(BlocksTable, 1)[3] = []byte{0x82, 0} },
		"tables":       func(m *chaintest.Memory) { m.Drop(TransactionsTable) },
		"format":       func(m *chaintest.Memory) { m.Row(chain.SourcesTable, 0)[1] = []byte("era1") },
	} {
		m, _, err := importFiles(Importer{}, file("x", b))
		if err != nil {
			t.Fatal(err)
		}
		damage(m)
		var out output
		if report, err := (Exporter{}).Export(context.Background(), m, &out, chain.ExportOptions{}); err == nil || len(out.files) > 0 {
			t.Errorf("%s: no error: %+v", name, report)
		}
	}
	m, _, err := importFiles(Importer{}, file("x", b))
	if err != nil {
		t.Fatal(err)
	}
	m.Row(BlocksTable, 0)[0][4] ^= 1
	var out output
	report, err := Exporter{}.Export(context.Background(), m, &out, chain.ExportOptions{})
	if err != nil || report.Files[0].Match != chain.Different {
		t.Errorf("another header: %v, %+v", err, report)
	}
}
