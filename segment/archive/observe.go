package archive

import (
	"errors"
	"time"

	"github.com/segstore/segstore/segment"
)

// Each of these counts something that happened and tells the listener. Where nobody
// listens nothing is allocated.

// committed notes a commit, of which logBytes were written. a.commits is held.
func (a *Archive) committed(tables []tableFrames, logBytes int64, synced bool, began time.Time, err error) {
	if len(tables) == 0 && err == nil {
		return
	}
	took := time.Since(began)
	var rows, raw uint64
	for i := range tables {
		r, b := tables[i].size()
		rows, raw = rows+r, raw+b
	}
	if err == nil {
		n := &a.counts
		n.commits.Add(1)
		n.committedRows.Add(rows)
		n.committedRaw.Add(raw)
		n.committedLog.Add(uint64(logBytes))
		n.commitNS.Add(uint64(took))
	} else {
		logBytes = 0
	}
	if a.events.Commit == nil {
		return
	}
	all := make([]TableCommit, len(tables))
	for i := range tables {
		r, b := tables[i].size()
		all[i] = TableCommit{Table: tables[i].table, FirstRow: tables[i].first, Rows: r, RawBytes: b}
	}
	a.events.Commit(CommitInfo{Tables: all, Rows: rows, RawBytes: raw, LogBytes: logBytes, Synced: synced, Duration: took, Err: err})
}

// size returns the rows of frames, and the bytes of their values.
func (t *tableFrames) size() (rows, raw uint64) {
	for i := range t.frames {
		rows += uint64(t.frames[i].rows)
		raw += uint64(t.frames[i].raw)
	}
	return rows, raw
}

// syncWriter makes the records of the log that is written durable. a.commits is held.
func (a *Archive) syncWriter() error {
	bytes := a.writer.Unsynced()
	if bytes == 0 {
		return a.writer.Sync() // nothing to do, or the error that it had
	}
	began := time.Now()
	err := a.writer.Sync()
	took := time.Since(began)
	if err == nil {
		a.counts.syncs.Add(1)
		a.counts.syncedBytes.Add(uint64(bytes))
		a.counts.syncNS.Add(uint64(took))
	}
	if a.events.Sync != nil {
		a.events.Sync(SyncInfo{File: logName(a.current.number), Bytes: bytes, Duration: took, Err: err})
	}
	return err
}

// countLogs notes how much the logs hold. a.commits is held, or nobody else has a.
func (a *Archive) countLogs() {
	if a.writer != nil {
		a.current.size = a.writer.Size()
	}
	var bytes int64
	for _, l := range a.logs {
		bytes += l.size
	}
	a.counts.logFiles.Store(int64(len(a.logs)))
	a.counts.logBytes.Store(bytes)
}

// sealBegins begins a seal of the rows that st has in logs with numbers below end; the
// function that it returns ends it.
func (a *Archive) sealBegins(st *state, end uint64, background bool) (ended func([]SegmentInfo, error)) {
	began, s := time.Now(), SealInfo{Background: background}
	for i := range st.tables {
		t := tableFrames{frames: st.tables[i].framesBelow(end)}
		rows, raw := t.size()
		s.Rows, s.RawBytes = s.Rows+rows, s.RawBytes+raw
	}
	if s.Rows == 0 {
		return func([]SegmentInfo, error) {}
	}
	if a.events.SealBegin != nil {
		a.events.SealBegin(s)
	}
	return func(segments []SegmentInfo, err error) {
		s.Duration, s.Err = time.Since(began), err
		if n := &a.counts; err == nil {
			s.Segments = segments
			n.seals.Add(1)
			n.sealedSegments.Add(uint64(len(segments)))
			n.sealedRows.Add(s.Rows)
			n.sealedRaw.Add(s.RawBytes)
			n.sealNS.Add(uint64(s.Duration))
			for i := range segments {
				n.sealedStored.Add(uint64(segments[i].StoredBytes))
			}
		}
		if a.events.SealEnd != nil {
			a.events.SealEnd(s)
		}
	}
}

// recompressed notes a segment that was replaced, or an error of that.
func (a *Archive) recompressed(r replacement, err error) {
	if n := &a.counts; err == nil {
		n.recompressed.Add(1)
		n.recompressedBefore.Add(uint64(r.old.StoredBytes))
		n.recompressedAfter.Add(uint64(r.next.StoredBytes))
		n.recompressNS.Add(uint64(r.took))
	} else {
		r.next = SegmentInfo{}
	}
	if a.events.Recompress != nil {
		a.events.Recompress(RecompressInfo{Before: r.old, After: r.next, Duration: r.took, Err: err})
	}
}

// rewound notes a rewind of tables.
func (a *Archive) rewound(tables []TableRewind, began time.Time, err error) {
	if len(tables) == 0 {
		return
	}
	i := RewindInfo{Tables: tables, Duration: time.Since(began), Err: err}
	for _, t := range tables {
		i.Rows += t.Rows
	}
	if err == nil {
		a.counts.rewinds.Add(1)
		a.counts.rewoundRows.Add(i.Rows)
	}
	if a.events.Rewind != nil {
		a.events.Rewind(i)
	}
}

// pruned notes a prune.
func (a *Archive) pruned(p Pruned, began time.Time, err error) {
	if n := &a.counts; err == nil {
		n.prunes.Add(1)
		n.prunedSegments.Add(uint64(p.Segments))
		n.prunedRows.Add(p.Rows)
		n.prunedStored.Add(uint64(p.StoredBytes))
	}
	if a.events.Prune != nil {
		a.events.Prune(PruneInfo{Pruned: p, Duration: time.Since(began), Err: err})
	}
}

// indexBuildBegins begins the building of an index; the function that it returns ends it.
func (a *Archive) indexBuildBegins(k *keyIndex) (end func(error)) {
	st := a.state.Load()
	t := &st.tables[st.number[k.Table]]
	began, i := time.Now(), IndexBuildInfo{Index: k.Name, Table: k.Table, Rows: t.end() - t.firstRow}
	if a.events.IndexBuildBegin != nil {
		a.events.IndexBuildBegin(i)
	}
	return func(err error) {
		if i.Duration, i.Err = time.Since(began), err; err == nil {
			a.counts.indexBuilds.Add(1)
			a.counts.indexBuildNS.Add(uint64(i.Duration))
		}
		if a.events.IndexBuildEnd != nil {
			a.events.IndexBuildEnd(i)
		}
	}
}

// indexDropped notes an index that answers nothing until it is built.
func (a *Archive) indexDropped(k *keyIndex, why error) {
	a.counts.indexesDropped.Add(1)
	if a.events.IndexDropped != nil {
		a.events.IndexDropped(IndexDroppedInfo{Index: k.Name, Table: k.Table, Err: why})
	}
}

// fileRemoved notes a file that was removed, or not.
func (a *Archive) fileRemoved(file string, bytes int64, err error) {
	if err == nil {
		a.counts.removed.Add(1)
		a.counts.removedBytes.Add(uint64(bytes))
	}
	if a.events.FileRemoved != nil {
		a.events.FileRemoved(FileRemovedInfo{File: file, Bytes: bytes, Err: err})
	}
}

// saw notes an error of reading, if it is damage, and returns it.
func (a *Archive) saw(table string, err error) error {
	if err == nil {
		return nil
	}
	return a.sawError(table, err)
}

func (a *Archive) sawError(table string, err error) error {
	if !errors.Is(err, segment.ErrCorrupt) {
		return err
	}
	a.counts.corruptions.Add(1)
	if a.events.Corruption != nil {
		a.events.Corruption(CorruptionInfo{Table: table, Err: err})
	}
	return err
}

// backgroundError notes an error that no call returns.
func (a *Archive) backgroundError(w BackgroundWork, err error) {
	a.counts.backgroundErrors.Add(1)
	if a.events.BackgroundError != nil {
		a.events.BackgroundError(BackgroundErrorInfo{Work: w, Err: err})
	}
}
