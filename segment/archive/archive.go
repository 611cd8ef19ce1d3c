package archive

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/segstore/segstore/codec"
	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/segment/archive/journal"
)

// Options says how an archive is opened. The zero value means defaults.
type Options struct {
	// ReadOnly opens without the lock: it works beside a writer and on a read-only
	// mount, and writes nothing.
	ReadOnly bool

	// Logger is told what happens beside the calls' results. Default: nobody.
	Logger *slog.Logger

	// CacheBytes is how many bytes of decoded chunks are kept. Default 64 MiB,
	// negative: none.
	CacheBytes int64

	// OpenFiles is how many segment files stay open after use, about the ones used
	// last; those in use come on top. Default 128.
	OpenFiles int

	// Encodings are encodings beside those of package codec.
	Encodings []codec.Encoding

	// KeyFunctions are the functions that indexes may name: those of codec/ethereum and
	// codec/bitcoin, or others. A column alone needs none.
	KeyFunctions []codec.KeyFunction

	// Workers is how many goroutines decode one segment, or encode one, at a time.
	// Default GOMAXPROCS.
	Workers int

	// SealBytes is how many bytes of values the logs get before Seal is called in the
	// background. Default 1 GiB, negative: never.
	SealBytes int64

	// CompressLog lets the logs be compressed until they are sealed: with s2, and where
	// a table's newest segment has dictionaries with zstd's fastest and those. They take a
	// third to a half of the bytes then, and a commit takes longer: of an average block
	// of Ethereum half as long again. For slow or small disks. Default: as they are.
	CompressLog bool

	// KeepCommits is how many of the last commits a seal in the background leaves in the
	// logs: a reorganisation of a chain's end is a record there then, and no segment is
	// written anew. It waits for as many, or for SealBytes more. Default 128, negative:
	// none.
	KeepCommits int

	// SegmentBytes is how many bytes of values a sealed segment gets before the next
	// one begins. Default 512 MiB.
	SegmentBytes int64

	// EventListener is told what the archive does. Default: nobody.
	EventListener *EventListener
}

const (
	defaultCacheBytes  = 64 << 20
	defaultOpenFiles   = 128
	defaultSealBytes   = 1 << 30
	defaultKeepCommits = 128
	maxOpenFiles       = 1 << 20
	maxWorkers         = 1024
)

func (o Options) withDefaults() Options {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.CacheBytes = cmp.Or(o.CacheBytes, defaultCacheBytes)
	o.OpenFiles = cmp.Or(o.OpenFiles, defaultOpenFiles)
	o.Workers = cmp.Or(o.Workers, runtime.GOMAXPROCS(0))
	o.SealBytes = cmp.Or(o.SealBytes, defaultSealBytes)
	o.KeepCommits = cmp.Or(o.KeepCommits, defaultKeepCommits)
	o.SegmentBytes = cmp.Or(o.SegmentBytes, defaultSegmentBytes)
	return o
}

func (o Options) validate() error {
	if o.OpenFiles < 1 || o.OpenFiles > maxOpenFiles {
		return fmt.Errorf("archive: OpenFiles %d not in 1..%d", o.OpenFiles, maxOpenFiles)
	}
	if o.Workers < 1 || o.Workers > maxWorkers {
		return fmt.Errorf("archive: Workers %d not in 1..%d", o.Workers, maxWorkers)
	}
	if o.SegmentBytes < 1 || o.SegmentBytes > maxSegmentTarget {
		return fmt.Errorf("archive: SegmentBytes %d not in 1..%d", o.SegmentBytes, int64(maxSegmentTarget))
	}
	return nil
}

// Archive is an open archive. Any number of goroutines may use it; changes wait
// for each other.
type Archive struct {
	fs    vfs.FS
	dir   string
	o     Options
	log   *slog.Logger
	cache *segment.Cache
	files *files
	lock  io.Closer // nil if read-only

	state  atomic.Pointer[state]
	closed atomic.Bool
	drafts atomic.Uint64 // for names of temporary files
	share  int64         // manifestShare; tests have others

	change  sync.Mutex // held by whoever replaces the manifest; not for long
	refresh sync.Mutex // held by Refresh
	failed  failure    // a change of which nobody knows whether it is durable

	// commits is held by whoever replaces the state; taken after change. It guards the
	// logs.
	commits sync.Mutex
	writer  *journal.Writer // nil until there is something to write
	current *logFile        // that writer writes
	logs    []*logFile      // that states need, in the order of their numbers
	encoder batchEncoder
	nextLog uint64 // number of the next one
	logEnd  int64  // up to where the one before it counts
	tail    *Tail

	building bool // an index is made of the rows that are there; guarded by commits
	uncopied int  // rows committed since a copy of the indexes was begun; guarded by commits

	views   views
	indexes atomic.Pointer[indexes]
	ixMu    sync.Mutex  // held by whoever replaces indexes; a leaf
	indexed atomic.Bool // the store has changed since it was last copied
	copies  sync.Mutex  // held by whoever makes a copy
	scratch sync.Map    // of *scratches, by table

	ctx     context.Context // ended by Close
	cancel  context.CancelFunc
	jobs    sync.WaitGroup // long ones, that Close waits for; added to under change
	turns   chan struct{}  // taken by a job that replaces segments
	sealing chan struct{}  // taken by a job that makes segments of logs
	copying chan struct{}  // taken by a job that copies the indexes between seals

	cut       sealCut      // guarded by commits
	sealAfter atomic.Int64 // Unix time in ns before which none is begun by itself
	sealFails atomic.Int64
	sealError atomic.Pointer[string] // of the last one by itself, if it failed

	events EventListener
	counts counts
}

// Open opens the archive in dir. It reads the manifest and no segment: those are
// opened when they are asked for, and held against the manifest then.
//
// A writer takes the lock first, which fails with ErrLocked while another process
// or Archive has it, and then removes what an interrupted writer has left; it
// logs what. ErrNotArchive where dir has no manifest: nothing is ever created.
func Open(fs vfs.FS, dir string, o Options) (_ *Archive, err error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	given := dir
	if dir, err = resolve(fs, dir); err != nil {
		return nil, notArchive(given, err)
	}
	a := newArchive(fs, dir, o)
	if !o.ReadOnly {
		if _, err := fs.Stat(fs.PathJoin(dir, ManifestName)); missing(err) { // taking the lock would make a file
			return nil, notArchive(fs.PathJoin(dir, ManifestName), err)
		} else if err != nil {
			return nil, ioError("finding", fs.PathJoin(dir, ManifestName), err)
		}
		if a.lock, err = lockDir(fs, dir); err != nil {
			return nil, err
		}
		defer func() {
			if err != nil {
				_ = a.lock.Close() // the error that led here is the one to report
			}
		}()
	}
	st, ls, err := a.load()
	if err != nil {
		return nil, a.saw("", err)
	}
	a.logs, a.nextLog, a.logEnd, a.tail = ls.files, ls.next, ls.end, ls.tail
	a.countLogs()
	if !o.ReadOnly {
		if err := a.takeOver(st, ls); err != nil {
			ls.close()
			return nil, err
		}
	}
	a.state.Store(st) // indexes read rows
	a.state.Store(a.openIndexes(st))
	return a, nil
}

// newArchive returns an archive of which nothing was read. Its directory is resolved,
// its options are whole.
func newArchive(fs vfs.FS, dir string, o Options) *Archive {
	a := &Archive{fs: fs, dir: dir, o: o, log: o.Logger, share: manifestShare, encoder: batchEncoder{workers: o.Workers}}
	if o.EventListener != nil {
		a.events = *o.EventListener
	}
	a.ctx, a.cancel = context.WithCancel(context.Background())
	a.turns, a.sealing, a.copying = make(chan struct{}, 1), make(chan struct{}, 1), make(chan struct{}, 1)
	a.cache = segment.NewCache(o.CacheBytes)
	a.files = newFiles(fs, a.path, o.OpenFiles, segment.ReaderOptions{Encodings: o.Encodings, Cache: a.cache, Concurrency: o.Workers})
	a.files.removed, a.files.failed = a.fileRemoved, func(err error) { a.backgroundError(WorkFiles, err) }
	a.views.open, a.views.dispose = map[uint64]int{}, a.dispose
	a.indexes.Store(&indexes{})
	return a
}

// load reads manifest and logs. Under a read-only archive a writer may replace the one
// and remove the others at any moment: unless the manifest is the same afterwards, what
// was read is of no one moment, and both are read again.
func (a *Archive) load() (*state, *logs, error) {
	for range maxLoads {
		b, err := manifestBytes(a.fs, a.dir)
		if err != nil {
			return nil, nil, err
		}
		m, err := parseManifest(a.fs, a.dir, b)
		if err != nil {
			return nil, nil, err
		}
		st, ls, err := a.replay(newState(m, int64(len(b)), nil))
		if !a.o.ReadOnly {
			return st, ls, err
		}
		again, rerr := manifestBytes(a.fs, a.dir)
		if rerr == nil && bytes.Equal(again, b) {
			return st, ls, err
		}
		if err == nil {
			ls.close()
		}
		if rerr != nil {
			return nil, nil, rerr
		}
	}
	return nil, nil, fmt.Errorf("%w: %s: a writer changed it %d times while it was read", ErrStale, a.dir, maxLoads)
}

const maxLoads = 100 // a change between each two is no accident

// takeOver is what a writer does with what it finds: what an interrupted one left is
// removed, and all that is in the log durable, before anything follows it.
func (a *Archive) takeOver(st *state, ls *logs) error {
	if err := syncDir(a.fs, a.dir); err != nil { // the manifest that says what may go must be there after a crash
		return err
	}
	if err := a.removeLeftovers(st); err != nil {
		return err
	}
	for _, name := range append(ls.old, ls.torn...) {
		if err := a.removeLeftover(leftover{name, a.path(name), true}); err != nil {
			return err
		}
	}
	if ls.tail != nil {
		a.log.Warn("the log ends with bytes that were never made durable: left alone", "dir", a.dir, "file", ls.tail.File, "offset", ls.tail.Offset, "length", ls.tail.Length)
	}
	if len(ls.files) == 0 {
		return nil
	}
	path := ls.files[len(ls.files)-1].path
	f, err := a.fs.OpenReadWrite(path, writes)
	if err != nil {
		return ioError("opening", path, err)
	}
	return errors.Join(ioError("syncing", path, f.Sync()), ioError("closing", path, f.Close()), syncDir(a.fs, a.dir))
}

// Close ends what runs, makes durable what was committed, closes the archive and gives the
// lock back. A seal that is at work is given up, as if the process had ended: its rows stay
// in the log. Readers of segments that are still in use may be used until they are
// released; nothing else may. It returns the first error that closing or removing a file
// has met since Open.
func (a *Archive) Close() error {
	a.change.Lock()
	if a.closed.Swap(true) {
		a.change.Unlock()
		return ErrClosed
	}
	a.change.Unlock()
	a.cancel()
	a.jobs.Wait()
	a.refresh.Lock() // one that is at work puts the logs that it has opened where they are closed
	err := errors.Join(a.noteLogs(), a.closeLogs())
	a.refresh.Unlock()
	if ix := a.indexes.Load(); ix.store != nil {
		a.leaveIndex()
		if cerr := ix.store.Close(); cerr != nil {
			a.log.Warn("closing the index", "dir", a.dir, "error", cerr)
		}
	}
	a.views.abandon() // the lock is about to go: a later removal could hit another writer's file
	err = errors.Join(err, a.files.close())
	if a.lock != nil {
		err = errors.Join(err, ioError("unlocking", a.dir, a.lock.Close()))
	}
	return err
}

// Dir returns the directory: its absolute path, where it is on the disk.
func (a *Archive) Dir() string { return a.dir }

// path returns the path of a file in the archive, whose name has slashes.
func (a *Archive) path(file string) string {
	return a.fs.PathJoin(append([]string{a.dir}, strings.Split(file, "/")...)...)
}

// Path returns the path of a segment's file.
func (a *Archive) Path(s SegmentInfo) string { return a.path(s.File) }

// Info returns what the archive is, by its manifest and logs.
func (a *Archive) Info() Info {
	i := a.state.Load().info()
	a.commits.Lock()
	i.LogTail = a.tail
	a.commits.Unlock()
	return i
}

// Tables returns the tables in the order of creation.
func (a *Archive) Tables() []TableInfo { return a.state.Load().info().Tables }

// Segments returns the segments of the named tables, or of all where none is
// named, in the order of the manifest. ErrNoTable.
func (a *Archive) Segments(tables ...string) ([]SegmentInfo, error) {
	picked, err := a.state.Load().pick(tables)
	if err != nil {
		return nil, err
	}
	var all []SegmentInfo
	for _, t := range picked {
		all = append(all, t.tableEntry.segments...)
	}
	return all, nil
}

// pick returns the named tables, or all, in the order of creation.
func (st *state) pick(names []string) ([]*tableState, error) {
	wanted := make(map[string]bool, len(names))
	for _, n := range names {
		if _, ok := st.number[n]; !ok {
			return nil, st.noTable(n)
		}
		wanted[n] = true
	}
	var picked []*tableState
	for i := range st.tables {
		if len(names) == 0 || wanted[st.tables[i].name] {
			picked = append(picked, &st.tables[i])
		}
	}
	return picked, nil
}

func (st *state) noTable(name string) error {
	names := make([]string, len(st.tables))
	for i := range st.tables {
		names[i] = st.tables[i].name
	}
	return fmt.Errorf("%w: %q, there are %q", ErrNoTable, name, names)
}

// OpenSegment returns a reader of segment i of a table, numbered from 0 as
// Segments has them. It may be used until release is called, which must happen
// once; a file that is replaced meanwhile stays until then.
func (a *Archive) OpenSegment(table string, i int) (r *segment.Reader, release func(), err error) {
	st := a.state.Load()
	k, ok := st.number[table]
	if !ok {
		return nil, nil, st.noTable(table)
	}
	if i < 0 || i >= len(st.tables[k].segments) {
		return nil, nil, fmt.Errorf("%w: segment %d of table %q, there are %d", segment.ErrRange, i, table, len(st.tables[k].segments))
	}
	h, err := a.acquire(table, st.tables[k].segments[i].FirstRow)
	if err != nil {
		return nil, nil, a.saw(table, err)
	}
	return h.r, sync.OnceFunc(func() { a.files.release(h) }), nil
}
