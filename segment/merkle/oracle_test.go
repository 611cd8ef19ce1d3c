package merkle_test

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"testing"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/segstore/segstore/segment/merkle"
)

// naiveRoot is MTH of RFC 6962, section 2.1, as the text has it.
func naiveRoot(leaves []merkle.Hash) merkle.Hash {
	switch len(leaves) {
	case 0:
		return sha256.Sum256(nil)
	case 1:
		return leaves[0]
	}
	k := 1
	for k*2 < len(leaves) {
		k *= 2
	}
	left, right := naiveRoot(leaves[:k]), naiveRoot(leaves[k:])
	return sha256.Sum256(append(append([]byte{1}, left[:]...), right[:]...))
}

// log is the tree as golang.org/x/mod keeps one: all nodes stored, any size's
// root read back from them.
type log struct {
	size   int64
	hashes []tlog.Hash
}

func (l *log) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(indexes))
	for i, index := range indexes {
		if index < 0 || index >= int64(len(l.hashes)) {
			return nil, fmt.Errorf("no hash %d of %d", index, len(l.hashes))
		}
		out[i] = l.hashes[index]
	}
	return out, nil
}

func (l *log) add(tb testing.TB, leaf merkle.Hash) {
	tb.Helper()
	hashes, err := tlog.StoredHashesForRecordHash(l.size, tlog.Hash(leaf), l)
	if err != nil {
		tb.Fatal(err)
	}
	l.hashes = append(l.hashes, hashes...)
	l.size++
}

func (l *log) root(tb testing.TB, size int64) merkle.Hash {
	tb.Helper()
	root, err := tlog.TreeHash(size, l)
	if err != nil {
		tb.Fatal(err)
	}
	return merkle.Hash(root)
}

// record is the row as the leaf hash covers it, spelled out once more.
func record(row [][]byte) []byte {
	var b []byte
	for _, value := range row {
		b = binary.AppendUvarint(b, uint64(len(value)))
		b = append(b, value...)
	}
	return b
}

// leaf is a leaf that differs for each i.
func leaf(i int) merkle.Hash {
	return sha256.Sum256(binary.LittleEndian.AppendUint64(nil, uint64(i)))
}

func leaves(n int) []merkle.Hash {
	out := make([]merkle.Hash, n)
	for i := range out {
		out[i] = leaf(i)
	}
	return out
}

// runNodes cuts leaves into runs, each hashed naively.
func runNodes(leaves []merkle.Hash) []merkle.Hash {
	var out []merkle.Hash
	for len(leaves) > 0 {
		n := min(merkle.RunRows, len(leaves))
		out = append(out, naiveRoot(leaves[:n]))
		leaves = leaves[n:]
	}
	return out
}
