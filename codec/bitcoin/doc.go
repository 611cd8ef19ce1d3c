// Package bitcoin is what knows the fields of Bitcoin's records: here, the keys
// by which they are known.
//
//	sha256d(header)         the block hash
//	btc-txid(transaction)   the transaction id: double SHA-256 without the witness
//	btc-wtxid(transaction)  its hash with the witness, as `hash` in Core's RPC
//
// Keys are 32 bytes in the order in which blocks hold them, in previous-block
// hashes and outpoints. People read and write them last byte first, and so do
// the functions' Parse and Format: block 1 is
// 00000000839a8e6886ab5951d76f411475428afc90947ee320161bbf18eb6048, 0x before it
// is accepted.
//
// A transaction without a witness has the same id and hash. With one it is
// serialized with marker 00 and flag 01 behind the version and the witnesses
// before the lock time (BIP 144), and its id leaves all three out (BIP 141). The
// witness commitment of a block takes 32 zeros for the hash of the coinbase;
// btc-wtxid gives the coinbase its own, as explorers do.
//
// # Keys that are not unique
//
// Two coinbase transactions of mainnet are in two blocks each, before BIP 30
// forbade it:
//
//	e3bf3d07d4b0375638d5f1db5255fe07ba2c4cb067cd81b84ee974b6585fb468  blocks 91,722 and 91,880
//	d5d27987d2a3dfc724e359870c6644b40e497bdc0589a033220fe15429d88599  blocks 91,812 and 91,842
//
// Their bytes are equal, so no function of the transaction tells them apart: an
// index must expect several rows for a key.
package bitcoin
