package era1

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/golang/snappy"
)

// errTooLong is the cause where an entry decompresses to more than the limit.
var errTooLong = errors.New("decompresses to more bytes than allowed")

// decompressor decodes the snappy framing format (google/snappy, framing_format.txt) and tells whether the encoder of this
// package would give the same bytes.
type decompressor struct {
	r    *snappy.Reader
	src  bytes.Reader
	c    compressor
	same []byte
}

// decode appends to dst the bytes that framed decompresses to, at most limit. dst grows with what is decoded: the format
// gives no size in advance, and one chunk holds at most 64 KiB.
func (d *decompressor) decode(dst, framed []byte, limit int) ([]byte, error) {
	d.src.Reset(framed)
	if d.r == nil {
		d.r = snappy.NewReader(&d.src)
	} else {
		d.r.Reset(&d.src)
	}
	start := len(dst)
	for {
		if len(dst)-start > limit {
			return dst, fmt.Errorf("%w: %d", errTooLong, limit)
		}
		if len(dst) == cap(dst) {
			dst = append(dst, 0)[:len(dst)]
		}
		n, err := d.r.Read(dst[len(dst):cap(dst)])
		dst = dst[:len(dst)+n]
		if errors.Is(err, io.EOF) {
			return dst, nil
		}
		if err != nil {
			return dst, err
		}
	}
}

// reproducible reports whether encoding plain gives framed.
func (d *decompressor) reproducible(framed, plain []byte) bool {
	var err error
	d.same, err = d.c.encode(d.same[:0], plain)
	return err == nil && bytes.Equal(framed, d.same)
}

// compressor encodes the snappy framing format, each value a stream of its own, as geth does.
type compressor struct {
	w   *snappy.Writer
	out sliceWriter
}

// encode appends the framed bytes of plain to dst.
func (c *compressor) encode(dst, plain []byte) ([]byte, error) {
	c.out.b = dst
	if c.w == nil {
		c.w = snappy.NewBufferedWriter(&c.out)
	} else {
		c.w.Reset(&c.out)
	}
	if _, err := c.w.Write(plain); err != nil {
		return dst, err
	}
	if err := c.w.Flush(); err != nil {
		return dst, err
	}
	return c.out.b, nil
}

type sliceWriter struct{ b []byte }

func (w *sliceWriter) Write(p []byte) (int, error) {
	w.b = append(w.b, p...)
	return len(p), nil
}
