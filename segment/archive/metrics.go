package archive

import "sync/atomic"

// Metrics is what an archive is at, and what it has done since it was opened. Names that
// end in ns are nanoseconds, in bytes bytes.
type Metrics struct {
	Gauges    Gauges   `json:"gauges"`
	Counters  Counters `json:"counters"`
	SealError string   `json:"seal_error,omitempty"` // why the last seal in the background failed; "" when one has succeeded since
}

// Gauges go up and down.
type Gauges struct {
	Tables      []TableGauges `json:"tables"`       // in the order of creation
	LogFiles    int64         `json:"log_files"`    // that may hold rows that are in no segment; of a writer
	LogBytes    int64         `json:"log_bytes"`    // of these files
	CacheChunks int64         `json:"cache_chunks"` // decoded chunks in the cache
	CacheBytes  int64         `json:"cache_bytes"`  // that they take
	OpenFiles   int64         `json:"open_files"`   // segment files
	Views       int64         `json:"views"`        // that are open, with work that needs one
	Waiting     int64         `json:"waiting"`      // segments and logs that only open views need
	Failed      int64         `json:"failed"`       // 1 when the archive takes no more changes until it is opened anew
}

// TableGauges is what a table holds.
type TableGauges struct {
	Table       string `json:"table"`
	Segments    int64  `json:"segments"`
	Rows        uint64 `json:"rows"`          // in segments and logs
	RawBytes    uint64 `json:"raw_bytes"`     // of their values
	StoredBytes int64  `json:"stored_bytes"`  // of the segment files
	LogRows     uint64 `json:"log_rows"`      // of Rows, those in logs
	LogRawBytes uint64 `json:"log_raw_bytes"` // of RawBytes, those in logs
}

// Counters start at 0 when the archive is opened and never go down. Work that failed is
// counted where it says so only.
type Counters struct {
	Commits           uint64 `json:"commits"` // of rows
	CommittedRows     uint64 `json:"committed_rows"`
	CommittedRawBytes uint64 `json:"committed_raw_bytes"` // of the values
	CommittedLogBytes uint64 `json:"committed_log_bytes"` // of the records in logs
	CommitNS          uint64 `json:"commit_ns"`           // as CommitInfo.Duration

	Syncs       uint64 `json:"syncs"`        // of records in logs
	SyncedBytes uint64 `json:"synced_bytes"` // of these records
	SyncNS      uint64 `json:"sync_ns"`

	Seals             uint64 `json:"seals"`
	SealedSegments    uint64 `json:"sealed_segments"`
	SealedRows        uint64 `json:"sealed_rows"`
	SealedRawBytes    uint64 `json:"sealed_raw_bytes"`    // of the values
	SealedStoredBytes uint64 `json:"sealed_stored_bytes"` // of the segment files
	SealNS            uint64 `json:"seal_ns"`

	RecompressedSegments uint64 `json:"recompressed_segments"`
	RecompressedBefore   uint64 `json:"recompressed_stored_bytes_before"`
	RecompressedAfter    uint64 `json:"recompressed_stored_bytes_after"`
	RecompressNS         uint64 `json:"recompress_ns"` // as RecompressInfo.Duration

	Rewinds           uint64 `json:"rewinds"`
	RewoundRows       uint64 `json:"rewound_rows"`
	Prunes            uint64 `json:"prunes"`
	PrunedSegments    uint64 `json:"pruned_segments"`
	PrunedRows        uint64 `json:"pruned_rows"`
	PrunedStoredBytes uint64 `json:"pruned_stored_bytes"`

	IndexBuilds    uint64 `json:"index_builds"`
	IndexBuildNS   uint64 `json:"index_build_ns"`
	IndexesDropped uint64 `json:"indexes_dropped"` // as EventListener.IndexDropped

	FilesOpened  uint64 `json:"files_opened"`  // segment files
	FilesRemoved uint64 `json:"files_removed"` // as EventListener.FileRemoved, those without an error
	RemovedBytes uint64 `json:"removed_bytes"` // of segments and logs
	CacheHits    uint64 `json:"cache_hits"`    // chunks asked for that were in the cache
	CacheMisses  uint64 `json:"cache_misses"`

	Corruptions      uint64 `json:"corruptions"`       // as EventListener.Corruption
	BackgroundErrors uint64 `json:"background_errors"` // as EventListener.BackgroundError
}

// counts holds what Metrics reports, and nothing else knows.
type counts struct {
	logFiles, logBytes atomic.Int64

	commits, committedRows, committedRaw, committedLog, commitNS      atomic.Uint64
	syncs, syncedBytes, syncNS                                        atomic.Uint64
	seals, sealedSegments, sealedRows, sealedRaw, sealedStored        atomic.Uint64
	sealNS                                                            atomic.Uint64
	recompressed, recompressedBefore, recompressedAfter, recompressNS atomic.Uint64
	rewinds, rewoundRows                                              atomic.Uint64
	prunes, prunedSegments, prunedRows, prunedStored                  atomic.Uint64
	indexBuilds, indexBuildNS, indexesDropped                         atomic.Uint64
	removed, removedBytes                                             atomic.Uint64
	corruptions, backgroundErrors                                     atomic.Uint64
}

// Metrics returns a snapshot. It waits for no reading, writing or syncing, and may be
// called at any time, from any number of goroutines, also after Close. Each number is
// right at some moment of the call; all of them together need not be of the same one.
// It takes time in the number of segments, some nanoseconds each.
func (a *Archive) Metrics() Metrics {
	n, cache := &a.counts, a.cache.Stats()
	m := Metrics{
		Gauges: Gauges{
			LogFiles: n.logFiles.Load(), LogBytes: n.logBytes.Load(),
			CacheChunks: int64(cache.Chunks), CacheBytes: cache.Bytes,
			OpenFiles: a.files.open.Load(),
		},
		Counters: Counters{
			Commits: n.commits.Load(), CommittedRows: n.committedRows.Load(), CommittedRawBytes: n.committedRaw.Load(),
			CommittedLogBytes: n.committedLog.Load(), CommitNS: n.commitNS.Load(),
			Syncs: n.syncs.Load(), SyncedBytes: n.syncedBytes.Load(), SyncNS: n.syncNS.Load(),
			Seals: n.seals.Load(), SealedSegments: n.sealedSegments.Load(), SealedRows: n.sealedRows.Load(),
			SealedRawBytes: n.sealedRaw.Load(), SealedStoredBytes: n.sealedStored.Load(), SealNS: n.sealNS.Load(),
			RecompressedSegments: n.recompressed.Load(), RecompressedBefore: n.recompressedBefore.Load(),
			RecompressedAfter: n.recompressedAfter.Load(), RecompressNS: n.recompressNS.Load(),
			Rewinds: n.rewinds.Load(), RewoundRows: n.rewoundRows.Load(),
			Prunes: n.prunes.Load(), PrunedSegments: n.prunedSegments.Load(), PrunedRows: n.prunedRows.Load(), PrunedStoredBytes: n.prunedStored.Load(),
			IndexBuilds: n.indexBuilds.Load(), IndexBuildNS: n.indexBuildNS.Load(), IndexesDropped: n.indexesDropped.Load(),
			FilesOpened: a.files.opened.Load(), FilesRemoved: n.removed.Load(), RemovedBytes: n.removedBytes.Load(),
			CacheHits: cache.Hits, CacheMisses: cache.Misses,
			Corruptions: n.corruptions.Load(), BackgroundErrors: n.backgroundErrors.Load(),
		},
	}
	views, waiting := a.views.count()
	m.Gauges.Views, m.Gauges.Waiting = int64(views), int64(waiting)
	if a.failed.get() != nil {
		m.Gauges.Failed = 1
	}
	if e := a.sealError.Load(); e != nil {
		m.SealError = *e
	}
	for _, t := range a.Tables() {
		m.Gauges.Tables = append(m.Gauges.Tables, TableGauges{
			Table: t.Table, Segments: int64(t.Segments), Rows: t.Rows, RawBytes: t.RawBytes, StoredBytes: t.StoredBytes,
			LogRows: t.LogRows, LogRawBytes: t.LogBytes,
		})
	}
	return m
}
