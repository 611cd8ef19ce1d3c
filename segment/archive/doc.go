// Package archive keeps segments in a directory: tables of rows without gaps, a
// manifest that names their files, and a lock that keeps a second writer out.
//
//	MANIFEST.json      what there is: tables, and for each its segments
//	LOCK               held by the writer, empty
//	log-000042         rows that are in no segment yet
//	blocks/0000000000-0000008191-5d1f09c5a3e1b2c4.seg
//	                   a segment: first row, last row, xxh64 of the file
//	index/             rows by key: a cache, made of the rows alone
//
// A Builder makes an archive in bulk; Open reads one, and recompresses it in place:
//
//	b, err := archive.Create(vfs.Default, "chain", archive.CreateOptions{})
//	if err != nil { return err }
//	defer b.Abort() // no effect after Finish
//	if err := b.Create(archive.TableSpec{Name: "blocks", Schema: schema}); err != nil { return err }
//	for row := range rows {
//		if err := b.Append("blocks", row); err != nil { return err }
//	}
//	if _, err := b.Finish(ctx); err != nil { return err }
//
//	a, err := archive.Open(vfs.Default, "chain", archive.Options{ReadOnly: true})
//	if err != nil { return err }
//	defer a.Close()
//	blocks, err := a.Table("blocks")
//	if err != nil { return err }
//	row, err := blocks.Row(nil, 1920000)
//
// # A live archive
//
// The writer appends with a Batch: rows of several tables in one record of the log, one
// write and one sync, all or none. CreateTable adds tables to those that are there.
// Options.SealBytes of values later, or when Seal is called, the rows in logs become
// segments in the background: dictionaries are trained on them, so that a sealed
// archive is as small as one built in bulk. A row's bytes are written twice in all, to
// the log, as they are unless Options.CompressLog, and to its segment; logs go when their rows are sealed. Rewind lets tables
// end earlier, for a reorganisation: of the last commits, which Options.KeepCommits
// leaves in the log, by a record of some bytes. Prune lets one begin later, for history
// that expires.
//
// A commit that returned is there after any crash; one that did not is there as a
// whole or not at all; CommitNoSync leaves it to a later Sync. What a crash left at the
// end of a log, and nobody was told of, stays there and is not read. Anything else in a
// log that does not check is a *LogError when the archive is opened: never cut off. Close
// marks the end of the log, so that after it damage to the last commit is found as well;
// in a log that a crash ended, that commit can't be told from one that was being written.
// After an error of writing or syncing nobody knows what is durable: the archive takes
// no more changes until it is opened anew, and goes on being read.
//
// A View is the archive at one moment. It stays as it is while rows are committed,
// sealed, recompressed, pruned and rewound; files that it needs are kept until Close. An
// index finds rows by a function of a column; it is kept in step with commits and
// rewinds, and says so where it cannot answer.
//
// # What is promised
//
// Files are written under a temporary name, synced, read back and compared,
// renamed, and only then named by the manifest, which is replaced in the same way.
// So an archive that is there is whole, and one that is being changed is, after a
// crash at any moment, the old or the new one. A reader never sees what is not
// finished. What a killed writer has left is removed by the next one.
//
// What takes the place of a file has its permissions; where the manifest, or a lone
// segment, is a link, what it leads to is replaced. What is made anew never takes the
// place of anything, whatever that is: see CreateFile, and Create.
//
// A segment's file never changes: recompression writes another one. The manifest
// remembers the checksums of the last 8 files that were replaced, so that somebody
// who has kept such a checksum learns what became of it (Expect, CheckList).
//
// A segment that is damaged or missing makes its own rows unreadable, as far as
// the damage goes, and no others. A damaged manifest or log is an error of Open; the
// segments stand alone and can be read with OpenFile. A damaged index is dropped.
//
// Two things are not promised. After a sync that failed, what the system has in its page
// cache is trusted when the archive is opened anew, as Pebble does: Open syncs the newest
// log again, but some systems have marked its pages as written by then, and a later crash
// of the machine can take what was read from them. And logs carry numbers without gaps,
// but nothing says which one is the newest: where the newest logs are removed or cut by
// hand, the rows in them are missed as far as the manifest knows of them, which was
// written by the last Close, seal, recompression, prune, new index or rewind into segments.
// So all are missed that Close knew of; after a crash, or where there was no room for a
// manifest, the last ones are not.
//
// # Observation
//
// Options.EventListener is told of commits, syncs, seals, recompressed segments, rewinds,
// prunes, indexes, removed files, damage, and errors in the background, on the goroutine
// that does the work. Archive.Metrics counts the same, and says what tables, logs, cache
// and files are at; it waits for no I/O. Each is for one Archive, from Open to Close:
// another process that reads the same directory has its own.
//
// Examine says what state a directory is in and what mends it, also where Open fails;
// Verify reads segments and logs, CheckIndex holds an index against its rows.
//
// # Concurrency and lifetimes
//
// Any number of goroutines may use an Archive, its Tables and Columns; a Builder
// is for one. One process writes, any number read: a read-only Archive takes no
// lock and writes nothing; when files are replaced under it, it follows.
//
// Open reads the manifest and no segment. Files are opened when they are asked
// for; Options.OpenFiles of them stay open, about the ones used last, and what is
// cached of the others stays of use. A file that is replaced stays on the disk until
// its last user in the process has left. Reading rows of a file that is open takes no
// lock of the archive.
//
// # Format
//
// FORMAT.md, beside this file, says what manifest and logs hold, byte for byte. A manifest
// of another version, or with a member that is not known, is ErrVersion; damage to it is
// ErrManifest.
//
// All file work goes through the vfs package of Pebble, which has file systems in
// memory, and such that fail, for tests; but for permissions, links, and the locks on
// drafts of lone files, which it has no words for: those are asked of the disk.
package archive
