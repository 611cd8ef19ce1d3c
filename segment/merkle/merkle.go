// Package merkle computes the hash tree of RFC 6962 (SHA-256) over the rows of
// a segment.
//
// A row is one leaf: SHA-256(0x00 || for each column: uvarint length, bytes).
// Two subtrees make a node: SHA-256(0x01 || left || right). The tree of n > 1
// leaves splits at the largest power of two smaller than n; the tree of no
// leaves is SHA-256 of nothing. Only values count, so the root of the same
// rows is the same however they are compressed.
//
// Rows are taken in runs of [RunRows]. As that is a power of two, the tree over
// n rows is also the tree over the nodes of its runs, of which the last may be
// shorter: whoever keeps the run nodes has the root without hashing rows again
// ([RootOfRuns]), and can check 256 rows at a time.
//
//	var h merkle.Hasher
//	var runs merkle.Runs
//	for _, row := range rows {
//		runs.Append(h.Leaf(row))
//	}
//	nodes, root := runs.Nodes(), runs.Root()
//
// The zero values of [Hasher], [Tree] and [Runs] are ready for use; each value
// belongs to one goroutine at a time. Nothing here keeps a slice it was given.
package merkle

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
)

// RunRows is the number of rows in a full run. It is part of the format: never
// change it.
const RunRows = 1 << runShift

// runShift is the height of a full run's node above its leaves.
const runShift = 8

// ErrUnaligned is returned when a full run is appended where the rows so far do
// not end on a multiple of [RunRows].
var ErrUnaligned = errors.New("merkle: run does not start at a multiple of 256 rows")

// ErrRuns is wrapped when the number of run nodes does not fit the number of rows.
var ErrRuns = errors.New("merkle: wrong number of run nodes")

// Hash is a SHA-256: of a leaf, of a node, of a tree.
type Hash [sha256.Size]byte

// String returns the hash as 64 lower-case hex digits.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// MarshalText returns the hash as 64 lower-case hex digits; it never fails.
func (h Hash) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, h[:]), nil }

// UnmarshalText reads 64 hex digits of either case. After an error h is as it was.
func (h *Hash) UnmarshalText(text []byte) error {
	if len(text) != hex.EncodedLen(len(h)) {
		return fmt.Errorf("merkle: hash of %d characters, want %d", len(text), hex.EncodedLen(len(h)))
	}
	var v Hash
	if _, err := hex.Decode(v[:], text); err != nil {
		return fmt.Errorf("merkle: hash %q: %w", text, err)
	}
	*h = v
	return nil
}
