package archive

import (
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

	// Workers is how many goroutines decode one segment at a time. Default GOMAXPROCS.
	Workers int
}

const (
	defaultCacheBytes = 64 << 20
	defaultOpenFiles  = 128
	maxOpenFiles      = 1 << 20
	maxWorkers        = 1024
)

func (o Options) withDefaults() Options {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.CacheBytes = cmp.Or(o.CacheBytes, defaultCacheBytes)
	o.OpenFiles = cmp.Or(o.OpenFiles, defaultOpenFiles)
	o.Workers = cmp.Or(o.Workers, runtime.GOMAXPROCS(0))
	return o
}

func (o Options) validate() error {
	if o.OpenFiles < 1 || o.OpenFiles > maxOpenFiles {
		return fmt.Errorf("archive: OpenFiles %d not in 1..%d", o.OpenFiles, maxOpenFiles)
	}
	if o.Workers < 1 || o.Workers > maxWorkers {
		return fmt.Errorf("archive: Workers %d not in 1..%d", o.Workers, maxWorkers)
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

	change sync.Mutex // held by whoever replaces manifest or state; not for long
	broken error      // a change of which nobody knows whether it is durable; guarded by change

	ctx    context.Context // ended by Close
	cancel context.CancelFunc
	jobs   sync.WaitGroup // long ones, that Close waits for; added to under change
	turns  chan struct{}  // taken by a job that replaces segments
}

// state is a manifest and the files that it names. It is never changed.
type state struct {
	m      *manifest
	size   int64 // bytes of the manifest's file
	tables []tableState
	number map[string]int // of a table
}

type tableState struct {
	*tableEntry
	handles []*handle // of the segments
}

// newState returns the state for a manifest; handles of files that old has are
// taken over.
func newState(m *manifest, size int64, old *state) *state {
	st := &state{m: m, size: size, tables: make([]tableState, len(m.tables)), number: make(map[string]int, len(m.tables))}
	for i := range m.tables {
		t := &m.tables[i]
		ts := tableState{tableEntry: t, handles: make([]*handle, len(t.segments))}
		var before *tableState
		if old != nil {
			if k, ok := old.number[t.name]; ok {
				before = &old.tables[k]
			}
		}
		for k := range t.segments {
			if before != nil {
				if at := before.find(t.segments[k].FirstRow); at >= 0 && before.segments[at].File == t.segments[k].File {
					ts.handles[k] = before.handles[at]
					continue
				}
			}
			ts.handles[k] = &handle{info: t.segments[k]}
		}
		st.tables[i] = ts
		st.number[t.name] = i
	}
	return st
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
	a := &Archive{fs: fs, dir: dir, o: o, log: o.Logger, share: manifestShare}
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
	m, size, err := readManifest(fs, dir)
	if err != nil {
		return nil, err
	}
	if !o.ReadOnly {
		if err := a.removeLeftovers(m); err != nil {
			return nil, err
		}
	}
	a.ctx, a.cancel = context.WithCancel(context.Background())
	a.turns = make(chan struct{}, 1)
	a.cache = segment.NewCache(o.CacheBytes)
	a.files = newFiles(fs, a.path, o.OpenFiles, segment.ReaderOptions{Encodings: o.Encodings, Cache: a.cache, Concurrency: o.Workers})
	a.state.Store(newState(m, size, nil))
	return a, nil
}

// Close ends what runs, closes the archive and gives the lock back. Readers of segments that are
// still in use may be used until they are released; nothing else may. It returns
// the first error that closing or removing a file has met since Open.
func (a *Archive) Close() error {
	a.change.Lock()
	if a.closed.Swap(true) {
		a.change.Unlock()
		return ErrClosed
	}
	a.change.Unlock()
	a.cancel()
	a.jobs.Wait()
	err := a.files.close()
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

// Info returns what the archive is, by its manifest.
func (a *Archive) Info() Info {
	st := a.state.Load()
	i := st.m.info()
	i.ManifestBytes = st.size
	return i
}

// Tables returns the tables in the order of creation.
func (a *Archive) Tables() []TableInfo { return a.state.Load().m.info().Tables }

// Segments returns the segments of the named tables, or of all where none is
// named, in the order of the manifest. ErrNoTable.
func (a *Archive) Segments(tables ...string) ([]SegmentInfo, error) {
	picked, err := a.state.Load().pick(tables)
	if err != nil {
		return nil, err
	}
	var all []SegmentInfo
	for _, t := range picked {
		all = append(all, t.segments...)
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

// Counters are what the cache and the open files are at.
type Counters struct {
	Cache     segment.CacheStats `json:"cache"`
	OpenFiles int                `json:"open_files"`
	Opened    uint64             `json:"opened"` // files opened so far
}

// Counters returns the counters.
func (a *Archive) Counters() Counters {
	c := Counters{Cache: a.cache.Stats()}
	a.files.mu.Lock()
	defer a.files.mu.Unlock()
	c.OpenFiles, c.Opened = a.files.open, a.files.opened
	return c
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
		return nil, nil, err
	}
	return h.r, sync.OnceFunc(func() { a.files.release(h) }), nil
}
