package archive

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"log/slog"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/segstore/segstore/codec"
	"github.com/segstore/segstore/segment"
)

// Severity says what a finding means for the rows.
type Severity string

// The severities, the least first.
const (
	SeverityNote   Severity = "note"   // how it is; nothing is wrong
	SeverityAdvice Severity = "advice" // all rows can be read; something should be done
	SeverityUnread Severity = "unread" // could not be looked at, which is no damage
	SeverityDamage Severity = "damage" // rows, or the archive as a whole, cannot be read as they should be
)

// Remedy says what mends a finding.
type Remedy string

// The remedies.
const (
	RemedyNone       Remedy = ""            // nothing is to be done
	RemedySeal       Remedy = "seal"        // Open as the writer, and Seal
	RemedyBuildIndex Remedy = "build_index" // BuildIndex of each index
	RemedyRecover    Remedy = "recover"     // segment.Recover saves the rows that can be read; only a copy brings back the others
	RemedyRestore    Remedy = "restore"     // put the file back from a copy
	RemedyUpdate     Remedy = "update"      // a newer version of the program reads it
	RemedyFreeSpace  Remedy = "free_space"  // on the disk
	RemedyLookInto   Remedy = "look_into"   // a person must decide what the file is
)

// FindingKind says what was found.
type FindingKind string

// What can be found.
const (
	FoundNoArchive  FindingKind = "no_archive"  // nothing of an archive is in the directory
	FoundNoManifest FindingKind = "no_manifest" // parts of an archive, and no manifest
	FoundManifest   FindingKind = "manifest"    // it is damaged
	FoundVersion    FindingKind = "version"     // manifest, log, segment or index of a newer format
	FoundLog        FindingKind = "log"         // a log is damaged or missing: the archive does not open
	FoundLogTail    FindingKind = "log_tail"    // bytes at the end of the newest log, left by a crash
	FoundUnsealed   FindingKind = "unsealed"    // rows are in logs
	FoundSegment    FindingKind = "segment"     // a segment or rows of a log are damaged or missing
	FoundLeftover   FindingKind = "leftover"    // a file of an interrupted writer
	FoundStranger   FindingKind = "stranger"    // a segment with rows that no table has
	FoundIndex      FindingKind = "index"       // an index is stale, missing or damaged
	FoundWriter     FindingKind = "writer"      // a writer has the lock
	FoundPruned     FindingKind = "pruned"      // a table does not begin with row 0
	FoundRewound    FindingKind = "rewound"     // a table was rewound
	FoundLowSpace   FindingKind = "low_space"   // the disk has no room for the next seal or recompression
	FoundIOError    FindingKind = "io_error"    // something could not be read now
)

// Finding is one thing that there is to say of an archive's directory.
type Finding struct {
	Severity Severity    `json:"severity"`
	Kind     FindingKind `json:"kind"`
	What     string      `json:"what"` // one sentence
	Table    string      `json:"table,omitempty"`
	Index    string      `json:"index,omitempty"`
	File     string      `json:"file,omitempty"` // path from the archive's directory, with slashes
	Offset   int64       `json:"offset"`         // of what is damaged in the file
	Length   int64       `json:"length"`         // 0 where nobody knows, or no part is meant
	Rows     uint64      `json:"rows,omitempty"` // that it concerns
	Remedy   Remedy      `json:"remedy,omitempty"`
}

// Examination is what Examine found.
type Examination struct {
	Dir       string    `json:"dir"`
	Opens     bool      `json:"opens"`                     // Open would open it for reading
	Lock      LockState `json:"lock"`                      // whether a writer is at work
	Available *uint64   `json:"available_bytes,omitempty"` // on the disk, where that can be told
	Info      *Info     `json:"info,omitempty"`            // as far as the manifest can be read; without logs where they are damaged
	Logs      []LogInfo `json:"logs,omitempty"`
	Findings  []Finding `json:"findings"`                // at most MaxFindings
	More      uint64    `json:"more_findings,omitempty"` // beside them, that are only counted
}

// MaxFindings is how many findings an examination lists: damage can be everywhere.
const MaxFindings = 1000

// Worst returns the highest severity found.
func (e *Examination) Worst() Severity {
	order := []Severity{SeverityNote, SeverityAdvice, SeverityUnread, SeverityDamage}
	at := 0
	for _, f := range e.Findings {
		for i := range order {
			if order[i] == f.Severity {
				at = max(at, i)
			}
		}
	}
	return order[at]
}

// ExamineOptions says how an archive is examined. The zero value means defaults.
type ExamineOptions struct {
	// Depth is how deep segments and the rows of logs are verified. Default
	// segment.Checksums, which reads every byte; Structure reads no rows.
	Depth segment.Depth

	Encodings    []codec.Encoding    // as in Options
	KeyFunctions []codec.KeyFunction // as in Options
	Logger       *slog.Logger        // default: nobody
	Progress     func(Progress)      // of verifying
}

// Examine says what state the directory of an archive is in and what mends it, also
// where Open fails. It writes nothing and takes no lock. What is wrong with the
// directory is a finding, also what cannot be read; the error is of ctx.
//
// A writer may be at work: what it changes meanwhile can show as a finding.
func Examine(ctx context.Context, fs vfs.FS, dir string, o ExamineOptions) (*Examination, error) {
	e := &examiner{ctx: ctx, fs: fs, o: o, r: &Examination{Dir: dir, Lock: LockUnknown, Findings: []Finding{}}}
	if at, err := resolve(fs, dir); err == nil {
		e.r.Dir = at
	}
	err := e.run()
	return e.r, err
}

type examiner struct {
	ctx context.Context
	fs  vfs.FS
	o   ExamineOptions
	r   *Examination
	a   *Archive
	st  *state
	ls  *logs // nil where they cannot be read
}

func (e *examiner) found(f Finding) {
	if len(e.r.Findings) == MaxFindings {
		if e.r.More++; f.Severity == SeverityDamage { // the worst must be listed
			e.r.Findings[MaxFindings-1] = f
		}
		return
	}
	e.r.Findings = append(e.r.Findings, f)
}

// failed adds what could not be looked at, and why.
func (e *examiner) failed(file string, err error) {
	f := Finding{Severity: SeverityUnread, Kind: FoundIOError, What: err.Error(), File: file}
	if errors.Is(err, ErrVersion) {
		f.Kind, f.Remedy = FoundVersion, RemedyUpdate
	}
	e.found(f)
}

func (e *examiner) run() (err error) {
	names, ok := e.list()
	if !ok {
		return nil
	}
	e.r.Lock = lockState(e.fs, e.fs.PathJoin(e.r.Dir, LockName))
	if e.r.Lock == LockHeld {
		e.found(Finding{Severity: SeverityNote, Kind: FoundWriter, What: "a writer is at work: other writers are refused until it ends, readers are not", File: LockName})
	}
	o := Options{ReadOnly: true, Encodings: e.o.Encodings, KeyFunctions: e.o.KeyFunctions, Logger: e.o.Logger}.withDefaults()
	e.a = newArchive(e.fs, e.r.Dir, o)
	defer func() { err = errors.Join(err, e.a.Close()) }()
	if !e.load(names) {
		return nil
	}
	e.space()
	for _, step := range []func(){e.tail, e.unsealed, e.segments, e.leftovers, e.indexes, e.tables} {
		if step(); e.ctx.Err() != nil {
			return context.Cause(e.ctx)
		}
	}
	return nil
}

// list lists the directory, if it is one.
func (e *examiner) list() (names []string, ok bool) {
	info, err := e.fs.Stat(e.r.Dir)
	switch {
	case missing(err):
		e.found(Finding{Severity: SeverityDamage, Kind: FoundNoArchive, What: "there is no such directory"})
		return nil, false
	case err != nil:
		e.failed("", ioError("finding", e.r.Dir, err))
		return nil, false
	case !info.IsDir():
		e.found(Finding{Severity: SeverityDamage, Kind: FoundNoArchive, What: "this is " + kindOf(info.Mode()) + ", no directory"})
		return nil, false
	}
	if names, err = e.fs.List(e.r.Dir); err != nil {
		e.failed("", ioError("listing", e.r.Dir, err))
		return nil, false
	}
	return names, true
}

// load reads manifest and logs. Without logs, what the manifest says is still there to
// be looked at.
func (e *examiner) load(names []string) bool {
	st, ls, err := e.a.load()
	var le *LogError
	switch {
	case err == nil:
		e.st, e.ls, e.r.Opens = st, ls, true
		e.a.logs, e.a.tail = ls.files, ls.tail
	case errors.Is(err, ErrNotArchive):
		e.noManifest(names)
		return false
	case errors.Is(err, ErrManifest):
		e.found(Finding{Severity: SeverityDamage, Kind: FoundManifest, What: err.Error(), File: ManifestName, Remedy: RemedyRestore})
		e.lone(names)
		return false
	case errors.As(err, &le):
		e.found(Finding{Severity: SeverityDamage, Kind: FoundLog, What: le.Error(), File: le.File, Offset: le.Offset, Length: le.Length, Remedy: RemedyRestore})
	default:
		e.failed("", err)
	}
	if e.st == nil { // what is sealed can be looked at
		m, size, err := readManifest(e.fs, e.r.Dir)
		if err != nil {
			return false // a newer version, or what was said just now
		}
		e.st = newState(m, size, nil)
	}
	e.a.state.Store(e.st)
	i := e.a.Info()
	e.r.Info = &i
	return true
}

// noManifest tells a directory that never was an archive from what is left of one.
func (e *examiner) noManifest(names []string) {
	if e.lone(names) {
		e.found(Finding{Severity: SeverityDamage, Kind: FoundNoManifest, What: "the manifest is missing, and files of an archive are there: half a copy, or it was removed", File: ManifestName, Remedy: RemedyRestore})
		return
	}
	what := "nothing of an archive is in this directory"
	if _, err := e.fs.Stat(e.fs.PathJoin(e.fs.PathDir(e.r.Dir), ManifestName)); err == nil {
		what = "this is a directory of an archive: name the one above it"
	}
	for _, name := range names {
		if _, err := e.fs.Stat(e.fs.PathJoin(e.r.Dir, name, ManifestName)); err == nil {
			what = fmt.Sprintf("nothing of an archive is in this directory; there is one in %q", name)
			break
		}
	}
	e.found(Finding{Severity: SeverityDamage, Kind: FoundNoArchive, What: what})
}

// lone says which files of an archive are there that can be read without its manifest;
// false where there are none.
func (e *examiner) lone(names []string) bool {
	logs, segments := 0, 0
	for _, name := range names {
		if _, ok := logNumber(name); ok {
			logs++
			continue
		}
		dir := e.fs.PathJoin(e.r.Dir, name)
		if st, err := e.fs.Stat(dir); err != nil || !st.IsDir() { // a pipe would be waited for
			continue
		}
		inside, err := e.fs.List(dir)
		if err != nil { // not ours
			continue
		}
		for _, file := range inside {
			if m := segmentName.FindStringSubmatch(file); m != nil && m[3] == "" {
				segments++
			}
		}
	}
	if segments == 0 && logs == 0 {
		return false
	}
	e.found(Finding{Severity: SeverityNote, Kind: FoundUnsealed, What: fmt.Sprintf("%d segment files are there, each of which can be read by itself, and %d logs, which cannot", segments, logs)})
	return true
}

// flawFinding turns damage into a finding.
func flawFinding(f segment.Flaw) Finding {
	x := Finding{Severity: SeverityDamage, Kind: FoundSegment, What: f.Error(), File: f.File, Offset: f.Offset, Length: f.Length, Rows: f.Rows, Remedy: RemedyRecover}
	if _, inLog := logNumber(f.File); inLog || errors.Is(f.Err, iofs.ErrNotExist) || errors.Is(f.Err, ErrNotFile) {
		x.Remedy = RemedyRestore
	}
	return x
}
