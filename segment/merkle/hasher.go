package merkle

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
)

// Prefixes that keep leaves and nodes apart (RFC 6962, section 2.1).
const (
	leafPrefix = 0x00
	nodePrefix = 0x01
)

// gatherBytes is how much of a row is joined before it is hashed. A row that
// fits takes one copy and one call, cheaper than a write for each value; a
// larger one is hashed where it lies, so no memory grows with it.
const gatherBytes = 2048

// A Hasher hashes rows and nodes; once its buffers exist it does not allocate.
// The zero value is ready for use, by one goroutine at a time; copies share
// the buffers and count as the same value.
type Hasher struct {
	buf    []byte    // length 0, capacity gatherBytes
	digest hash.Hash // for rows that do not fit buf, made when the first one comes
}

// Leaf returns the leaf hash of a row:
// SHA-256(0x00 || for each column: uvarint length, bytes).
// A row without columns is SHA-256(0x00).
func (h *Hasher) Leaf(row [][]byte) Hash {
	if h.buf == nil {
		h.buf = make([]byte, 0, gatherBytes)
	}
	size := 1
	for _, value := range row {
		size += binary.MaxVarintLen64 + len(value)
	}
	if size > gatherBytes {
		return h.large(row)
	}
	b := append(h.buf, leafPrefix)
	for _, value := range row {
		b = appendLength(b, value)
		b = append(b, value...)
	}
	return sha256.Sum256(b)
}

// large is Leaf for a row that may not fit the buffer. Small values are
// gathered here too: one large value often stands among many small ones.
func (h *Hasher) large(row [][]byte) Hash {
	if h.digest == nil {
		h.digest = sha256.New()
	}
	h.digest.Reset() // and no write below can fail: hash.Hash promises it
	b := append(h.buf, leafPrefix)
	for _, value := range row {
		if len(b)+binary.MaxVarintLen64 > gatherBytes {
			h.digest.Write(b)
			b = h.buf
		}
		b = appendLength(b, value)
		if len(b)+len(value) <= gatherBytes {
			b = append(b, value...)
			continue
		}
		h.digest.Write(b)
		h.digest.Write(value)
		b = h.buf
	}
	h.digest.Write(b)
	return Hash(h.digest.Sum(h.buf))
}

func appendLength(b, value []byte) []byte {
	if len(value) < 0x80 { // one byte, as most are
		return append(b, byte(len(value)))
	}
	return binary.AppendUvarint(b, uint64(len(value)))
}

// Node returns the hash of the node over two subtrees: SHA-256(0x01 || left || right).
func (h *Hasher) Node(left, right Hash) Hash { return node(&left, &right) }

func node(left, right *Hash) Hash {
	var b [1 + 2*sha256.Size]byte
	b[0] = nodePrefix
	copy(b[1:], left[:])
	copy(b[1+sha256.Size:], right[:])
	return sha256.Sum256(b[:])
}
