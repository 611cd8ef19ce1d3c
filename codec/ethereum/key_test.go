package ethereum

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"sync"
	"testing"

	"golang.org/x/crypto/sha3"

	"github.com/segstore/segstore/codec"
	"github.com/segstore/segstore/tools/chain"
	"github.com/segstore/segstore/tools/chain/chaintest"
	"github.com/segstore/segstore/tools/chain/era1"
	"github.com/segstore/segstore/tools/chain/rlp"
)

func keccak256(tb testing.TB) codec.KeyFunction {
	tb.Helper()
	functions := KeyFunctions()
	if len(functions) != 1 || functions[0].Name != "keccak256" {
		tb.Fatalf("%+v", functions)
	}
	return functions[0]
}

// TestVectors has digests of Keccak-256 as its authors published them with the
// submission, not those of SHA3-256.
func TestVectors(t *testing.T) {
	f := keccak256(t)
	for text, want := range map[string]string{
		"":    "0xc5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470",
		"abc": "0x4e03657aea45a94fc7d47ba826c8d667c0d1e6e33a64a036ec44f58fa12d6c45",
		"The quick brown fox jumps over the lazy dog": "0x4d741b6f1eb29cb2a9b9911c82f56fa8d73b04959d3d9d222895df6c0b28aa15",
	} {
		key, err := f.Append(nil, []byte(text))
		if err != nil || f.Format(key) != want {
			t.Errorf("%q: %s, %v; expected %s", text, f.Format(key), err, want)
		}
		appended, err := f.Append([]byte("before "), []byte(text))
		if err != nil || string(appended) != "before "+string(key) {
			t.Errorf("%q: %x, %v", text, appended, err)
		}
	}
}

func TestText(t *testing.T) {
	f := keccak256(t)
	key, err := f.Append(nil, []byte("abc"))
	if err != nil {
		t.Fatal(err)
	}
	digits := f.Format(key)[2:]
	for _, text := range []string{"0x" + digits, digits, "0X" + string(bytes.ToUpper([]byte(digits))), " 0x" + digits + "\n"} {
		if got, err := f.Parse(text); err != nil || !bytes.Equal(got, key) {
			t.Errorf("%q: %x, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "0x", "0x" + digits[1:], digits + "00", "g" + digits[1:]} {
		if got, err := f.Parse(text); err == nil {
			t.Errorf("%q: %x", text, got)
		}
	}
}

func TestResolve(t *testing.T) {
	d, err := codec.ParseKeyDefinition("keccak256(transaction)")
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"", "eth-tx", "eth-header"} {
		if f, err := d.Resolve(KeyFunctions(), "bytes", format); err != nil || f.Name != "keccak256" {
			t.Errorf("%q: %q, %v", format, f.Name, err)
		}
	}
	if _, err := d.Resolve(KeyFunctions(), "bytes", "btc-tx"); err == nil {
		t.Error("keccak256 of a Bitcoin transaction")
	}
}

func TestConcurrent(t *testing.T) {
	f := keccak256(t)
	var group sync.WaitGroup
	for g := range 8 {
		group.Go(func() {
			for i := range 500 {
				value := bytes.Repeat([]byte{byte(g), byte(i)}, i)
				h := sha3.NewLegacyKeccak256()
				h.Write(value)
				if key, err := f.Append(nil, value); err != nil || !bytes.Equal(key, h.Sum(nil)) {
					t.Errorf("%d bytes: %x, %v", len(value), key, err)
					return
				}
			}
		})
	}
	group.Wait()
}

// keysOf returns the keys of all values, and the SHA-256 of them one after another.
func keysOf(t *testing.T, f codec.KeyFunction, values [][]byte) (keys [][]byte, sum string) {
	t.Helper()
	h := sha256.New()
	for i, v := range values {
		key, err := f.Append(nil, v)
		if err != nil || len(key) != hashBytes {
			t.Fatalf("value %d: key %x, %v", i, key, err)
		}
		keys = append(keys, key)
		h.Write(key)
	}
	return keys, hex.EncodeToString(h.Sum(nil))
}

// TestReal computes the hash of every block and transaction of the real data, as
// importers keep them. The sums are those of the hashes that go-ethereum 1.17.10
// gave (types.Header.Hash, types.Transaction.Hash) after the transaction roots
// that it made of the same transactions had matched the headers.
func TestReal(t *testing.T) {
	type known struct {
		table string
		row   int
		hash  string
	}
	for _, c := range []struct {
		file         string
		importer     chain.Importer
		blocks       int
		headers      string
		transactions string
		known        []known
	}{
		{
			"eth/fixture-small.rlps", rlp.Importer{}, 55,
			"4d4f97fa7084c696cc73ea447cd2bd948c04d0ad11182e7f15223192e28ddb78",
			"7af88450addc530e2e514eb253f410e3e5edec4107d8926b8e349f59c741ad5c",
			[]known{
				{"blocks", 28, "0x8e38b4dbf6b11fcc3b9dee84fb7986e29ca0a02cecd8977c161ff7333329681e"},         // block 1,000,000
				{"blocks", 43, "0xaa20f7bde5be60603f11a45fc4923aab7552be775403fc00c2e6b805e6297dbe"},         // block 10,000,000
				{"transactions", 0, "0x01f7583ce239ad19682ccbadb21d69a03cf7be333f4be9c02233874e3f79bf9d"},    // block 46,400, index 0: legacy
				{"transactions", 1464, "0x9e867c0ebcf2fb987c70a4dafe24ea7f1e8d7765b88965361fd48104d7480b07"}, // block 19,433,902, index 92: type 1
				{"transactions", 878, "0xef0748860f1c1ba28a5ae3ae9d2d1133940f7c8090fc862acf48de42b00ae2b5"},  // block 13,998,626, index 1: type 2
				{"transactions", 1543, "0x397ab13570fe50ca4c707b22f7826c2d4e9d0273fd6d8261040797de74ddf734"}, // block 22,431,084, index 0: type 3
			},
		},
		{
			"eth/bench-mainnet.rlps", rlp.Importer{}, 85,
			"238791769625468c1c9a4cbafd58727d60423d7988069c7ae7fef57a3deded32",
			"47799acd9bbbf071d3123d36ef12d7ab3801d8242435b671f448718ad59328d4", nil,
		},
		{
			"eth/early-headers.rlps", rlp.Importer{}, 20999,
			"35f9d8009080c8eb5e4878a89a7a0934f9a11d7dab5124c3c9f2cd4eec01d21f", "",
			[]known{{"blocks", 0, "0x88e96d4537bea4d9c05d12549907b32561d3bf31f45aae734cdc119f13406cb6"}}, // block 1
		},
		{
			"era1/mainnet-00000-5ec1ffb8.era1", era1.Importer{}, 8192,
			"68eaf10163dd3ab0b26bdba068822de95459e42ca0318049c8f71f47f4a0a435", "",
			[]known{{"blocks", 0, "0xd4e56740f876aef8c010b86a40d5f56745a118d0906a34e69aec8c0db1cb8fa3"}}, // genesis
		},
		{
			"era1/mainnet-00001-a5364e9a.era1", era1.Importer{}, 8192,
			"b689ebdcd4f75d05088fc9ba0c26df99318f27522027c0011bce896dc5651f77", "", nil,
		},
		{
			"era1/sepolia-00021-b8814b14.era1", era1.Importer{}, 8192,
			"92f87b1eceabf5fb52465de0fb772e54a89228b35f5fb868d1d321fccb7f83a0",
			"3fa196b4a7e23d79466e45d2c715020f19bf6c1567d26ff0f83b856ccaf3517e", nil,
		},
	} {
		t.Run(c.file, func(t *testing.T) {
			m, _ := chaintest.Import(t, c.importer, chaintest.DataFile(t, c.file))
			f := keccak256(t)
			headers := m.Column("blocks", "header")
			keys, sum := keysOf(t, f, headers)
			if len(keys) != c.blocks || sum != c.headers {
				t.Errorf("%d blocks, hashes %s; expected %d, %s", len(keys), sum, c.blocks, c.headers)
			}
			transactions, sum := keysOf(t, f, m.Column("transactions", "transaction"))
			if c.transactions != "" && sum != c.transactions || c.transactions == "" && len(transactions) > 0 {
				t.Errorf("%d transactions, hashes %s, expected %s", len(transactions), sum, c.transactions)
			}
			for _, k := range c.known {
				all := keys
				if k.table == "transactions" {
					all = transactions
				}
				if got := f.Format(all[k.row]); got != k.hash {
					t.Errorf("%s row %d: %s, expected %s", k.table, k.row, got, k.hash)
				}
			}
			chained(t, headers, keys, c.blocks > 1000)
			if len(transactions)+len(keys) == 0 {
				t.Error("nothing was checked")
			}
		})
	}
}

// chained checks each header's parent hash against the key of the header before
// it: a proof by the chain itself, where blocks follow each other.
func chained(t *testing.T, headers, keys [][]byte, follow bool) {
	t.Helper()
	if !follow {
		return
	}
	for i := 1; i < len(headers); i++ {
		// A list of 3 bytes of prefix, then the parent hash, a string of 32 bytes.
		if h := headers[i]; h[0] != 0xf9 || h[3] != 0xa0 || !bytes.Equal(h[4:36], keys[i-1]) {
			t.Fatalf("header %d: parent %x, expected %x", i, h[:36], keys[i-1])
		}
	}
}
