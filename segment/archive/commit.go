package archive

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/segstore/segstore/codec"
	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/segment/archive/journal"
)

// Batch is rows of one or more tables that are committed together. One goroutine may
// use it. It holds copies of the rows until Commit: as much memory as they have bytes.
type Batch struct {
	a      *Archive
	tables []batchTable
	done   bool
}

// batchTable is the rows of one table, cut into the chunks that become frames.
type batchTable struct {
	name   string
	schema segment.Schema
	chunks []batchChunk
	pool   *scratches // of the table's chunks
}

type batchChunk struct {
	values []codec.Values
	raw    int
}

// Batch starts a batch.
func (a *Archive) Batch() *Batch { return &Batch{a: a} }

// Append adds rows to a table: copies of them. ErrNoTable; segment.ErrRow for one that
// does not fit the schema, before which the others have been added.
func (b *Batch) Append(table string, rows ...segment.Row) error {
	if b.done {
		return ErrCommitted
	}
	t, err := b.table(table)
	if err != nil {
		return err
	}
	for _, row := range rows {
		size, err := t.schema.Check(row)
		if err != nil {
			return fmt.Errorf("table %q: %w", table, err)
		}
		t.append(row, size)
	}
	return nil
}

func (b *Batch) table(name string) (*batchTable, error) {
	for i := range b.tables {
		if b.tables[i].name == name {
			return &b.tables[i], nil
		}
	}
	st := b.a.state.Load()
	k, ok := st.number[name]
	if !ok {
		return nil, st.noTable(name)
	}
	b.tables = append(b.tables, batchTable{name: name, schema: st.tables[k].schema, pool: b.a.scratches(name)})
	return &b.tables[len(b.tables)-1], nil
}

func (t *batchTable) append(row segment.Row, size int) {
	n := len(t.chunks)
	if n == 0 || t.chunks[n-1].full(size) {
		t.chunks = append(t.chunks, batchChunk{values: t.pool.takeValues(len(t.schema.Columns))})
		n++
	}
	c := &t.chunks[n-1]
	for i, v := range row {
		c.values[i].Append(v)
	}
	c.raw += size
}

// full reports whether a row of so many bytes begins another chunk.
func (c *batchChunk) full(size int) bool {
	rows := c.values[0].Len()
	return rows > 0 && (c.raw >= logChunk || size >= logChunk) || rows == min(maxFrameRows, 1<<20/len(c.values))
}

// Rows returns how many rows of a table the batch holds; none once it was committed.
func (b *Batch) Rows(table string) (n uint64) {
	for _, t := range b.tables {
		if t.name == table {
			for i := range t.chunks {
				n += uint64(t.chunks[i].values[0].Len())
			}
		}
	}
	return n
}

// Commit appends all rows of the batch behind those that are there, in one record of
// the log: all or none of them will be found after a crash. It returns when they are
// durable, and where the tables end then. Readers see them from then on.
//
// An error means that nothing can be said of these rows until the archive is opened
// anew; nothing more is committed until then, and readers go on. ErrReadOnly,
// ErrClosed, ErrCommitted, and an error of the rows (above 512 MiB when compressed) leave
// everything as it was.
func (b *Batch) Commit(ctx context.Context) (Position, error) { return b.commit(ctx, true) }

// CommitNoSync is Commit without waiting until the rows are durable: after a crash of
// the machine they, and commits behind them, may not be there; a crash of the process
// alone loses nothing. Sync makes all of them durable.
func (b *Batch) CommitNoSync(ctx context.Context) (Position, error) { return b.commit(ctx, false) }

func (b *Batch) commit(ctx context.Context, sync bool) (Position, error) {
	began := time.Now()
	if b.done {
		return nil, ErrCommitted
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	a := b.a
	a.commits.Lock()
	defer a.commits.Unlock()
	if err := a.writable(); err != nil {
		return nil, err
	}
	tables, logBytes, err := b.append(sync)
	a.committed(tables, logBytes, sync, began, err)
	if err != nil {
		return nil, err
	}
	b.finish()
	a.copyIfBehind(tables)
	next := a.state.Load()
	a.sealIfFull(next)
	return next.position(), nil
}

// append appends the rows to the log and to the state, and returns what they are and how
// many bytes the log got. a.commits is held.
func (b *Batch) append(sync bool) (tables []tableFrames, logBytes int64, err error) {
	a := b.a
	st := a.state.Load()
	if err := a.openWriter(st); err != nil {
		return nil, 0, err
	}
	tables, parts, err := a.encoder.encode(b, st, a.current)
	defer a.encoder.trim()
	if err != nil {
		return nil, 0, err
	}
	if len(tables) > 0 {
		before := a.writer.Size()
		head := appendCommit(nil, tables)
		parts[0] = head
		off, err := a.writer.Append(recordCommit, parts...)
		if err != nil {
			return tables, 0, a.logFailed(err)
		}
		placeFrames(tables, a.current, off+int64(len(head)))
		logBytes = a.writer.Size() - before
		a.countLogs()
	}
	if sync {
		if err := a.syncLog(); err != nil {
			return tables, logBytes, err
		}
	}
	next := st.with(tables, a.writer.Sequence())
	next.cover = a.indexCommit(st, b, tables)
	a.state.Store(next)
	return tables, logBytes, nil
}

// finish lets other batches have the memory of the rows.
func (b *Batch) finish() {
	for i := range b.tables {
		t := &b.tables[i]
		for k := range t.chunks[:min(len(t.chunks), maxKeptChunks)] {
			t.pool.giveValues(t.chunks[k].values)
		}
	}
	b.tables, b.done = nil, true
}

// writable says why nothing can be committed. a.commits is held.
func (a *Archive) writable() error {
	switch {
	case a.closed.Load():
		return ErrClosed
	case a.o.ReadOnly:
		return fmt.Errorf("%w: %s", ErrReadOnly, a.dir)
	}
	return a.failed.get()
}

// openWriter sees to it that there is a log to write. a.commits is held.
func (a *Archive) openWriter(st *state) error {
	if a.writer != nil {
		return nil
	}
	w, l, err := a.createLog(st, a.nextLog, a.logEnd)
	if err != nil {
		return err
	}
	a.writer, a.current = w, l
	a.logs = append(a.logs, l)
	a.nextLog++
	a.countLogs()
	return nil
}

// logFailed closes the archive for changes: what the log holds at its end is
// unknown. a.commits is held.
func (a *Archive) logFailed(err error) error {
	if errors.Is(err, journal.ErrTooLong) {
		return err
	}
	err = ioError("writing", a.current.path, err)
	a.failed.set(fmt.Errorf("archive: %s: closed for changes, until it is opened anew, after: %w", a.dir, err))
	return err
}

// Sync makes everything durable that was committed.
func (a *Archive) Sync(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	a.commits.Lock()
	defer a.commits.Unlock()
	if err := a.writable(); err != nil {
		return err
	}
	return a.syncLog()
}

// syncLog makes the log durable. a.commits is held.
func (a *Archive) syncLog() error {
	if a.writer == nil {
		return nil
	}
	if err := a.syncWriter(); err != nil {
		return a.logFailed(err)
	}
	return nil
}

// rotate ends the log that is written; the next commit begins another. a.commits is
// held.
func (a *Archive) rotate() error {
	if a.writer == nil {
		return nil
	}
	if err := a.endLog(); err != nil {
		return err
	}
	a.logEnd = a.writer.Size()
	w := a.writer
	a.writer, a.current = nil, nil
	return ioError("closing", a.path(logName(a.nextLog-1)), w.Close())
}

// endLog makes what was committed durable, and says so behind it in the log: damage to
// the last commit is never taken for what a crash left then. a.commits is held.
func (a *Archive) endLog() error {
	if err := a.syncLog(); err != nil {
		return err
	}
	if _, err := a.writer.Append(recordEnd); err != nil {
		return a.logFailed(err)
	}
	a.countLogs()
	next := *a.state.Load()
	next.sequence = a.writer.Sequence()
	a.state.Store(&next)
	return a.syncLog()
}

// noteLogs lets the manifest know what the logs hold that are about to be closed: one that
// is lost or cut afterwards is missed.
func (a *Archive) noteLogs() error {
	a.change.Lock()
	defer a.change.Unlock()
	st := a.state.Load()
	if a.lock == nil || a.failed.get() != nil || st.sequence == st.m.log.Sequence {
		return nil
	}
	_, err := a.swapManifest(false, func(*state, *plan) error { return nil })
	if errors.Is(err, ErrNoSpace) { // the rows are durable all the same
		a.log.Warn("the manifest does not know of the last commits", "dir", a.dir, "error", err)
		return nil
	}
	return err
}

// closeLogs makes what was committed durable and closes the logs.
func (a *Archive) closeLogs() (err error) {
	a.commits.Lock()
	defer a.commits.Unlock()
	if a.writer != nil {
		if a.failed.get() == nil {
			err = a.endLog()
		}
		err = errors.Join(err, ioError("closing", a.current.path, a.writer.Close()))
		a.writer, a.current = nil, nil
	}
	for _, l := range a.logs {
		err = errors.Join(err, l.release())
	}
	a.logs = nil
	return err
}
