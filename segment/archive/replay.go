package archive

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/segment/archive/journal"
)

// Tail is what a log holds behind its last whole record: records of which nobody was
// told that they are durable. They are not read, and stay where they are.
type Tail struct {
	File   string `json:"file"`
	Offset int64  `json:"offset"`
	Length int64  `json:"length"`
}

// LogError says that a log is damaged, and where. errors.Is holds for
// segment.ErrCorrupt.
type LogError struct {
	File   string
	Offset int64
	Length int64 // 0 where nobody knows
	Err    error
}

// Error returns file, place and cause in one line.
func (e *LogError) Error() string {
	return fmt.Sprintf("%s: damaged log: at offset %d, %d bytes: %v", e.File, e.Offset, e.Length, e.Err)
}

// Unwrap returns segment.ErrCorrupt and the cause.
func (e *LogError) Unwrap() []error { return []error{segment.ErrCorrupt, e.Err} }

// logs are the logs of an archive as they were found.
type logs struct {
	files []*logFile // in the order of their numbers
	next  uint64     // number of the next one
	end   int64      // up to where the last one counts
	tail  *Tail
	torn  []string // files in which nothing was ever written
	old   []string // files that the manifest does without
}

// close closes the files. There is an error to report, or nothing was done with them.
func (ls *logs) close() {
	for _, l := range ls.files {
		_ = l.f.Close()
	}
}

// foundLog is a log before its records are read.
type foundLog struct {
	number uint64
	f      vfs.File
	size   int64
	head   journal.Head
	begin  int64
}

// replay adds to a state what logs say that follow its manifest. Nothing is written.
// A *LogError, ErrVersion, or an error of I/O; files are closed then.
func (a *Archive) replay(st *state) (_ *state, _ *logs, err error) {
	names, err := a.fs.List(a.dir)
	if err != nil {
		return nil, nil, ioError("listing", a.dir, err)
	}
	ls := &logs{next: max(st.m.log.First, 1)}
	var numbers []uint64
	for _, name := range names {
		if n, ok := logNumber(name); ok && n >= ls.next {
			numbers = append(numbers, n)
		} else if ok {
			ls.old = append(ls.old, name)
		}
	}
	slices.Sort(numbers)
	var found []foundLog
	defer func() {
		if err != nil {
			for _, l := range found {
				_ = l.f.Close() // the error that led here is the one to report
			}
		}
	}()
	for _, n := range numbers {
		if n != ls.next {
			return nil, nil, &LogError{File: logName(ls.next), Err: fmt.Errorf("the file is missing, and %s is there", logName(n))}
		}
		l, err := a.openLog(n)
		if n == numbers[len(numbers)-1] && a.tornLog(n, err) {
			ls.torn = append(ls.torn, logName(n))
			break
		}
		if err != nil {
			return nil, nil, a.logError(n, err)
		}
		found = append(found, *l)
		ls.next++
	}
	if len(found) == 0 && st.m.log.Open {
		return nil, nil, &LogError{File: logName(ls.next), Err: errors.New("the file is missing")}
	}
	r := &replayer{a: a, st: st, ls: ls}
	if err := r.run(found); err != nil {
		return nil, nil, err
	}
	return r.st, ls, nil
}

// tornLog reports whether the newest log cannot be read because its making was
// interrupted: it is cut off, or its head does not check and it holds no record. What
// the manifest knows must be in the logs before it; that is checked later.
func (a *Archive) tornLog(number uint64, err error) bool {
	if errors.Is(err, journal.ErrTorn) {
		return true
	}
	if !errors.Is(err, journal.ErrDamaged) || errors.Is(err, errOtherLog) {
		return false
	}
	f, size, err := openRead(a.fs, a.path(logName(number)))
	if err != nil {
		return false
	}
	empty, err := journal.Empty(f, number, size)
	return errors.Join(err, f.Close()) == nil && empty
}

// errOtherLog is a log, whole for all its head says, under the name of another.
var errOtherLog = errors.New("the file is under another's name")

func (a *Archive) openLog(number uint64) (*foundLog, error) {
	path := a.path(logName(number))
	f, size, err := openRead(a.fs, path, vfs.RandomReadsOption)
	if err != nil {
		return nil, err
	}
	l := &foundLog{number: number, f: f, size: size}
	if l.head, l.begin, err = journal.ReadHead(f, size); err == nil && l.head.Number != number {
		err = &journal.Error{Length: l.begin, Err: fmt.Errorf("%w: this is log %d", errOtherLog, l.head.Number)}
	}
	if err != nil {
		return nil, errors.Join(err, ioError("closing", path, f.Close()))
	}
	return l, nil
}

// logError gives an error of a log its file.
func (a *Archive) logError(number uint64, err error) error {
	var je *journal.Error
	var le *LogError
	switch {
	case errors.As(err, &le):
		return err
	case errors.As(err, &je):
		return &LogError{File: logName(number), Offset: je.Offset, Length: je.Length, Err: je.Err}
	case errors.Is(err, journal.ErrTorn):
		return &LogError{File: logName(number), Err: fmt.Errorf("cut off: %w", err)}
	case errors.Is(err, journal.ErrVersion):
		return fmt.Errorf("%w: %s: %w", ErrVersion, logName(number), err)
	}
	return fmt.Errorf("%s: %w", logName(number), err)
}

// replayer reads records. Those that the manifest knows of say where its rows lie
// that are in no segment; those behind change the state.
type replayer struct {
	a  *Archive
	st *state
	ls *logs

	strict bool // past what the manifest knows
}

func (r *replayer) run(found []foundLog) error {
	st := *r.st
	st.tables = slices.Clone(st.tables)
	st.sequence = st.m.log.Sequence
	r.st = &st
	next := uint64(0)
	for i := range found {
		l := &found[i]
		size, last := l.size, i == len(found)-1
		if !last {
			size = found[i+1].head.Previous
		}
		if i > 0 && l.head.Sequence != next {
			return &LogError{File: logName(l.number), Length: l.begin, Err: fmt.Errorf("begins with record %d, expected %d", l.head.Sequence, next)}
		}
		if size > l.size || size < l.begin {
			return &LogError{File: logName(l.number), Offset: l.size, Err: fmt.Errorf("%d bytes, the next log says %d", l.size, size)}
		}
		bodies, err := decodeLogBody(&l.head, segment.FramesOptions{Encodings: r.a.o.Encodings, Workers: r.a.o.Workers, Name: logName(l.number)})
		if errors.Is(err, ErrVersion) {
			return fmt.Errorf("%s: %w", logName(l.number), err)
		}
		if err != nil {
			return &LogError{File: logName(l.number), Offset: 64, Length: l.begin - 64, Err: err}
		}
		lf := &logFile{number: l.number, path: r.a.path(logName(l.number)), f: l.f, size: l.size, fs: r.a.fs, removed: r.a.fileRemoved, frames: make(map[string]*segment.Frames, len(bodies))}
		lf.refs.Store(1)
		for name, b := range bodies {
			lf.frames[name] = b.frames
		}
		if i == 0 {
			r.begin(bodies)
		}
		end, seq, err := journal.Scan(l.f, &l.head, l.begin, size, l.head.Sequence, last, func(rec journal.Record) error { return r.record(lf, rec) })
		if err != nil {
			return r.a.logError(l.number, err)
		}
		next = seq
		if r.ls.files = append(r.ls.files, lf); last {
			r.ls.end = end
			if end < l.size {
				r.ls.tail = &Tail{File: logName(l.number), Offset: end, Length: l.size - end}
			}
		}
	}
	if len(found) > 0 && next < st.m.log.Sequence {
		return &LogError{File: logName(found[len(found)-1].number), Offset: r.ls.end, Err: fmt.Errorf("ends before record %d, the manifest knows %d", next, st.m.log.Sequence)}
	}
	if !r.strict {
		if err := r.settle(); err != nil {
			return &LogError{File: logName(r.ls.next - 1), Err: err}
		}
	}
	r.st.sequence = max(next, st.m.log.Sequence)
	r.st.countRaw()
	return nil
}

// begin takes over where tables ended when the first log began: rows before are in
// segments, or were rewound.
func (r *replayer) begin(bodies map[string]logTable) {
	for i := range r.st.tables {
		t := &r.st.tables[i]
		if b, ok := bodies[t.name]; ok {
			t.frames = []frame{{first: b.next}} // of no rows: settle removes it
		}
	}
}

func (r *replayer) record(l *logFile, rec journal.Record) (err error) {
	if !r.strict && rec.Sequence >= r.st.m.log.Sequence {
		if err := r.settle(); err != nil {
			return &LogError{File: logName(l.number), Offset: rec.Offset, Err: err}
		}
	}
	switch rec.Kind {
	case recordCommit:
		err = r.commit(l, rec)
	case recordRewind:
		err = r.rewind(rec)
	case recordEnd:
		if len(rec.Bytes) > 0 {
			err = fmt.Errorf("%d bytes in a record of none", len(rec.Bytes))
		}
	default:
		return fmt.Errorf("%w: record of kind %d", ErrVersion, rec.Kind)
	}
	if err != nil {
		return &LogError{File: logName(l.number), Offset: rec.Offset, Length: int64(len(rec.Bytes)), Err: err}
	}
	return nil
}

func (r *replayer) commit(l *logFile, rec journal.Record) error {
	tables, err := decodeCommit(rec.Bytes, l, rec.Offset)
	if err != nil {
		return err
	}
	for _, tf := range tables {
		k, ok := r.st.number[tf.table]
		if !ok || l.frames[tf.table] == nil {
			return fmt.Errorf("rows of table %.*q, which is not there", segment.MaxNameBytes, tf.table)
		}
		t := &r.st.tables[k]
		if r.strict && tf.first != t.end() || tf.first > t.end() && len(t.frames) > 0 {
			return fmt.Errorf("rows of table %q from %d on, it ends at %d", tf.table, tf.first, t.end())
		}
		if !r.strict && tf.first < t.end() { // the manifest has rewound it in between
			t.frames = t.before(tf.first)
		}
		t.frames = append(t.frames, tf.frames...)
	}
	return nil
}

func (r *replayer) rewind(rec journal.Record) error {
	ends, err := decodeRewind(rec.Bytes)
	if err != nil {
		return err
	}
	for _, e := range ends {
		k, ok := r.st.number[e.table]
		if !ok {
			return fmt.Errorf("rewind of table %.*q, which is not there", segment.MaxNameBytes, e.table)
		}
		t := &r.st.tables[k]
		if r.strict && (e.end < t.sealedEnd() || e.end > t.end()) {
			return fmt.Errorf("rewind of table %q to row %d, it has %d in segments and ends at %d", e.table, e.end, t.sealedEnd(), t.end())
		}
		t.frames = t.before(e.end)
		if r.strict { // else the manifest has counted it
			t.rewinds++
		}
	}
	return nil
}

// settle ends what the manifest knows of: of each table the frames stay that have
// the rows between its segments and its end.
func (r *replayer) settle() error {
	r.strict = true
	for i := range r.st.tables {
		t := &r.st.tables[i]
		sealed, end := t.sealedEnd(), max(t.logEnd, t.sealedEnd())
		reached := t.end()
		t.frames = slices.DeleteFunc(t.before(end), func(f frame) bool { return f.end() <= sealed })
		switch {
		case reached < sealed:
			return fmt.Errorf("rows of table %q up to %d, its segments end at %d", t.name, reached, sealed)
		case len(t.frames) > 0 && t.frames[0].first != sealed:
			return fmt.Errorf("rows of table %q from %d on, its segments end at %d", t.name, t.frames[0].first, sealed)
		case t.end() != end:
			return fmt.Errorf("rows of table %q up to %d, the manifest knows %d", t.name, t.end(), end)
		}
	}
	return nil
}
