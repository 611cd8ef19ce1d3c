package archive

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/segstore/segstore/codec"
	"github.com/segstore/segstore/codec/wire"
	"github.com/segstore/segstore/dict"
	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/segment/archive/journal"
)

// logName returns the name of a log's file.
func logName(number uint64) string { return fmt.Sprintf("log-%06d", number) }

// logNumber returns the number of the log that a file is, and whether it is one.
func logNumber(name string) (uint64, bool) {
	digits, ok := strings.CutPrefix(name, "log-")
	n, err := strconv.ParseUint(digits, 10, 64)
	return n, ok && err == nil && n > 0 && name == logName(n)
}

// logFile is a log whose frames are read. Users count: the last one closes the file,
// and removes it if it is not needed any more.
type logFile struct {
	number uint64
	path   string
	f      vfs.File
	size   int64                      // bytes of the file; of the one that is written, as countLogs has seen it
	frames map[string]*segment.Frames // by table

	refs    atomic.Int64 // of users, and one of the archive's own while it is not retired
	fs      vfs.FS
	gone    atomic.Bool // not needed any more: the last user removes it
	removed func(file string, bytes int64, err error)
}

// acquire begins a use, unless the last one has ended.
func (l *logFile) acquire() bool {
	for n := l.refs.Load(); n > 0; n = l.refs.Load() {
		if l.refs.CompareAndSwap(n, n+1) {
			return true
		}
	}
	return false
}

// release ends a use.
func (l *logFile) release() error {
	if l.refs.Add(-1) > 0 {
		return nil
	}
	err := ioError("closing", l.path, l.f.Close())
	if l.gone.Load() {
		rerr := ioError("removing", l.path, l.fs.Remove(l.path))
		l.removed(logName(l.number), l.size, rerr)
		err = errors.Join(err, rerr)
	}
	return err
}

// framesID is what the frames of a table in a log are bound to.
func framesID(number uint64, table string) (id segment.ID) {
	b := wire.AppendUint64([]byte("segstore log"), number)
	sum := sha256.Sum256(wire.AppendString(b, table))
	copy(id[:], sum[:])
	return id
}

// The body of a log says, for each table: string name, uvarint row that comes next,
// bytes front records of its frames.
func appendLogBody(dst []byte, st *state, frames map[string]*segment.Frames) []byte {
	dst = wire.AppendUvarint(dst, uint64(len(st.tables)))
	for i := range st.tables {
		t := &st.tables[i]
		dst = wire.AppendString(dst, t.name)
		dst = wire.AppendUvarint(dst, t.end())
		dst = wire.AppendBytes(dst, frames[t.name].AppendFront(nil))
	}
	return dst
}

// logTable is what the body of a log says of a table.
type logTable struct {
	frames *segment.Frames
	next   uint64 // row
}

func decodeLogBody(h *journal.Head, o segment.FramesOptions) (map[string]logTable, error) {
	c := wire.NewCursor(h.Body)
	n := c.Count(maxTables, 3)
	tables := make(map[string]logTable, n)
	for range n {
		name, next, front := c.String(segment.MaxNameBytes), c.Uvarint(), c.Bytes(len(h.Body))
		if c.Err() != nil {
			break
		}
		f, err := segment.OpenFrames(framesID(h.Number, name), front, o)
		if err != nil {
			return nil, fmt.Errorf("table %.*q: %w", segment.MaxNameBytes, name, err)
		}
		if f.Table() != name {
			return nil, fmt.Errorf("frames of table %q under the name %q", f.Table(), name)
		}
		if _, ok := tables[name]; ok {
			return nil, fmt.Errorf("table %q twice", name)
		}
		tables[name] = logTable{f, next}
	}
	return tables, c.Close()
}

// logChunk is how many bytes of values a frame gets: what reading one row decodes.
const logChunk = 32 << 10

// logPolicy returns what the frames of a table are written under: as they are, or, to be
// compressed, fast and with the dictionaries that its newest segment has.
func logPolicy(compress bool, dictionaries map[string]*dict.Dict) (codec.Policy, error) {
	text := fmt.Sprintf("chunk %d\n", logChunk)
	if !compress {
		return codec.ParsePolicy(text + "* group=column codec=raw\n")
	}
	for _, name := range slices.Sorted(maps.Keys(dictionaries)) {
		most := max(len(dictionaries[name].Bytes()), codec.MinDictBytes) // a trained one can be shorter than what a policy may ask for
		text += fmt.Sprintf("column:%s group=column codec=zstd:1+dict else=s2 dict=%d\n", name, most)
	}
	return codec.ParsePolicy(text + "* group=column codec=s2\n")
}

// newestDictionaries returns the dictionaries of a table's newest segment, by column. A
// segment that is damaged, or that this version cannot read, has none.
func (a *Archive) newestDictionaries(t *tableState) (map[string]*dict.Dict, error) {
	if len(t.handles) == 0 {
		return nil, nil
	}
	h := t.handles[len(t.handles)-1]
	err := a.files.acquire(h)
	if errors.Is(err, segment.ErrCorrupt) || errors.Is(err, ErrVersion) {
		_ = a.saw(t.name, err) // told: the log goes on without
		a.log.Warn("no dictionaries for a log: the newest segment cannot be read", "dir", a.dir, "file", h.info.File, "error", err)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer a.files.release(h)
	found := map[string]*dict.Dict{}
	for i, c := range h.r.Layout().Columns {
		name := t.schema.Columns[i].Name
		if len(c.Blocks) != 1 || c.Blocks[0].Dictionary < 0 { // streams apart have dictionaries of their own
			continue
		}
		if d := h.r.Dictionary(c.Blocks[0].Dictionary); d != nil {
			found[name] = d
		}
	}
	return found, nil
}

// createLog starts a log behind the ones that st has records of.
func (a *Archive) createLog(st *state, number uint64, previous int64) (*journal.Writer, *logFile, error) {
	l := &logFile{number: number, path: a.path(logName(number)), fs: a.fs, removed: a.fileRemoved, frames: make(map[string]*segment.Frames, len(st.tables))}
	for i := range st.tables {
		t := &st.tables[i]
		var dictionaries map[string]*dict.Dict
		var err error
		if a.o.CompressLog {
			if dictionaries, err = a.newestDictionaries(t); err != nil {
				return nil, nil, err
			}
		}
		p, err := logPolicy(a.o.CompressLog, dictionaries)
		if err != nil {
			return nil, nil, err
		}
		l.frames[t.name], err = segment.NewFrames(framesID(number, t.name), segment.FramesOptions{
			Table: t.name, Schema: t.schema, Policy: p, Dictionaries: dictionaries, Encodings: a.o.Encodings, Workers: a.o.Workers, Name: logName(number),
		})
		if err != nil {
			return nil, nil, err
		}
	}
	h := journal.Head{Number: number, Sequence: st.sequence, Previous: previous, Body: appendLogBody(nil, st, l.frames)}
	w, err := journal.Create(a.fs, l.path, h)
	if err != nil {
		return nil, nil, ioError("creating", l.path, err)
	}
	err = syncDir(a.fs, a.dir)
	if err == nil {
		if l.f, err = a.fs.Open(l.path, vfs.RandomReadsOption); err != nil {
			err = ioError("opening", l.path, err)
		}
	}
	if err != nil {
		return nil, nil, errors.Join(err, w.Close(), ioError("removing", l.path, a.fs.Remove(l.path)))
	}
	l.refs.Store(1)
	return w, l, nil
}

// frameScratch is the memory for reading a frame.
type frameScratch struct {
	buf  []byte
	rows segment.FrameRows
	all  []int // columns
}

// load reads the bytes of a frame into s. The log is in use.
func (f *frame) load(s *frameScratch) error {
	if cap(s.buf) < int(f.size) {
		s.buf = make([]byte, f.size)
	}
	s.buf = s.buf[:f.size]
	if n, err := f.log.f.ReadAt(s.buf, f.off); n < len(s.buf) {
		if err == nil || errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return ioError("reading", f.log.path, err)
	}
	return nil
}

// read reads a frame and decodes columns of it into s. The log is in use.
func (f *frame) read(table string, s *frameScratch, columns []int) error {
	if err := f.load(s); err != nil {
		return err
	}
	err := f.log.frames[table].Decode(&s.rows, s.buf, columns)
	if err == nil && (s.rows.FirstRow != f.first || s.rows.Rows < int(f.rows)) {
		err = &segment.CorruptionError{
			Place: segment.Place{File: logName(f.log.number), Section: segment.SectionFrame, Chunk: -1, FirstRow: f.first, Rows: uint64(f.rows), Length: int64(f.size)},
			Err:   fmt.Errorf("frame of %d rows from %d", s.rows.Rows, s.rows.FirstRow),
		}
	}
	return f.placed(err)
}

// verify checks every checksum of a frame.
func (f *frame) verify(table string, s *frameScratch) error {
	if err := f.load(s); err != nil {
		return err
	}
	return f.placed(f.log.frames[table].Verify(s.buf))
}

// placed gives damage its place in the log, and the rows that the frame should have.
func (f *frame) placed(err error) error {
	var ce *segment.CorruptionError
	if errors.As(err, &ce) {
		ce.Offset += f.off // from the start of the frame so far
		ce.FirstRow, ce.Rows = f.first, uint64(f.rows)
	}
	return err
}

// columnNumbers returns the numbers of all columns.
func columnNumbers(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// scratches is memory for reading and writing frames of one table.
type scratches struct {
	pool   sync.Pool
	values sync.Pool // of *[]codec.Values, empty ones
}

func (a *Archive) scratches(table string) *scratches {
	if p, ok := a.scratch.Load(table); ok {
		return p.(*scratches)
	}
	p, _ := a.scratch.LoadOrStore(table, &scratches{})
	return p.(*scratches)
}

func (p *scratches) take(columns int) *frameScratch {
	if s, ok := p.pool.Get().(*frameScratch); ok {
		return s
	}
	return &frameScratch{all: columnNumbers(columns)}
}

func (p *scratches) give(s *frameScratch) {
	if cap(s.buf) <= maxKeptFrame {
		p.pool.Put(s)
	}
}

// takeValues returns values without rows for so many columns.
func (p *scratches) takeValues(columns int) []codec.Values {
	if v, ok := p.values.Get().(*[]codec.Values); ok {
		return *v
	}
	return make([]codec.Values, columns)
}

func (p *scratches) giveValues(values []codec.Values) {
	for i := range values {
		if values[i].Reset(); cap(values[i].Data) > maxKeptValues {
			values[i].Data = nil
		}
	}
	p.values.Put(&values)
}

const (
	maxKeptFrame  = 4 << 20 // a buffer above this is not kept
	maxKeptValues = 1 << 20 // nor this of a column,
	maxKeptChunks = 64      // nor more of these of one batch and table
)
