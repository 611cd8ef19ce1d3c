package ethereum_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/segstore/segstore/tools/chain/chaintest"
	"github.com/segstore/segstore/tools/chain/ethereum"
)

func unhex(s string) []byte {
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		panic(err)
	}
	return b
}

// Examples of RLP's definition (ethereum.org, Recursive-length prefix) and of the rules for lengths, worked out by hand.
func TestItemHeader(t *testing.T) {
	for _, tc := range []struct {
		name    string
		item    string
		list    bool
		head    int
		payload uint64
		err     error
	}{
		{"dog", "83 646f67", false, 1, 3, nil},
		{"cat and dog", "c8 83636174 83646f67", true, 1, 8, nil},
		{"empty string", "80", false, 1, 0, nil},
		{"empty list", "c0", true, 1, 0, nil},
		{"zero byte", "00", false, 0, 1, nil},
		{"15", "0f", false, 0, 1, nil},
		{"127", "7f", false, 0, 1, nil},
		{"128", "8180", false, 1, 1, nil},
		{"1024", "820400", false, 1, 2, nil},
		{"three of set theory", "c7 c0 c1c0 c3c0c1c0", true, 1, 7, nil},
		{"string of 55", "b7" + strings.Repeat("61", 55), false, 1, 55, nil},
		{"string of 56", "b838", false, 2, 56, nil},
		{"string of 255", "b8ff", false, 2, 255, nil},
		{"string of 256", "b90100", false, 3, 256, nil},
		{"list of 55", "f7", true, 1, 55, nil},
		{"list of 56", "f838", true, 2, 56, nil},
		{"list of 65536", "fa010000", true, 4, 65536, nil},
		{"the longest", "ffffffffffffffffff", true, 9, 1<<64 - 1, nil},

		{"nothing", "", false, 0, 0, ethereum.ErrShort},
		{"single byte with prefix", "8100", false, 0, 0, ethereum.ErrNotCanonical},
		{"single byte with prefix", "817f", false, 0, 0, ethereum.ErrNotCanonical},
		{"prefix of a byte, no byte", "81", false, 0, 0, ethereum.ErrShort},
		{"long form of 0", "b800", false, 0, 0, ethereum.ErrNotCanonical},
		{"long form of 55", "b837", false, 0, 0, ethereum.ErrNotCanonical},
		{"leading zero", "b90038", false, 0, 0, ethereum.ErrNotCanonical},
		{"list, long form of 55", "f837", false, 0, 0, ethereum.ErrNotCanonical},
		{"list, leading zero", "f900ff", false, 0, 0, ethereum.ErrNotCanonical},
		{"length cut", "b9 01", false, 0, 0, ethereum.ErrShort},
		{"list length cut", "ff ffffffffffffff", false, 0, 0, ethereum.ErrShort},
	} {
		b := unhex(tc.item)
		list, head, payload, err := ethereum.ItemHeader(b)
		if !errors.Is(err, tc.err) || err == nil && (list != tc.list || head != tc.head || payload != tc.payload) {
			t.Errorf("%s, %x: list %t, prefix %d, payload %d, %v", tc.name, b, list, head, payload, err)
		}
	}
}

// Lorem ipsum is the definition's example of a long string.
func TestAppendString(t *testing.T) {
	lorem := "Lorem ipsum dolor sit amet, consectetur adipisicing elit"
	for in, want := range map[string]string{
		"":                            "80",
		"\x00":                        "00",
		"\x7f":                        "7f",
		"\x80":                        "8180",
		"dog":                         "83646f67",
		lorem:                         "b838" + hex.EncodeToString([]byte(lorem)),
		strings.Repeat("a", 1024):     "b90400" + strings.Repeat("61", 1024),
		strings.Repeat("a", 0x010203): "ba010203" + strings.Repeat("61", 0x010203),
	} {
		if got := ethereum.AppendString(nil, []byte(in)); !bytes.Equal(got, unhex(want)) {
			t.Errorf("%.20q: %.20x…", in, got)
		}
		if got := chaintest.RLP(in); !bytes.Equal(got, unhex(want)) {
			t.Errorf("%.20q: the tests' own encoder gives %.20x…", in, got)
		}
	}
	for n, want := range map[int]string{0: "c0", 55: "f7", 56: "f838", 255: "f8ff", 256: "f90100", 1 << 24: "fb01000000"} {
		if got := ethereum.AppendListHeader(nil, n); !bytes.Equal(got, unhex(want)) {
			t.Errorf("prefix of a list of %d: %x, not %s", n, got, want)
		}
	}
}

// Whatever the bytes, a prefix that is taken is the one that appending gives.
func FuzzItemHeader(f *testing.F) {
	for _, s := range []string{"83646f67", "c0", "8180", "b838", "f90100", "ffffffffffffffffff"} {
		f.Add(unhex(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		list, head, payload, err := ethereum.ItemHeader(b)
		if err != nil || payload > 1<<20 {
			return
		}
		again := ethereum.AppendListHeader(nil, int(payload))
		if !list {
			body := make([]byte, payload)
			copy(body, b[head:])
			again = ethereum.AppendString(nil, body)[:head]
		}
		if !bytes.Equal(again, b[:head]) {
			t.Errorf("%x: prefix %x, again %x", b, b[:head], again)
		}
	})
}
