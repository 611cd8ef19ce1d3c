// Package ethereum cuts blocks of an Ethereum chain into rows and joins them again, byte for byte. It is what the importers and
// exporters of era1 files and RLP streams share, and has the names and schemas of the tables:
//
//	blocks        number, header, uncles, withdrawals, total_difficulty, first_transaction, transaction_count
//	transactions  transaction
//	receipts      receipt, with the row numbers of the transactions
//
// A transaction or receipt is kept in its canonical form of EIP-2718: the RLP list where it is of the legacy type, else type byte
// and payload, without the prefix of the RLP string around them. Absent withdrawals (before Shanghai), total difficulties (not in
// RLP streams) and receipts (not in geth's export, where it is imported together with files that have them) are empty values;
// none of them is empty when present.
//
// Only RLP in its canonical form is taken, so that prefixes need not be kept. Inside headers, transactions, receipts, uncles and
// withdrawals nothing is looked at but a header's number and what tells them from other lists; what is found there is kept.
package ethereum

import "github.com/segstore/segstore/segment"

// Names of the tables.
const (
	BlocksTable       = "blocks"
	TransactionsTable = "transactions"
	ReceiptsTable     = "receipts"
)

// FormatEra1 is the format of a source that is an era1 file; those of streams are Form.String.
const FormatEra1 = "era1"

// Formats of columns.
const (
	FormatHeader      = "eth-header"
	FormatUncles      = "eth-uncles"
	FormatWithdrawals = "eth-withdrawals"
	FormatTransaction = "eth-tx"
	FormatReceipt     = "eth-receipt"
)

// BlocksSchema returns the schema of the table blocks.
func BlocksSchema() segment.Schema {
	return segment.Schema{Columns: []segment.Column{
		{Name: "number", Kind: segment.Uint},
		{Name: "header", Kind: segment.Bytes, Format: FormatHeader},
		{Name: "uncles", Kind: segment.Bytes, Format: FormatUncles},
		{Name: "withdrawals", Kind: segment.Bytes, Format: FormatWithdrawals},
		{Name: "total_difficulty", Kind: segment.Bytes},
		{Name: "first_transaction", Kind: segment.Uint},
		{Name: "transaction_count", Kind: segment.Uint},
	}}
}

// TransactionsSchema returns the schema of the table transactions.
func TransactionsSchema() segment.Schema {
	return segment.Schema{Columns: []segment.Column{{Name: "transaction", Kind: segment.Bytes, Format: FormatTransaction}}}
}

// ReceiptsSchema returns the schema of the table receipts.
func ReceiptsSchema() segment.Schema {
	return segment.Schema{Columns: []segment.Column{{Name: "receipt", Kind: segment.Bytes, Format: FormatReceipt}}}
}
