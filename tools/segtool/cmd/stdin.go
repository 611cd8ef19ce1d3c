package cmd

import (
	"context"
	"io"
)

// interruptible reads from what may block for ever, as a terminal does, and stops
// when the context is done. A read that is then under way is left behind.
type interruptible struct {
	ctx  context.Context
	r    io.Reader
	buf  []byte
	rest []byte // of buf, not yet returned
	err  error  // to return after it
}

// input returns stdin.
func (a *app) input(ctx context.Context) io.ReadCloser {
	return &interruptible{ctx: ctx, r: a.stdin, buf: make([]byte, 64<<10)}
}

func (i *interruptible) Read(p []byte) (int, error) {
	if len(i.rest) == 0 && i.err == nil {
		i.fill()
	}
	if len(i.rest) == 0 {
		return 0, i.err
	}
	n := copy(p, i.rest)
	i.rest = i.rest[n:]
	return n, nil
}

func (i *interruptible) fill() {
	type result struct {
		n   int
		err error
	}
	done := make(chan result, 1)
	go func() {
		n, err := i.r.Read(i.buf)
		done <- result{n, err}
	}()
	select {
	case <-i.ctx.Done():
		i.err = i.ctx.Err()
	case r := <-done:
		i.rest, i.err = i.buf[:r.n], r.err
	}
}

func (i *interruptible) Close() error { return nil }
