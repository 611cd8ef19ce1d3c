package blk

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
)

// signed is the signed transaction of the native P2WPKH example of BIP 143: one input without and one with a witness.
const signed = "01000000" + "0001" + "02" +
	"fff7f7881a8099afa6940d42d1e7f6362bec38171ea3edf433541db4e4ad969f00000000" + "49" +
	"4830450221008b9d1dc26ba6a9cb62127b02742fa9d754cd3bebf337f7a55d114c8e5cdd30be022040529b194ba3f9281a99f2b1c0a19c0489bc22ed" +
	"e944ccf4ecbab4cc618ef3ed01" + "eeffffff" +
	"ef51e1b804cc89d182d279655c3aa89e815b1b309fe287d9b2b55d57b90ec68a01000000" + "00" + "ffffffff" +
	"02" + "202cb20600000000" + "1976a9148280b37df378db99f66f85c95a783a76ac7a6d5988ac" +
	"9093510d00000000" + "1976a9143bde42dbee7e4dbe6a21b2d50ce2f0167faa815988ac" +
	"00" +
	"0247304402203609e17b84f6a7d30c80bfa610b5b4542f32a8a0d5447a12fb1366d7f01cc44a0220573a954c4518331561406f90300e8f3358f51928" +
	"d43c212a8caed02de67eebee0121025476c2e83188368da1ff3e292e7acafcdb3566bb0ad253f62fc70f07aeee6357" +
	"11000000"

func TestTransaction(t *testing.T) {
	in := strings.Repeat("00", 36) + "00" + "ffffffff"
	for _, c := range []struct {
		name, hex string
		says      string // empty: the transaction is fine and 2 bytes are left
	}{
		{"genesis", genesisTxHex, ""},
		{"BIP 143", signed, ""},
		{"empty", "01000000" + "00" + "00" + "00000000", ""},
		{"long count", "01000000" + "01" + strings.Repeat("00", 36) + "fd0001" + strings.Repeat("aa", 256) + "ffffffff" + "00" + "00000000", ""},
		{"no witness after all", "01000000" + "0001" + "01" + in + "00" + "00" + "00000000", "at byte 4: expected a transaction without marker and flag"},
		{"no input, with flag", "01000000" + "0001" + "00" + "00" + "00000000", "at byte 4: expected a transaction without marker"},
		{"unknown flag", "01000000" + "0008" + "01" + in + "00" + "00" + "00000000", "at byte 5: expected a transaction's flag 01: flag 08"},
		{"overlong inputs", "01000000" + "fd0100" + in + "00" + "00000000", "at byte 4: expected a transaction's number of inputs: fd0100 is not in its shortest form"},
		{"overlong outputs", "01000000" + "01" + in + "fe01000000" + "00", "at byte 46: expected a transaction's number of outputs: fe01000000 is not"},
		{"overlong script", "01000000" + "01" + strings.Repeat("00", 36) + "ff0100000000000000" + "00ffffffff", "at byte 41: expected the length of an input's script: ff0100000000000000 is not"},
		{"many inputs", "01000000" + "feffffffff" + in, "at byte 4: expected a transaction's number of inputs: 4294967295 of at least 41 bytes with 43 bytes left"},
	} {
		b := append(unhex(t, c.hex), 0xee, 0xee)
		cur := cursor{b: b}
		tx := cur.transaction()
		switch {
		case c.says == "" && (cur.err != nil || tx.end != len(b)-2):
			t.Errorf("%s: end at %d of %d: %v", c.name, tx.end, len(b), cur.err)
		case c.says != "" && (cur.err == nil || !strings.Contains(cur.err.Error(), c.says)):
			t.Errorf("%s: %v, want %s", c.name, cur.err, c.says)
		}
		for n := range len(b) - 2 { // cut anywhere, it is an error, never a panic
			if cur := (cursor{b: b[:n]}); c.says == "" {
				if cur.transaction(); cur.err == nil {
					t.Errorf("%s: cut at %d is fine", c.name, n)
				}
			}
		}
	}
}

func TestCompactSizes(t *testing.T) {
	for _, v := range []uint64{0, 1, 0xfc, 0xfd, 0xffff, 0x10000, 0xffffffff, 0x100000000, 1<<64 - 1} {
		b := appendCompact(nil, v)
		c := cursor{b: b}
		if got := c.compact("x"); got != v || c.err != nil || c.left() != 0 {
			t.Errorf("%d as %x: read %d, %v", v, b, got, c.err)
		}
	}
	// The examples of the protocol's documentation.
	for hex, v := range map[string]uint64{"64": 100, "fd0302": 515, "fe00000100": 65536, "ff0000000001000000": 1 << 32} {
		if got := fmt.Sprintf("%x", appendCompact(nil, v)); got != hex {
			t.Errorf("%d is %s, want %s", v, got, hex)
		}
	}
}

func double(b ...[]byte) []byte {
	once := sha256.Sum256(bytes.Join(b, nil))
	twice := sha256.Sum256(once[:])
	return twice[:]
}

// merkle is the root as the definition says, level by level.
func merkle(level [][]byte) []byte {
	if len(level) == 1 {
		return level[0]
	}
	var next [][]byte
	for i := 0; i < len(level); i += 2 {
		next = append(next, double(level[i], level[min(i+1, len(level)-1)]))
	}
	return merkle(next)
}

// segwitBlock builds a block of a coinbase with a witness commitment and n copies of the transaction of BIP 143, told
// apart by their lock times.
func segwitBlock(t testing.TB, n int) []byte {
	base := unhex(t, signed)
	var txs, ids, wids [][]byte
	wids = append(wids, zeros(32))
	for i := range n {
		tx := bytes.Clone(base)
		tx[len(tx)-4] = byte(i)
		witness := 2*1 + 0x47 + 0x21 + 2 + 4 // two counts, two lengths and items, lock time
		txs = append(txs, tx)
		ids = append(ids, double(tx[:4], tx[6:len(tx)-witness], tx[len(tx)-4:]))
		wids = append(wids, double(tx))
	}
	reserved := bytes.Repeat([]byte{7}, 32)
	body := join([]byte{1}, zeros(32), []byte{0xff, 0xff, 0xff, 0xff}, []byte{3, 1, 2, 3}, []byte{0xff, 0xff, 0xff, 0xff},
		[]byte{2}, zeros(8), []byte{1, 0x51}, zeros(8), []byte{38, 0x6a, 0x24, 0xaa, 0x21, 0xa9, 0xed}, double(merkle(wids), reserved))
	version, lock := []byte{2, 0, 0, 0}, zeros(4)
	coinbase := join(version, []byte{0, 1}, body, []byte{1, 32}, reserved, lock)
	ids = append([][]byte{double(version, body, lock)}, ids...)
	header := join(zeros(36), merkle(ids), zeros(12))
	return join(header, []byte{byte(n + 1)}, coinbase, join(txs...))
}

func TestSegwitBlock(t *testing.T) {
	for _, n := range []int{1, 2, 3, 4, 6, 100} {
		b := segwitBlock(t, n)
		m, _ := roundTrip(t, Importer{}, "x", framed(mainnet, b))
		if got := m.Rows(TransactionsTable); got != uint64(n+1) {
			t.Fatalf("%d transactions, want %d", got, n+1)
		}
		if got := fmt.Sprintf("%x", m.Row(TransactionsTable, 1)[0]); n == 1 && got != signed[:len(signed)-8]+"00000000" {
			t.Errorf("transaction is %s", got)
		}
	}
	b := segwitBlock(t, 3)
	flip := func(from, to int, says string) {
		t.Helper()
		for i := from; i < to; i++ {
			c := bytes.Clone(b)
			c[i] ^= 1
			_, _, err := importFiles(Importer{}, file("x", framed(mainnet, c)))
			if err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("flip at %d: %v", i, err)
			}
		}
	}
	flip(36, 68, "Merkle root")
	flip(len(b)-4-0x21, len(b)-4, "the witness commitment") // the public key in the last witness
	reserved := bytes.Index(b, bytes.Repeat([]byte{7}, 32))
	flip(reserved, reserved+32, "the witness commitment")
	flip(reserved-2, reserved, "")
}

// TestNoCommitment: a block with a witness and nothing that commits to it.
func TestNoCommitment(t *testing.T) {
	tx := unhex(t, signed)
	id := double(tx[:4], tx[6:len(tx)-112], tx[len(tx)-4:])
	b := join(zeros(36), id, zeros(12), []byte{1}, tx)
	_, _, err := importFiles(Importer{}, file("x", framed(mainnet, b)))
	wantInputError(t, err, 8+81, "a coinbase with a witness commitment")
}
