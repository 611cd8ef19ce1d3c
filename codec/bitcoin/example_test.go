package bitcoin_test

import (
	"encoding/hex"
	"fmt"

	"github.com/segstore/segstore/codec"
	"github.com/segstore/segstore/codec/bitcoin"
)

// The key of mainnet's first header, and how a person asks for it.
func ExampleKeyFunctions() {
	definition, err := codec.ParseKeyDefinition("sha256d(header)")
	if err != nil {
		fmt.Println(err)
		return
	}
	f, err := definition.Resolve(bitcoin.KeyFunctions(), "fixed", "btc-header")
	if err != nil {
		fmt.Println(err)
		return
	}
	header, err := hex.DecodeString("01000000" +
		"0000000000000000000000000000000000000000000000000000000000000000" +
		"3ba3edfd7a7b12b27ac72c3e67768f617fc81bc3888a51323a9fb8aa4b1e5e4a" +
		"29ab5f49ffff001d1dac2b7c")
	if err != nil {
		fmt.Println(err)
		return
	}
	key, err := f.Append(nil, header)
	if err != nil {
		fmt.Println(err)
		return
	}
	asked, err := f.Parse("000000000019D6689C085AE165831E934FF763AE46A2A6C172B3F1B60A8CE26F")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(f.Format(key), string(asked) == string(key))
	// Output: 000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f true
}
