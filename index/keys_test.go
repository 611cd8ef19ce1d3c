package index

import (
	"bytes"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// The bytes of entries are part of the format.
func TestRowBytes(t *testing.T) {
	for _, c := range []struct {
		row  uint64
		want []byte
	}{
		{0, []byte{0xff}},
		{1, []byte{0xfe}},
		{127, []byte{0x80}},
		{128, []byte{0x7f, 0x7f}},
		{1<<14 - 1, []byte{0x40, 0x00}},
		{1 << 14, []byte{0x3f, 0xbf, 0xff}},
		{5_000_000, []byte{0x1f, 0xb3, 0xb4, 0xbf}},
		{1<<56 - 1, []byte{1, 0, 0, 0, 0, 0, 0, 0}},
		{1 << 56, []byte{0, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}},
		{math.MaxUint64, []byte{0, 0, 0, 0, 0, 0, 0, 0, 0}},
	} {
		if got := appendRow(nil, c.row); !bytes.Equal(got, c.want) {
			t.Errorf("row %d: %x, expected %x", c.row, got, c.want)
		}
		if row, ok := parseRow(c.want); !ok || row != c.row {
			t.Errorf("%x: row %d, %v", c.want, row, ok)
		}
	}
	if got, want := appendPrefix(nil, 0x01020304, 0x0a0b0c0d0e), []byte{1, 2, 3, 4, 10, 11, 12, 13, 14}; !bytes.Equal(got, want) {
		t.Errorf("prefix %x", got)
	}
	// xxh64 of nothing is ef46db3751d8e999, says its specification.
	if got := fingerprint(nil); got != 0xef46db3751 {
		t.Errorf("fingerprint %x", got)
	}
}

// A larger row has smaller bytes, of any two lengths.
func TestRowOrder(t *testing.T) {
	row := rapid.Custom(func(t *rapid.T) uint64 {
		return rapid.Uint64().Draw(t, "bits") >> rapid.IntRange(0, 63).Draw(t, "shift")
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := row.Draw(t, "a"), row.Draw(t, "b")
		x, y := appendRow(nil, a), appendRow(nil, b)
		if cmp := bytes.Compare(x, y); (a < b) != (cmp > 0) || (a == b) != (cmp == 0) {
			t.Fatalf("%d: %x, %d: %x", a, x, b, y)
		}
		if got, ok := parseRow(x); !ok || got != a {
			t.Fatalf("%d: %x: %d, %v", a, x, got, ok)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add(appendRow(nil, 5_000_000))
	f.Add(record{3, State{"keccak256(tx)", 1, 2, [32]byte{1}}, 7}.append(nil))
	f.Add(make([]byte, sumBytes))
	f.Fuzz(func(t *testing.T, b []byte) {
		if row, ok := parseRow(b); ok && !bytes.Equal(appendRow(nil, row), b) {
			t.Errorf("%x is another form of row %d", b, row)
		}
		if r, err := parseRecord(b); err == nil && !bytes.Equal(r.append(nil), b) {
			t.Errorf("%x is another form of %+v", b, r)
		}
		if length, _, ok := lastSum(b); ok && len(b) < sumBytes {
			t.Errorf("%x: sum of %d bytes", b, length)
		}
	})
}
