package ethereum_test

import (
	"encoding/hex"
	"fmt"

	"github.com/segstore/segstore/codec"
	"github.com/segstore/segstore/codec/ethereum"
)

// The key of a transaction as the table transactions keeps it: here the signed
// one of EIP-155.
func ExampleKeyFunctions() {
	definition, err := codec.ParseKeyDefinition("keccak256(transaction)")
	if err != nil {
		fmt.Println(err)
		return
	}
	f, err := definition.Resolve(ethereum.KeyFunctions(), "bytes", "eth-tx")
	if err != nil {
		fmt.Println(err)
		return
	}
	value, err := hex.DecodeString("f86c098504a817c800825208943535353535353535353535353535353535353535880de0b6b3a76400008025a028ef61340b" +
		"d939bc2195fe537567866003e1a15d3c71ff63e1590620aa636276a067cbe9d8997f761aecb703304b3800ccf555c9f3dc64" +
		"214b297fb1966a3b6d83")
	if err != nil {
		fmt.Println(err)
		return
	}
	key, err := f.Append(nil, value)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(f.Format(key))
	// Output: 0x33469b22e9f636356c4160a87eb19df52b7412e8eac32a4a55ffe88ea8350788
}
