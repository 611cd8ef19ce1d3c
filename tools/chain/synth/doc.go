// Package synth makes up a chain that looks like Ethereum's: for a demonstration on a machine that has no chain, and for load
// tests of any length.
//
//	for block := range synth.New(1).Blocks(100) {
//		… // block.Header, block.Transactions, block.Receipts
//	}
//
// The same seed gives the same bytes on every machine. Headers have the 20 fields of Cancun and name their parent by its hash
// (Keccak-256 of its RLP); transactions are of types 0 to 3, with calls of tokens, exchanges and rollups by contracts of which a
// few are called most; receipts hold the logs of those calls, and they and the header the bloom filters of the logs. Compressed
// in chunks of 32 KiB by zstd's default level, transactions shrink to about 60 percent and receipts to about 12, as mainnet's
// do. Signatures, state, transaction and receipt roots are random: nothing here validates as a chain.
//
// A Generator is for one goroutine and never ends; it makes 200 MB or more a second.
package synth
