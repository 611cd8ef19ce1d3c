package archive

import "time"

// EventListener is told what an archive does, beside what its calls return. Any of its
// functions may be nil: such events cost nothing.
//
// A function runs on the goroutine that does the work, which waits for it: that of the
// caller, or one of the archive's own for what it does by itself. Several may run at the
// same time. Locks of the archive may be held: a function must return soon, and must not
// call the archive, its views or its tables; Archive.Metrics it may call. What an info
// points to must not be changed, and may be kept.
//
// An event with an error says that the work was not done, or, of a log or a manifest,
// that nobody knows whether it was. Calls that are refused before they change anything
// (ErrReadOnly, ErrClosed, ErrNoTable, segment.ErrRange, a context that has ended) make
// no event.
type EventListener struct {
	// Commit is called after each commit of rows, when readers see them, or after its
	// error. Commits are told in their order; the next one waits.
	Commit func(CommitInfo)

	// Sync is called after records of a log were made durable: by Batch.Commit, Sync,
	// Rewind, Close, and before a manifest is written. A sync that has nothing to do is
	// none, and that of a new log's head is not told.
	Sync func(SyncInfo)

	// SealBegin is called when rows of logs are about to be written into segments, and
	// SealEnd after that, once for each SealBegin. Rows that are rewound meanwhile end it
	// with an error; Seal begins again then.
	SealBegin func(SealInfo)
	SealEnd   func(SealInfo)

	// Recompress is called for each segment that Archive.Recompress replaces, when the
	// manifest names its new file, and for one at which it fails. Segments that are
	// skipped make no event.
	Recompress func(RecompressInfo)

	// Rewind is called after rows were taken away by Archive.Rewind.
	Rewind func(RewindInfo)

	// Prune is called after segments were taken away by Archive.Prune.
	Prune func(PruneInfo)

	// IndexBuildBegin is called when BuildIndex or CreateIndex begins to read the rows of
	// a table, and IndexBuildEnd after that, once for each IndexBuildBegin.
	IndexBuildBegin func(IndexBuildInfo)
	IndexBuildEnd   func(IndexBuildInfo)

	// IndexDropped is called for each index that answers nothing from then on, until it is
	// built: as it was found when the archive was opened, or as it became.
	IndexDropped func(IndexDroppedInfo)

	// FileRemoved is called after a segment or log that is not needed any more was removed,
	// or after removing it failed: that is tried again by Close or by the next writer. It
	// is called for what an interrupted writer has left, too. Files of indexes, and new
	// ones that were never part of the archive, are removed without it.
	FileRemoved func(FileRemovedInfo)

	// Corruption is called each time that damage is met: by a call that reads rows, by
	// Verify for each flaw, by Recompress, by work in the background, and by Open. Readers
	// that OpenSegment returns tell their callers alone.
	Corruption func(CorruptionInfo)

	// BackgroundError is called for an error that no call returns, or only Close: sealing
	// by itself, leaving a copy of the indexes for readers, closing or removing a file.
	BackgroundError func(BackgroundErrorInfo)
}

// CommitInfo is a commit.
type CommitInfo struct {
	Tables   []TableCommit // that got rows
	Rows     uint64
	RawBytes uint64        // of the values
	LogBytes int64         // of the record in the log; 0 where there is an error
	Synced   bool          // by Batch.Commit, not CommitNoSync
	Duration time.Duration // of the call: waiting for other commits, encoding, writing, syncing, indexing
	Err      error
}

// TableCommit is the rows of one table in a commit.
type TableCommit struct {
	Table    string
	FirstRow uint64
	Rows     uint64
	RawBytes uint64 // of the values
}

// SyncInfo is a sync of a log.
type SyncInfo struct {
	File     string
	Bytes    int64 // that were written since the last one
	Duration time.Duration
	Err      error
}

// SealInfo is a seal; when it begins, Segments, Duration and Err are not known.
type SealInfo struct {
	Background bool   // begun by itself, because of Options.SealBytes
	Rows       uint64 // in logs
	RawBytes   uint64 // of their values
	Segments   []SegmentInfo
	Duration   time.Duration
	Err        error
}

// RecompressInfo is a segment that was recompressed.
type RecompressInfo struct {
	Before   SegmentInfo
	After    SegmentInfo   // zero where there is an error
	Duration time.Duration // until its new file was whole; of all runs
	Err      error
}

// RewindInfo is a rewind.
type RewindInfo struct {
	Tables   []TableRewind // that lose rows, by name
	Rows     uint64        // that they lose
	Duration time.Duration // with waiting for other changes
	Err      error
}

// TableRewind is what a rewind takes from one table.
type TableRewind struct {
	Table  string
	EndRow uint64 // one past the last row from now on
	Rows   uint64 // that are gone
}

// PruneInfo is a prune.
type PruneInfo struct {
	Pruned
	Duration time.Duration // with waiting for other changes
	Err      error
}

// IndexBuildInfo is the building of an index; when it begins, Duration and Err are not
// known.
type IndexBuildInfo struct {
	Index    string
	Table    string
	Rows     uint64 // of the table, when it began
	Duration time.Duration
	Err      error
}

// IndexDroppedInfo is an index that answers nothing until it is built.
type IndexDroppedInfo struct {
	Index string
	Table string
	Err   error // why
}

// FileRemovedInfo is a file that was removed.
type FileRemovedInfo struct {
	File  string // path from the archive's directory, with slashes
	Bytes int64  // 0 for what an interrupted writer left
	Err   error
}

// CorruptionInfo is damage.
type CorruptionInfo struct {
	Table string // "" for that of a manifest or log
	Err   error  // holds a *segment.CorruptionError, *LogError or *ManifestError, which has the place
}

// BackgroundErrorInfo is an error that no call returns, or only Close.
type BackgroundErrorInfo struct {
	Work BackgroundWork
	Err  error
}

// BackgroundWork names what an archive does by itself.
type BackgroundWork string

// What an archive does by itself.
const (
	WorkSeal      BackgroundWork = "seal"       // sealing at Options.SealBytes; tried again later, rows stay in logs
	WorkIndexCopy BackgroundWork = "index copy" // the copy of the indexes for readers; they use the one before
	WorkFiles     BackgroundWork = "files"      // closing files, and removing those that are not needed
)
