// Package ethereum is what knows the fields of Ethereum's records: here, the
// keys by which they are known.
//
//	keccak256(header)       the block hash
//	keccak256(transaction)  the transaction hash
//
// as explorers and the JSON-RPC print them: 0x and 64 hex digits, first byte
// first. Both hold for the values as importers keep them: a header is its RLP
// list, a transaction its canonical form of EIP-2718, which is the RLP list
// of a legacy transaction, or type byte and payload without the prefix of the
// RLP string around them in a block body. That form is what the transaction root
// commits to and what is hashed; with the prefix the hash would be another one.
//
// keccak256 is Keccak-256 with the padding of the original submission (Ethereum
// yellow paper, appendix A), not SHA3-256 of FIPS 202. It is defined for values
// of any bytes, the empty one included, and looks at none of them.
package ethereum
