// Package index finds rows by key: hashes of transactions, block numbers, any
// bytes. A [Store] is one Pebble database in one directory. It holds several
// named indexes; each maps keys to the numbers of the rows that have them.
//
// # A cache, not the truth
//
// An index has fingerprints of 40 bits, not keys. What a look-up returns are
// candidates, newest first, and the caller compares each with the row itself.
// A stranger is among them once in 2^40/n look-ups of n keys. Rows that were
// rewound or pruned stay too: rewinds delete nothing, and the caller says which
// rows it wants. The one thing that never happens is that a row which the
// index's [State] covers has the key and is not returned: then there is an
// error. A state is written with the entries that it speaks of, so both survive
// a crash or neither, and it carries an anchor by which the caller sees that
// the rows are the ones it was built from. What is missing, stale or damaged
// is loaded again from the rows.
//
// # Writing
//
// Commits of rows go through a [Batch]. [Store.Load] makes a whole index: it
// sorts in bounded memory, with temporary files where that is not enough, and
// writes tables that Pebble takes over as they are. The index that was there
// answers until then. [Store.Lower] comes before a rewind of the rows, durably;
// [Store.Raise] after a prune.
//
// After a write that failed, with a full disk for example, a store writes
// nothing more (ErrFailed); its files are as a crash would leave them. Close
// it and open it again. A load that fails before its tables are taken over
// harms nothing.
//
// # Checking
//
// A [Check] compares an index with the keys of its rows in both directions: each
// key must have its entry, each entry its key. It reads the entries once, in
// order, beside the keys, which it sorts as a load does.
//
// # Costs
//
// Measured on two cores of a server from 2024, with five million keys of 32
// bytes: 9.1 bytes a key on disk; 3 to 5 million keys a second loaded; 2 to 4
// µs a look-up in cached blocks, 0.8 to 0.9 of what a Get in a Pebble database with
// whole keys costs, without allocation. Entries of commits cost a few bytes
// more until Pebble has merged them. Compression of tables gains nothing, and
// filters would cost 1.3 bytes a key to spare misses a read of one block; there
// are neither.
//
// Memory: CacheBytes (32 MiB), two times MemTableBytes (8 MiB), 1 MiB a batch,
// and MemoryBytes (64 MiB) a load or a check while it runs.
//
// Keys are hashed with xxh64 without a secret: who chooses keys can choose
// many with one fingerprint, and make look-ups of these slow. Not so hashes.
//
// # Concurrency
//
// A Store may be used by many goroutines, a Batch by one. One process writes,
// under a lock; a read-only store takes none and writes nothing. It must not
// be given a directory that is being written: tables vanish there. For readers
// beside a writer there is [Store.Checkpoint].
package index
