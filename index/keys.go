package index

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/cespare/xxhash/v2"
)

// A key of the Pebble database, all of it big-endian so that bytes.Compare
// orders it; values of entries are empty:
//
//	entry      0:4 id of the index, 1 and up
//	           4:9 fingerprint of the key
//	           9:  the row, 1 to 9 bytes, complemented: the newest first
//	catalogue  0:4 zero   4:5 'f': the format, value: the version
//	           0:4 zero   4:5 'i': an index, 5: its name, value: see state.go
//
// A row of n ≤ 8 bytes is n-1 one bits, a zero bit, and 7n bits of the number;
// of 9 bytes, the byte ff and 64 bits. Longer forms are larger numbers, so the
// order of the bytes is that of the rows.
const (
	idBytes     = 4
	fpBytes     = 5
	prefixBytes = idBytes + fpBytes
	maxKeyBytes = prefixBytes + 9

	catalogueFormat = 'f'
	catalogueIndex  = 'i'

	fpBits = 8 * fpBytes
	maxID  = math.MaxUint32 - 1 // so that there is a key after all of an id's
)

// fingerprint returns the 40 bits by which a key is found. Keys are hashed, so
// that neither numbers nor texts with a common start pile up. Among n keys a
// look-up meets n/2^40 strangers: one in a thousand look-ups at 10^9 keys.
func fingerprint(key []byte) uint64 { return xxhash.Sum64(key) >> (64 - fpBits) }

// appendID appends the first part of all keys of an index.
func appendID(dst []byte, id uint32) []byte { return binary.BigEndian.AppendUint32(dst, id) }

// appendPrefix appends what the keys of all entries of one fingerprint share.
func appendPrefix(dst []byte, id uint32, fp uint64) []byte {
	dst = binary.BigEndian.AppendUint32(dst, id)
	return append(dst, byte(fp>>32), byte(fp>>24), byte(fp>>16), byte(fp>>8), byte(fp))
}

// appendRow appends the form of a row in which a larger one comes first.
func appendRow(dst []byte, row uint64) []byte {
	n := max(1, (bits.Len64(row)+6)/7)
	if n > 8 {
		dst = append(dst, 0)
		return binary.BigEndian.AppendUint64(dst, ^row)
	}
	mark := uint64(1)<<(n-1) - 1 // n-1 ones …
	v := ^(row | mark<<(7*n+1))  // … and a zero before 7n bits
	for i := n - 1; i >= 0; i-- {
		dst = append(dst, byte(v>>(8*i)))
	}
	return dst
}

// parseRow reads what appendRow wrote, all of b.
func parseRow(b []byte) (row uint64, ok bool) {
	if len(b) == 0 || len(b) > 9 {
		return 0, false
	}
	n := bits.LeadingZeros8(b[0]) + 1
	if n != len(b) {
		return 0, false
	}
	if n == 9 {
		row = ^binary.BigEndian.Uint64(b[1:])
	} else {
		for _, c := range b {
			row = row<<8 | uint64(^c)
		}
		row &= 1<<(7*n) - 1
	}
	// One row has one form: the shortest.
	return row, n == max(1, min(9, (bits.Len64(row)+6)/7))
}
