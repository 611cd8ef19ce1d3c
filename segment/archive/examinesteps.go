package archive

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/segstore/segstore/index"
)

// space says how much room the disk has, and whether the next job that writes segments
// has enough.
func (e *examiner) space() {
	u, err := e.fs.GetDiskUsage(e.r.Dir)
	if errors.Is(err, vfs.ErrUnsupported) {
		return
	}
	if err != nil {
		e.failed("", ioError("asking for the free space of", e.r.Dir, err))
		return
	}
	e.r.Available = &u.AvailBytes
	need, what := e.st.logRaw, "sealing the rows in logs"
	for i := range e.st.tables {
		for _, s := range e.st.tables[i].tableEntry.segments {
			if n := uint64(s.StoredBytes) + uint64(s.StoredBytes)/4; n > need {
				need, what = n, "recompressing the largest segment"
			}
		}
	}
	if need += spare; u.AvailBytes < need {
		e.found(Finding{
			Severity: SeverityAdvice, Kind: FoundLowSpace, Remedy: RemedyFreeSpace,
			What: fmt.Sprintf("%d bytes are free on the disk; %s may need up to %d", u.AvailBytes, what, need),
		})
	}
}

// tail says what a crash left at the end of the newest log.
func (e *examiner) tail() {
	if e.ls == nil {
		return
	}
	if t := e.ls.tail; t != nil && e.r.Lock != LockHeld { // a writer may be in the middle of a record
		e.found(Finding{
			Severity: SeverityNote, Kind: FoundLogTail, File: t.File, Offset: t.Offset, Length: t.Length, Remedy: RemedySeal,
			What: fmt.Sprintf("%s ends with %d bytes from %d on that are no whole record: cut off by a crash before anybody was told that they are there, or damaged; they are not read, and go with the log", t.File, t.Length, t.Offset),
		})
	}
	for _, name := range slices.Concat(e.ls.old, e.ls.torn) {
		e.leftover(leftover{name, e.a.path(name), true})
	}
}

// unsealed says how many rows are in logs.
func (e *examiner) unsealed() {
	if e.ls == nil {
		return
	}
	logs, err := e.a.Logs()
	if err != nil {
		e.failed("", err)
		return
	}
	e.r.Logs = logs
	for _, l := range logs {
		rows, raw := uint64(0), uint64(0)
		for _, t := range l.Tables {
			rows += t.Rows
			raw += t.RawBytes
		}
		e.found(Finding{
			Severity: SeverityNote, Kind: FoundUnsealed, File: l.File, Length: l.StoredBytes, Rows: rows, Remedy: RemedySeal,
			What: fmt.Sprintf("%s, of %d bytes, has %d rows (%d bytes of values) that are in no segment yet: sealing makes them smaller and faster to open", l.File, l.StoredBytes, rows, raw),
		})
	}
}

// segments verifies what is sealed, and the rows in logs.
func (e *examiner) segments() {
	for f, err := range e.a.Verify(e.ctx, VerifyOptions{Depth: e.o.Depth, Progress: e.o.Progress}) {
		var se *SegmentError
		switch {
		case e.ctx.Err() != nil:
			return
		case errors.As(err, &se):
			e.failed(se.Segment.File, err)
		case err != nil:
			e.failed("", err)
		default:
			e.found(flawFinding(f))
		}
	}
}

// leftovers says what an interrupted writer left. With a writer at work these are files
// of its own.
func (e *examiner) leftovers() {
	found, err := e.a.leftovers(e.st)
	if err != nil {
		e.failed("", err)
		return
	}
	for _, l := range found {
		switch {
		case l.known:
			e.leftover(l)
		case e.ls != nil && e.r.Lock != LockHeld: // of damaged logs nobody knows where tables end
			e.found(Finding{
				Severity: SeverityAdvice, Kind: FoundStranger, File: l.file, Remedy: RemedyLookInto,
				What: l.file + " is a segment with rows that no table has: of another copy of this archive, or of a manifest that was put back from an older one",
			})
		}
	}
}

func (e *examiner) leftover(l leftover) {
	if e.r.Lock == LockHeld {
		return
	}
	f := Finding{Severity: SeverityAdvice, Kind: FoundLeftover, File: l.file, Remedy: RemedySeal}
	if info, err := e.fs.Stat(l.path); err == nil {
		f.Length = info.Size()
	}
	f.What = fmt.Sprintf("%s, of %d bytes, was left by a writer that was interrupted, and nothing needs it: the next writer removes it", l.file, f.Length)
	if e.r.Lock == LockUnknown {
		f.What += "; or a writer is just at work"
	}
	e.found(f)
}

// indexes says which indexes do not answer, as a reader finds them.
func (e *examiner) indexes() {
	if e.ls == nil { // nobody knows which rows there are
		return
	}
	e.st = e.a.openIndexes(e.st)
	e.a.state.Store(e.st)
	ix := e.a.indexes.Load()
	for _, name := range slices.Sorted(maps.Keys(ix.byName)) {
		k := ix.byName[name]
		f := Finding{Severity: SeverityAdvice, Kind: FoundIndex, Table: k.Table, Index: name, File: indexDir, Remedy: RemedyBuildIndex}
		if k.err != nil {
			f.What, f.Remedy = fmt.Sprintf("index %q: %v", name, k.err), RemedyUpdate
			e.found(f)
			continue
		}
		_, status, reason := e.a.indexStatus(e.st, ix, k)
		switch {
		case status == IndexWhole:
			continue
		case status == IndexUnread:
			e.failed(indexDir, fmt.Errorf("index %q cannot be held against its rows: %w", name, reason))
			continue
		case errors.Is(reason, index.ErrVersion):
			f.Remedy = RemedyUpdate
		}
		f.What = fmt.Sprintf("index %q is %s: %v; rows are not found by its keys, or only by reading them", name, status, reason)
		e.found(f)
	}
}

// tables says which rows are not there any more.
func (e *examiner) tables() {
	for i := range e.st.tables {
		t := &e.st.tables[i]
		if t.firstRow > 0 {
			e.found(Finding{
				Severity: SeverityNote, Kind: FoundPruned, Table: t.name, Rows: t.firstRow,
				What: fmt.Sprintf("table %q begins with row %d: it was made so, or rows before it were pruned", t.name, t.firstRow),
			})
		}
		if t.rewinds > 0 {
			e.found(Finding{
				Severity: SeverityNote, Kind: FoundRewound, Table: t.name,
				What: fmt.Sprintf("table %q was rewound, %d times so far: rows from there on are others than before", t.name, t.rewinds),
			})
		}
	}
}
