// Package blk imports and exports Bitcoin blocks: the block files of Bitcoin Core (blkNNNNN.dat) and raw single blocks.
//
// A block file is a sequence of records: network magic (4 bytes), length (4 bytes, little-endian), block. Zeros may stand
// between records and after the last one, because Core reserves space ahead; since version 28 the whole file is XORed with
// the 8 bytes of xor.dat beside it. All of that is kept, so that an export gives the same bytes back. A raw block is a
// file that holds one block and nothing else.
//
// Tables:
//
//	blocks         header fixed(80) btc-header, first_transaction uint, transaction_count uint, framing bytes
//	transactions   transaction bytes btc-tx
//	sources        a row a file, see chain.Source
//
// Both first rows are 0: a block file holds blocks in the order of their arrival, so row numbers are no heights. framing
// is what stands in the file between the previous record and this one, as a gap record (see gap.go), and usually empty. For
// the first block of a file that is the source's head; what follows the last is its tail. The source's extra record is, for
// format "blk", the magic and then the key (length as uvarint, 0 or 8, and bytes); for format "raw" it is empty. A file
// xor.dat among the sources has format "blk-xor", no blocks, and its bytes as head.
//
// Each transaction is a row of its own, so its end must be found: the serialisation is read as strictly as Core reads
// it (BIP 144; compact sizes in their shortest form, no superfluous witness, no unknown flag). What would not come back
// byte for byte is refused. Unless told otherwise, an import also checks the Merkle root of each block and the witness
// commitment (BIP 141) of those with witnesses, so that a garbled block is found on the way in. Proof of work and
// everything else of consensus is not checked.
package blk

import (
	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/tools/chain"
)

// Formats of a source.
const (
	FormatFile = "blk"     // a block file
	FormatRaw  = "raw"     // one block and nothing else
	FormatKey  = "blk-xor" // xor.dat
)

// Tables that an import fills, beside chain.SourcesTable.
const (
	BlocksTable       = "blocks"
	TransactionsTable = "transactions"
)

// Limits.
const (
	MaxBlockBytes = 32 << 20 // longest block that is read: the longest message that Core reads
	MaxJunkBytes  = 32 << 20 // longest run of bytes that are no block which KeepJunk keeps

	headerBytes  = 80
	framingBytes = 8 // magic and length
	minTxBytes   = 10
	minBlock     = headerBytes + 1 + minTxBytes
)

// BlocksSchema returns the schema of the table blocks.
func BlocksSchema() segment.Schema {
	return segment.Schema{Columns: []segment.Column{
		{Name: "header", Kind: segment.Fixed, Width: headerBytes, Format: "btc-header"},
		{Name: "first_transaction", Kind: segment.Uint},
		{Name: "transaction_count", Kind: segment.Uint},
		{Name: "framing", Kind: segment.Bytes},
	}}
}

// TransactionsSchema returns the schema of the table transactions.
func TransactionsSchema() segment.Schema {
	return segment.Schema{Columns: []segment.Column{
		{Name: "transaction", Kind: segment.Bytes, Format: "btc-tx"},
	}}
}

func tables() []chain.Table {
	return []chain.Table{
		{Name: chain.SourcesTable, Schema: chain.SourcesSchema()},
		{Name: BlocksTable, Schema: BlocksSchema()},
		{Name: TransactionsTable, Schema: TransactionsSchema()},
	}
}
