package archive

import (
	"context"
	"errors"
	"fmt"
)

// begin starts a long job, which Close ends and waits for. Jobs that change the
// archive take turns.
func (a *Archive) begin(ctx context.Context, change bool) (_ context.Context, end func(), err error) {
	a.change.Lock()
	defer a.change.Unlock()
	switch {
	case a.closed.Load():
		return nil, nil, ErrClosed
	case change && a.o.ReadOnly:
		return nil, nil, fmt.Errorf("%w: %s", ErrReadOnly, a.dir)
	case a.broken != nil && change:
		return nil, nil, a.broken
	}
	a.jobs.Add(1)
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(a.ctx, func() { cancel(ErrClosed) })
	return ctx, func() {
		stop()
		cancel(nil)
		a.jobs.Done()
	}, nil
}

// turn waits until no other job changes segments. The caller ends its turn.
func (a *Archive) turn(ctx context.Context) (end func(), err error) {
	select {
	case a.turns <- struct{}{}:
		return func() { <-a.turns }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// replace makes a draft that was verified the segment in the place of old.
func (a *Archive) replace(d *draft, old, next SegmentInfo) error {
	a.change.Lock()
	defer a.change.Unlock()
	if a.broken != nil {
		return errors.Join(a.broken, d.discard())
	}
	st := a.state.Load()
	m := st.m.replace(old, next)
	if m == nil {
		return errors.Join(fmt.Errorf("%w: %s", ErrStale, old.File), d.discard())
	}
	if err := a.files.publish(d, next.File); err != nil {
		_ = d.fs.Remove(d.path) // one of the two names is there; nobody knows it
		_ = d.fs.Remove(a.path(next.File))
		return err
	}
	size, done, err := writeManifest(a.fs, a.dir, m)
	if err != nil && !done {
		return errors.Join(err, ioError("removing", next.File, a.fs.Remove(a.path(next.File))))
	}
	if err != nil {
		// The manifest on the disk may be either, now or after a crash: both files
		// stay, and nothing is changed any more until it has been read again.
		a.broken = fmt.Errorf("archive: %s: closed for changes, until it is opened anew, after: %w", a.dir, err)
		return err
	}
	k := st.number[old.Table]
	h := st.tables[k].handles[st.tables[k].find(old.FirstRow)]
	a.state.Store(newState(m, size, st))
	a.files.retire(h)
	a.log.Info("segment replaced", "dir", a.dir, "file", next.File, "replaced", old.File, "stored_bytes", next.StoredBytes, "before", old.StoredBytes)
	return nil
}
