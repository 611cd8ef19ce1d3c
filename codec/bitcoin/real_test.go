package bitcoin

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"testing"

	"github.com/segstore/segstore/codec"
	"github.com/segstore/segstore/tools/chain/blk"
	"github.com/segstore/segstore/tools/chain/chaintest"
)

// keysOf returns the keys of all values, and the SHA-256 of them one after another.
func keysOf(t *testing.T, f codec.KeyFunction, values [][]byte) (keys [][]byte, sum string) {
	t.Helper()
	h := sha256.New()
	for i, v := range values {
		key, err := f.Append(nil, v)
		if err != nil || len(key) != sha256.Size {
			t.Fatalf("value %d: key %x, %v", i, key, err)
		}
		keys = append(keys, key)
		h.Write(key)
	}
	return keys, hex.EncodeToString(h.Sum(nil))
}

// TestReal computes the keys of every block and transaction of the real data, as
// the importer keeps them, and lets the chain prove them: a header holds the
// Merkle root of its transactions' ids and the hash of the header before it, a
// coinbase the root of the hashes with witness (BIP 141). The sums are those of
// the hashes that btcd 0.26.2 gave (wire.MsgBlock.BlockHash, wire.MsgTx.TxHash
// and WitnessHash).
func TestReal(t *testing.T) {
	for _, c := range []struct {
		file                   string
		blocks, withCommitment int
		linked                 bool // each block follows the one before
		hashes, ids, witnesses string
	}{
		{
			"btc/blk_0_to_14131.dat", 14132, 0, true,
			"f68504e834b9eca407025a71813a4c53b77b90c1ad406e5557ab472b061b324e",
			"06e32366c23d5d230808b7639516817db512049b65fdd2c3b174073e095e29e5",
			"06e32366c23d5d230808b7639516817db512049b65fdd2c3b174073e095e29e5",
		},
		{
			"btc/mainnet-large.dat", 22, 9, false,
			"93218a750ff273f33c66d939da9432154e77063a0857f2c7c3972f8a7060d5e2",
			"9eea4ce8e792956b78d91e80578b7a681c45a28591e18d0cf6fec15064c363f0",
			"fb474eaff435450468ac16a9c27762a7b7238cff68515fa5b9582fbe80194213",
		},
		{
			"btc/block300025.raw", 1, 0, false,
			"9c9f8010226f0f9099ef1708ae9979399f3ef4ac8dd3c966501f1ca4cd453411",
			"81667d893efdaeef8eb7b7e7c3bb69dc49e405e3f0b1e1447f6dff0bcd7989ff",
			"81667d893efdaeef8eb7b7e7c3bb69dc49e405e3f0b1e1447f6dff0bcd7989ff",
		},
	} {
		t.Run(c.file, func(t *testing.T) {
			// The importer has the same proof built in: here it must not help.
			m, _ := chaintest.Import(t, blk.Importer{SkipChecks: true}, chaintest.DataFile(t, c.file))
			headers, transactions := m.Column("blocks", "header"), m.Column("transactions", "transaction")
			hashes, sum := keysOf(t, function(t, "sha256d"), headers)
			if len(hashes) != c.blocks || sum != c.hashes {
				t.Errorf("%d blocks, hashes %s; expected %d, %s", len(hashes), sum, c.blocks, c.hashes)
			}
			ids, sum := keysOf(t, function(t, "btc-txid"), transactions)
			if sum != c.ids {
				t.Errorf("%d transactions, ids %s, expected %s", len(ids), sum, c.ids)
			}
			witnesses, sum := keysOf(t, function(t, "btc-wtxid"), transactions)
			if sum != c.witnesses {
				t.Errorf("%d transactions, hashes %s, expected %s", len(witnesses), sum, c.witnesses)
			}
			first, count := m.Column("blocks", "first_transaction"), m.Column("blocks", "transaction_count")
			commitments := 0
			for i, header := range headers {
				from := binary.LittleEndian.Uint64(first[i])
				to := from + binary.LittleEndian.Uint64(count[i])
				if root := merkleRoot(ids[from:to]); !bytes.Equal(header[36:68], root) {
					t.Errorf("block %d: Merkle root %x, that of the ids is %x", i, header[36:68], root)
				}
				if c.linked && i > 0 && !bytes.Equal(header[4:36], hashes[i-1]) {
					t.Errorf("block %d: previous block %x, expected %x", i, header[4:36], hashes[i-1])
				}
				if committed(t, transactions[from], witnesses[from:to]) {
					commitments++
				}
			}
			if commitments != c.withCommitment {
				t.Errorf("%d blocks with a witness commitment, expected %d", commitments, c.withCommitment)
			}
		})
	}
}

// merkleRoot returns the root of a block's Merkle tree: where a level is odd, its
// last hash is paired with itself.
func merkleRoot(level [][]byte) []byte {
	for len(level) > 1 {
		var up [][]byte
		for i := 0; i < len(level); i += 2 {
			right := level[min(i+1, len(level)-1)]
			up = append(up, double(append(bytes.Clone(level[i]), right...)))
		}
		level = up
	}
	return level[0]
}

// committed checks the witness commitment of a block whose coinbase has a witness.
func committed(t *testing.T, coinbase []byte, witnesses [][]byte) bool {
	t.Helper()
	if coinbase[4] != 0 {
		return false
	}
	level := append([][]byte{make([]byte, 32)}, witnesses[1:]...)
	reserved := coinbase[len(coinbase)-36 : len(coinbase)-4] // its only witness item
	at := bytes.LastIndex(coinbase, []byte{0x6a, 0x24, 0xaa, 0x21, 0xa9, 0xed})
	if at < 0 {
		t.Errorf("coinbase %x has no commitment", coinbase)
		return false
	}
	want := coinbase[at+6 : at+38]
	if got := double(append(bytes.Clone(merkleRoot(level)), reserved...)); !bytes.Equal(got, want) {
		t.Errorf("witness commitment %x, that of the hashes is %x", want, got)
	}
	return true
}
