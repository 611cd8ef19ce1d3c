package cmd

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/iotest"
	"time"

	"bytes"
)

func TestInterruptible(t *testing.T) {
	text := bytes.Repeat([]byte("0123456789"), 20_000)
	for name, r := range map[string]io.Reader{
		"plain": bytes.NewReader(text), "half": iotest.HalfReader(bytes.NewReader(text)), "error with data": iotest.DataErrReader(bytes.NewReader(text)),
	} {
		in := &interruptible{ctx: t.Context(), r: r, buf: make([]byte, 1000)}
		if got, err := io.ReadAll(in); err != nil || !bytes.Equal(got, text) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}

	// A reader that never returns does not keep an interrupt waiting.
	r, w := io.Pipe()
	defer w.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	in := &interruptible{ctx: ctx, r: r, buf: make([]byte, 1000)}
	if _, err := in.Read(make([]byte, 10)); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}
