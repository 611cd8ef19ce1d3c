package bitcoin

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/segstore/segstore/codec"
)

// The first two headers and the first transaction of mainnet, as every node has
// them.
const (
	genesisHeader = "0100000000000000000000000000000000000000000000000000000000000000000000003ba3edfd7a7b12b27ac72c3e67768f617fc81bc3" +
		"888a51323a9fb8aa4b1e5e4a29ab5f49ffff001d1dac2b7c"
	genesisHash   = "000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f"
	genesisTxHead = "01000000" + "01" + "0000000000000000000000000000000000000000000000000000000000000000" + "ffffffff"
	genesisTx     = genesisTxHead + "4d04ffff001d0104455468652054" +
		"696d65732030332f4a616e2f32303039204368616e63656c6c6f72206f6e206272696e6b206f66207365636f6e64206261696c6f757420666f722062" +
		"616e6b73ffffffff0100f2052a01000000434104678afdb0fe5548271967f1a67130b7105cd6a828e03909a67962e0ea1f61deb649f6bc3f4cef38c4" +
		"f35504e51ec112de5c384df7ba0b8d578a4c702b6bf11d5fac00000000"
	genesisTxID = "4a5e1e4baab89f3a32518a88c31bc87f618f76673e2cc77ab2127b7afdeda33b"

	headerOne = "010000006fe28c0ab6f1b372c1a6a246ae63f74f931e8365e15a089c68d6190000000000982051fd1e4ba744bbbe680e1fee14677ba1a3c3" +
		"540bf7b1cdb606e857233e0e61bc6649ffff001d01e36299"
	hashOne = "00000000839a8e6886ab5951d76f411475428afc90947ee320161bbf18eb6048"
)

// The signed transaction of BIP 143's example "native P2WPKH", with the hashes
// that btcd 0.26.2 gives it.
const (
	segwitTx = "01000000000102fff7f7881a8099afa6940d42d1e7f6362bec38171ea3edf433541db4e4ad969f00000000494830450221008b9d1dc26ba6a9cb" +
		"62127b02742fa9d754cd3bebf337f7a55d114c8e5cdd30be022040529b194ba3f9281a99f2b1c0a19c0489bc22ede944ccf4ecbab4cc618ef3ed01eeff" +
		"ffffef51e1b804cc89d182d279655c3aa89e815b1b309fe287d9b2b55d57b90ec68a0100000000ffffffff02202cb206000000001976a9148280b37df3" +
		"78db99f66f85c95a783a76ac7a6d5988ac9093510d000000001976a9143bde42dbee7e4dbe6a21b2d50ce2f0167faa815988ac000247304402203609e1" +
		"7b84f6a7d30c80bfa610b5b4542f32a8a0d5447a12fb1366d7f01cc44a0220573a954c4518331561406f90300e8f3358f51928d43c212a8caed02de67e" +
		"ebee0121025476c2e83188368da1ff3e292e7acafcdb3566bb0ad253f62fc70f07aeee635711000000"
	segwitTxID  = "e8151a2af31c368a35053ddd4bdb285a8595c769a3ad83e0fa02314a602d4609"
	segwitWTxID = "c36c38370907df2324d9ce9d149d191192f338b37665a82e78e76a12c909b762"
)

// repeatedCoinbase returns one of the two coinbases that are in two blocks each:
// they differ in the key paid to.
func repeatedCoinbase(publicKey string) string {
	return genesisTxHead + "06" + "0456720e1b00" + "ffffffff" + "01" + "00f2052a01000000" + "43" + "41" + publicKey + "ac" + "00000000"
}

func unhex(tb testing.TB, s string) []byte {
	tb.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// function returns a key function by name.
func function(tb testing.TB, name string) codec.KeyFunction {
	tb.Helper()
	f, err := codec.KeyDefinition{Function: name, Column: "c"}.Resolve(KeyFunctions(), "bytes", "")
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

func TestVectors(t *testing.T) {
	for _, c := range []struct{ function, value, want string }{
		{"sha256d", "", "56944c5d3f98413ef45cf54545538103cc9f298e0575820ad3591376e2e0f65d"}, // 5df6e0e2…: of nothing
		{"sha256d", genesisHeader, genesisHash},
		{"sha256d", headerOne, hashOne},
		{"btc-txid", genesisTx, genesisTxID},
		{"btc-wtxid", genesisTx, genesisTxID},
		{"btc-txid", segwitTx, segwitTxID},
		{"btc-wtxid", segwitTx, segwitWTxID},
		{ // blocks 91,722 and 91,880
			"btc-txid", repeatedCoinbase("04124b212f5416598a92ccec88819105179dcb2550d571842601492718273fe0f2179a9695096bff94cd99dcccdea7cd9bd943bfca8fea649cac963411979a33e9"),
			"e3bf3d07d4b0375638d5f1db5255fe07ba2c4cb067cd81b84ee974b6585fb468",
		},
		{ // blocks 91,812 and 91,842
			"btc-txid", repeatedCoinbase("046896ecfc449cb8560594eb7f413f199deb9b4e5d947a142e7dc7d2de0b811b8e204833ea2a2fd9d4c7b153a8ca7661d0a0b7fc981df1f42f55d64b26b3da1e9c"),
			"d5d27987d2a3dfc724e359870c6644b40e497bdc0589a033220fe15429d88599",
		},
	} {
		f := function(t, c.function)
		key, err := f.Append([]byte("before "), unhex(t, c.value))
		if err != nil || !strings.HasPrefix(string(key), "before ") || f.Format(key[7:]) != c.want {
			t.Errorf("%s of %.40s…: %s, %v; expected %s", c.function, c.value, f.Format(key), err, c.want)
			continue
		}
		for _, text := range []string{c.want, "0x" + c.want, strings.ToUpper(c.want), " " + c.want + "\n"} {
			if got, err := f.Parse(text); err != nil || string(got) != string(key[7:]) {
				t.Errorf("%s: %q: %x, %v", c.function, text, got, err)
			}
		}
	}
}
