package archive

import (
	"context"
	"fmt"
)

// begin starts a long job, which Close ends and waits for. Jobs that change the
// archive take turns.
func (a *Archive) begin(ctx context.Context, change bool) (_ context.Context, end func(), err error) {
	a.change.Lock()
	defer a.change.Unlock()
	if a.closed.Load() {
		return nil, nil, ErrClosed
	}
	if change && a.o.ReadOnly {
		return nil, nil, fmt.Errorf("%w: %s", ErrReadOnly, a.dir)
	}
	if err := a.failed.get(); err != nil && change {
		return nil, nil, err
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
