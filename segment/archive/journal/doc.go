// Package journal is the file format of an archive's log: records of bytes, one
// after another, that only ever grows. It knows nothing of what the records say.
//
//	head     64 bytes: magic, version, number of the log, sequence number of its
//	         first record, where the log before it ends, length of the body,
//	         checksum
//	body     what its records need to be understood; then its checksum
//	record   32 bytes (magic, length, sequence number, kind, up to where the file
//	         was durable when it was written), the bytes, and the xxh64 over the
//	         log's number, the record's offset, and all of it
//
// Numbers are little-endian. A record that was moved, or is of another log, does not
// check. Sequence numbers have no gaps, from log to log.
//
// # What a crash leaves
//
// A record that does not check is the end, unless one behind it says that the file
// was durable beyond: nobody was ever told that it is there. Without a Sync between
// them, of two records the later may reach the disk and the earlier may not. Scan
// stops before it and returns where that is. The log is left as it is; the next one
// (Create) says up to where this one counts, so that what lies behind is no damage
// later. Anything else that does not check is damage: *Error.
package journal
