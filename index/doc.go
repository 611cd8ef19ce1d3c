// Package index finds rows by key: hashes of transactions, block numbers, any
// bytes. One Store, a Pebble database in one directory, holds several named
// indexes; each maps keys to the numbers of the rows that have them.
package index
