package chain

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
)

// InputBuffer is the size of an Input's buffer: the most that Peek can look ahead.
const InputBuffer = 64 << 10

// growStep is what ReadN allocates at once when nothing says that the bytes asked for are there.
const growStep = 1 << 20

// InputOptions are options of OpenInput.
type InputOptions struct {
	Gzip  bool   // decompress where the file starts as gzip does; else bytes are taken as they are
	Hash  bool   // compute the SHA-256 that End returns
	Meter *Meter // told of the bytes read; may be nil
}

// Input reads one source file: it knows the offset, bounds what is allocated, hashes what is read, stops when the context
// is done, and tells faults of the file ([InputError]) from errors of reading it. For one goroutine.
type Input struct {
	name    string
	raw     rawReader
	file    io.ReadCloser
	gz      *members
	plain   io.Reader // below br: decompressed and hashed
	br      *bufio.Reader
	sum     hash.Hash // of the plain bytes
	gzSum   hash.Hash // of the bytes as they lie, where it is a gzip
	base    int64     // plain bytes that br has got or that were skipped below it
	size    int64     // of the plain bytes, or below 0
	seeking bool
}

// rawReader counts and checks what comes from the file.
type rawReader struct {
	ctx   context.Context
	r     io.Reader
	meter *Meter
	sum   hash.Hash // may be nil
	n     int64
	err   error // of reading, not io.EOF
}

func (r *rawReader) Read(p []byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	if r.err = r.ctx.Err(); r.err != nil {
		return 0, r.err
	}
	n, err := r.r.Read(p)
	r.n += int64(n)
	if r.sum != nil {
		r.sum.Write(p[:n])
	}
	r.meter.Add(int64(n))
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return n, err
}

// OpenInput opens f. The caller closes the result.
func OpenInput(ctx context.Context, f File, o InputOptions) (*Input, error) {
	file, err := f.Open()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	in := &Input{name: f.Name, file: file, size: f.Size}
	in.raw = rawReader{ctx: ctx, r: file, meter: o.Meter}
	in.plain = &in.raw
	if o.Hash {
		in.sum = sha256.New()
	}
	if o.Gzip {
		if err := in.detectGzip(o.Hash); err != nil {
			_ = in.Close() // the error that led here is the one to report
			return nil, err
		}
	}
	if _, ok := file.(io.Seeker); ok && in.gz == nil && in.sum == nil && f.Size >= 0 {
		in.seeking = true
	}
	in.br = bufio.NewReaderSize(fill{in}, InputBuffer)
	return in, nil
}

func (in *Input) detectGzip(sum bool) error {
	if sum {
		in.raw.sum = sha256.New()
	}
	head := make([]byte, 2)
	n, err := io.ReadFull(&in.raw, head)
	if in.raw.err != nil {
		return in.ioError()
	}
	whole := io.MultiReader(bytes.NewReader(head[:n]), &in.raw)
	if err != nil || head[0] != 0x1f || head[1] != 0x8b {
		in.plain, in.raw.sum = whole, nil
		return nil
	}
	size := in.size
	in.size, in.gzSum = -1, in.raw.sum
	if in.gz, err = newMembers(whole, &in.raw, size); err != nil {
		return in.Fail(0, "a gzip header", err)
	}
	in.plain = in.gz
	return nil
}

// fill is what the buffer reads from.
type fill struct{ in *Input }

func (f fill) Read(p []byte) (int, error) {
	n, err := f.in.plain.Read(p)
	f.in.base += int64(n)
	if f.in.sum != nil {
		f.in.sum.Write(p[:n])
	}
	return n, err
}

// Close closes the file. The error is of no interest to a reader that has all it needs.
func (in *Input) Close() error { return in.file.Close() }

// Name returns the file's name.
func (in *Input) Name() string { return in.name }

// Offset returns the offset of the next byte, in decompressed bytes.
func (in *Input) Offset() int64 { return in.base - int64(in.br.Buffered()) }

// Left returns how many bytes are left, or -1 where that is not known.
func (in *Input) Left() int64 {
	if in.size < 0 {
		return -1
	}
	return max(0, in.size-in.Offset())
}

// Gzip reports whether the file is compressed.
func (in *Input) Gzip() bool { return in.gz != nil }

func (in *Input) ioError() error { return fmt.Errorf("%s: read: %w", in.name, in.raw.err) }

// Fail returns the error of a file that has not what is wanted at an offset; where reading failed, it returns that error.
func (in *Input) Fail(offset int64, want string, cause error) error {
	if in.raw.err != nil {
		return in.ioError()
	}
	return &InputError{File: in.name, Offset: offset, Want: want, Err: cause}
}

// fault turns an error of the buffer into one for the caller.
func (in *Input) fault(offset int64, want string, err error) error {
	var trailing *trailingError
	switch {
	case errors.As(err, &trailing):
		return in.Fail(in.base, "the end of the file", err)
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		if in.gz != nil && errors.Is(err, io.ErrUnexpectedEOF) {
			return in.Fail(in.Offset(), "more compressed data", ErrTruncated)
		}
		return in.Fail(offset, want, fmt.Errorf("%w, at byte %d", ErrTruncated, in.Offset()+int64(in.br.Buffered())))
	case in.gz != nil:
		return in.Fail(in.Offset(), "valid gzip data", err)
	}
	return in.Fail(offset, want, err)
}

// More reports whether there is another byte.
func (in *Input) More() (bool, error) {
	b, err := in.Peek(1)
	return len(b) > 0, err
}

// Peek returns the next n bytes, at most InputBuffer, without moving on; fewer, and no error, where the file ends. Valid until
// the next call.
func (in *Input) Peek(n int) ([]byte, error) {
	b, err := in.br.Peek(min(n, InputBuffer))
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, in.fault(in.Offset(), "readable data", err)
	}
	return b, nil
}

// PeekSome returns bytes that follow, at most InputBuffer, without moving on: at least one, more as far as they are there
// without waiting for a pipe; none, and no error, where the file ends. Valid until the next call.
func (in *Input) PeekSome() ([]byte, error) {
	if b, err := in.Peek(1); len(b) == 0 {
		return nil, err
	}
	return in.Peek(in.br.Buffered())
}

// ReadN reads the next n bytes, of a thing called want, into buf's memory or, where that is too small, newly allocated
// memory; no more is allocated than the file is known to hold, or than twice what was read so far.
func (in *Input) ReadN(buf []byte, n int, want string) ([]byte, error) {
	offset := in.Offset()
	left := in.Left()
	if left >= 0 && int64(n) > left {
		return nil, in.Fail(offset, want, fmt.Errorf("%d bytes: %w, at byte %d", n, ErrTruncated, in.size))
	}
	buf = buf[:0]
	for len(buf) < n {
		step := n - len(buf)
		if room := cap(buf) - len(buf); room < step {
			if left < 0 {
				step = min(step, max(room, growStep, len(buf)))
			}
			if room < step {
				grown := make([]byte, len(buf), len(buf)+step)
				copy(grown, buf)
				buf = grown
			}
		}
		got, err := io.ReadFull(in.br, buf[len(buf):len(buf)+step])
		buf = buf[:len(buf)+got]
		if err != nil {
			return nil, in.fault(offset, fmt.Sprintf("%s of %d bytes", want, n), err)
		}
	}
	return buf, nil
}

// Skip moves on by n bytes of a thing called want.
func (in *Input) Skip(n int64, want string) error {
	offset := in.Offset()
	if left := in.Left(); left >= 0 && n > left {
		return in.Fail(offset, want, fmt.Errorf("%d bytes: %w, at byte %d", n, ErrTruncated, in.size))
	}
	if buffered := int64(in.br.Buffered()); in.seeking && n-buffered >= InputBuffer {
		if _, err := in.file.(io.Seeker).Seek(n-buffered, io.SeekCurrent); err != nil {
			return fmt.Errorf("%s: seek: %w", in.name, err)
		}
		in.base += n - buffered
		in.raw.n += n - buffered
		in.br.Reset(fill{in})
		return nil
	}
	for n > 0 {
		step, err := in.br.Discard(int(min(n, growStep)))
		n -= int64(step)
		if err != nil {
			return in.fault(offset, want, err)
		}
	}
	return nil
}

// End is what is known of a file that was read to its end.
type End struct {
	Size     uint64 // decompressed
	SHA256   Sum
	Gzip     bool
	GzSize   uint64 // as it lies, where it is a gzip
	GzSHA256 Sum
}

// End returns size and sums. Bytes that are left are an error.
func (in *Input) End() (End, error) {
	if more, err := in.More(); err != nil {
		return End{}, err
	} else if more {
		return End{}, in.Fail(in.Offset(), "the end of the file", nil)
	}
	e := End{Size: uint64(in.base), Gzip: in.gz != nil}
	if in.sum != nil {
		in.sum.Sum(e.SHA256[:0])
	}
	if e.Gzip {
		e.GzSize = uint64(in.raw.n)
		if in.gzSum != nil {
			in.gzSum.Sum(e.GzSHA256[:0])
		}
	}
	return e, nil
}
