package cmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/segment/archive"
	"github.com/segstore/segstore/tools/chain"
)

// appending is rows of an import on their way into an archive: committed in parts that
// end at marks. It can take back what it has committed.
type appending struct {
	a   *app
	ctx context.Context
	dir string
	o   *appendFlags

	ar     *archive.Archive // nil while there is none
	start  archive.Position // where tables ended
	made   bool             // by this append
	create archive.CreateOptions
	tables []chain.Table // to be made

	batch   *archive.Batch
	rows    int   // in batch
	bytes   int64 // of their values
	tried   bool  // to commit: rows may be there
	commits int
}

var _ chain.Sink = (*appending)(nil)

// open opens the archive as its writer.
func (w *appending) open() error {
	o := archive.Options{Logger: w.a.logger(), KeyFunctions: keyFunctions(), Workers: w.o.workers, SegmentBytes: int64(w.o.segment), SealBytes: -1}
	if w.o.seal {
		o.SealBytes = 0 // the default: logs stay short while it goes on
	}
	ar, err := archive.Open(w.a.fs, w.dir, o)
	if err != nil {
		return err
	}
	w.ar, w.batch = ar, ar.Batch()
	if w.start == nil {
		w.start = archive.Position{}
		for _, t := range ar.Tables() {
			w.start[t.Table] = t.FirstRow + t.Rows
		}
	}
	return nil
}

// makeArchive makes the archive, without rows.
func (w *appending) makeArchive() error {
	b, err := archive.Create(w.a.fs, w.dir, w.create)
	if err != nil {
		return err
	}
	for _, t := range w.tables {
		if err := (sink{b}).Create(t); err != nil {
			return errors.Join(err, b.Abort())
		}
	}
	if _, err := b.Finish(w.ctx); err != nil {
		return errors.Join(err, b.Abort())
	}
	w.made = true
	return w.open()
}

// Create notes a table of an archive that is to be made.
func (w *appending) Create(t chain.Table) error {
	w.tables = append(w.tables, t)
	return nil
}

// Append adds a row to the next commit.
func (w *appending) Append(table string, row segment.Row) error {
	if w.ar == nil {
		if err := w.makeArchive(); err != nil {
			return err
		}
	}
	if err := w.batch.Append(table, row); err != nil {
		return err
	}
	w.rows++
	for _, v := range row {
		w.bytes += int64(len(v))
	}
	return nil
}

// Mark commits where there is enough.
func (w *appending) Mark() error {
	if w.rows < w.o.commitRows && w.bytes < int64(w.o.commitBytes) {
		return nil
	}
	return w.commit()
}

func (w *appending) commit() error {
	if w.rows == 0 {
		return nil
	}
	commit := w.batch.CommitNoSync
	if w.o.sync {
		commit = w.batch.Commit
	}
	w.tried = true
	if _, err := commit(w.ctx); err != nil {
		return err
	}
	w.commits++
	w.batch, w.rows, w.bytes = w.ar.Batch(), 0, 0
	return nil
}

// finish commits what is left, and makes all durable.
func (w *appending) finish() error {
	if w.ar == nil { // files without rows
		if err := w.makeArchive(); err != nil {
			return err
		}
	}
	if err := w.commit(); err != nil {
		return err
	}
	return w.ar.Sync(w.ctx)
}

// undo takes back what was committed, and the archive if it was made, also after an
// interrupt. An error says what is left, and what removes it.
func (w *appending) undo() error {
	switch {
	case w.made:
		return w.remove()
	case !w.tried:
		return nil
	}
	ctx := context.WithoutCancel(w.ctx)
	err := w.ar.Rewind(ctx, w.start)
	if err == nil {
		return nil
	}
	// After an error of the log an archive takes no changes until it is opened anew.
	if again := w.reopen(); again == nil {
		if err = w.ar.Rewind(ctx, w.start); err == nil {
			return nil
		}
	}
	return fmt.Errorf("rows of this append may be left in %s: %w: %s removes them", w.dir, err, rewindCommand(w.dir, w.start))
}

func (w *appending) reopen() error {
	_ = w.close() // what it says led here
	return w.open()
}

// remove removes the archive that was made. Without a manifest nobody else can have
// begun to write to it when the lock goes.
func (w *appending) remove() error {
	fs := w.a.fs
	err := fs.Remove(fs.PathJoin(w.dir, archive.ManifestName))
	if err == nil {
		_ = w.close() // of files that go
		err = fs.RemoveAll(w.dir)
	}
	if err != nil {
		return fmt.Errorf("%s was made, and is left: %w", w.dir, err)
	}
	return nil
}

// close closes the archive, if it is open.
func (w *appending) close() error {
	ar := w.ar
	if w.ar = nil; ar == nil {
		return nil
	}
	return ar.Close()
}
