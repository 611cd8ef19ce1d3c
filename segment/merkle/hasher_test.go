package merkle_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"testing"

	"golang.org/x/mod/sumdb/tlog"
	"pgregory.net/rapid"

	"github.com/segstore/segstore/segment/merkle"
)

// Small and large rows go different ways through the hasher; every length near
// where the ways part must give the hash of the record, in one and many columns.
func TestLeafIsRecordHash(t *testing.T) {
	var h merkle.Hasher
	data := make([]byte, 5000)
	for i := range data {
		data[i] = byte(i * 31)
	}
	check := func(row [][]byte) {
		t.Helper()
		if got, want := h.Leaf(row), merkle.Hash(tlog.RecordHash(record(row))); got != want {
			lens := make([]int, len(row))
			for i := range row {
				lens[i] = len(row[i])
			}
			t.Fatalf("columns of %v bytes: leaf %v, want %v", lens, got, want)
		}
	}
	check(nil)
	check([][]byte{nil})
	check([][]byte{nil, {}, nil})
	for n := 0; n <= len(data); n++ {
		check([][]byte{data[:n]})
		check([][]byte{data[:7], data[:n], nil})
		check([][]byte{data[:n], data[:2030]})
	}
	many := make([][]byte, 256)
	check(many)
	for i := range many {
		many[i] = data[:i*9]
	}
	check(many)
	check([][]byte{data[:8], make([]byte, 1<<20), data[:8]})
}

func TestLeafProperty(t *testing.T) {
	var h merkle.Hasher // shared: what one row leaves behind must not reach the next
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.IntRange(0, 4096), 0, 8).Draw(t, "sizes")
		fill := rapid.Byte().Draw(t, "fill")
		var row [][]byte
		for i, size := range sizes {
			row = append(row, bytes.Repeat([]byte{fill + byte(i)}, size))
		}
		if got, want := h.Leaf(row), merkle.Hash(tlog.RecordHash(record(row))); got != want {
			t.Fatalf("leaf %v, want %v", got, want)
		}
	})
}

// Bytes moved over a column's edge are another row.
func TestLeafKeepsColumnsApart(t *testing.T) {
	var h merkle.Hasher
	seen := map[merkle.Hash]string{}
	for _, row := range [][][]byte{
		{}, {nil}, {nil, nil}, {[]byte("ab")}, {[]byte("a"), []byte("b")}, {[]byte("ab"), nil}, {nil, []byte("ab")},
	} {
		leaf := h.Leaf(row)
		if other, ok := seen[leaf]; ok {
			t.Errorf("row %q hashes as %s", row, other)
		}
		seen[leaf] = string(bytes.Join(row, []byte("|")))
	}
}

func TestNode(t *testing.T) {
	var h merkle.Hasher
	l, r := leaf(1), leaf(2)
	if got, want := h.Node(l, r), merkle.Hash(tlog.NodeHash(tlog.Hash(l), tlog.Hash(r))); got != want {
		t.Errorf("node %v, want %v", got, want)
	}
	if h.Node(l, r) == h.Node(r, l) {
		t.Error("left and right do not matter")
	}
}

func TestNoAllocation(t *testing.T) {
	var h merkle.Hasher
	var tree merkle.Tree
	small, large := [][]byte{make([]byte, 8), make([]byte, 200)}, [][]byte{make([]byte, 8), make([]byte, 10_000)}
	for name, f := range map[string]func(){
		"small leaf": func() { tree.Append(h.Leaf(small)) },
		"large leaf": func() { tree.Append(h.Leaf(large)) },
		"node":       func() { h.Node(leaf0, leaf0) },
		"root":       func() { tree.Root() },
	} {
		if n := testing.AllocsPerRun(300, f); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

var leaf0 = leaf(0)

func TestHashText(t *testing.T) {
	const hex = "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"
	want := merkle.Hash(sha256.Sum256([]byte{0}))
	if want.String() != hex {
		t.Errorf("String %s, want %s", want, hex)
	}
	b, err := json.Marshal(want)
	if err != nil || string(b) != `"`+hex+`"` {
		t.Errorf("JSON %s, %v", b, err)
	}
	var got merkle.Hash
	if err := json.Unmarshal(b, &got); err != nil || got != want {
		t.Errorf("from JSON: %v, %v", got, err)
	}
	if err := got.UnmarshalText(bytes.ToUpper([]byte(hex))); err != nil || got != want {
		t.Errorf("upper case: %v, %v", got, err)
	}
	for _, bad := range []string{"", hex[:63], hex + "0", hex[:62] + "0g", hex[:63] + " "} {
		if err := got.UnmarshalText([]byte(bad)); err == nil || got != want {
			t.Errorf("%q: error %v, hash %v", bad, err, got)
		}
	}
}
