package wire_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/segstore/segstore/codec/wire"
)

// The bytes are written out by hand: they are what files hold.
func TestAppendedBytes(t *testing.T) {
	var b []byte
	b = wire.AppendUint16(b, 0x0102)
	b = wire.AppendUint32(b, 0x03040506)
	b = wire.AppendUint64(b, 0x0708090a0b0c0d0e)
	b = wire.AppendUvarint(b, 300)
	b = wire.AppendBytes(b, []byte{0xff})
	b = wire.AppendString(b, "ab")
	want := []byte{
		2, 1, 6, 5, 4, 3, 0x0e, 0x0d, 0x0c, 0x0b, 0x0a, 9, 8, 7, // little-endian
		0xac, 0x02, // 300 = 0b10_0101100
		1, 0xff, 2, 'a', 'b',
	}
	if !bytes.Equal(b, want) {
		t.Fatalf("got %x\nwant %x", b, want)
	}
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u8, u16 := rapid.Uint8().Draw(t, "u8"), rapid.Uint16().Draw(t, "u16")
		u32, u64 := rapid.Uint32().Draw(t, "u32"), rapid.Uint64().Draw(t, "u64")
		v := rapid.Uint64().Draw(t, "v")
		p := rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(t, "bytes")
		s := rapid.String().Draw(t, "string")
		n := rapid.IntRange(0, 20).Draw(t, "count")

		b := []byte{u8}
		b = wire.AppendUint16(b, u16)
		b = wire.AppendUint32(b, u32)
		b = wire.AppendUint64(b, u64)
		b = wire.AppendUvarint(b, v)
		b = wire.AppendBytes(b, p)
		b = wire.AppendString(b, s)
		b = wire.AppendUvarint(b, uint64(n))
		b = append(b, make([]byte, 2*n)...)

		c := wire.NewCursor(b)
		if got := c.Uint8(); got != u8 {
			t.Fatalf("uint8 %d", got)
		}
		if got := c.Uint16(); got != u16 {
			t.Fatalf("uint16 %d", got)
		}
		if got := c.Uint32(); got != u32 {
			t.Fatalf("uint32 %d", got)
		}
		if got := c.Uint64(); got != u64 {
			t.Fatalf("uint64 %d", got)
		}
		if got := c.Uvarint(); got != v {
			t.Fatalf("uvarint %d", got)
		}
		if got := c.Bytes(200); !bytes.Equal(got, p) || cap(got) != len(got) {
			t.Fatalf("bytes %x, capacity %d", got, cap(got))
		}
		if got := c.String(len(s)); got != s {
			t.Fatalf("string %q", got)
		}
		if got := c.Count(20, 2); got != n || c.Len() != 2*n {
			t.Fatalf("count %d, %d left", got, c.Len())
		}
		c.Raw(2 * n)
		if err := c.Close(); err != nil || c.Offset() != len(b) {
			t.Fatalf("close at %d of %d: %v", c.Offset(), len(b), err)
		}

		// Every record cut short is an error, wherever it is cut.
		cut := wire.NewCursor(b[:rapid.IntRange(0, len(b)-1).Draw(t, "cut")])
		cut.Uint8()
		cut.Uint16()
		cut.Uint32()
		cut.Uint64()
		cut.Uvarint()
		cut.Bytes(200)
		_ = cut.String(len(s))
		cut.Raw(2 * cut.Count(20, 2))
		if err := cut.Close(); !errors.Is(err, wire.ErrShort) {
			t.Fatalf("cut record: %v", err)
		}
	})
}

func TestErrors(t *testing.T) {
	long := bytes.Repeat([]byte{0xff}, 10)
	for _, c := range []struct {
		name   string
		b      []byte
		read   func(c *wire.Cursor)
		want   error
		offset int
		text   string
	}{
		{"uint8", nil, func(c *wire.Cursor) { c.Uint8() }, wire.ErrShort, 0, "uint8 at 0"},
		{"uint16", []byte{1}, func(c *wire.Cursor) { c.Uint16() }, wire.ErrShort, 0, "1 bytes left of 2"},
		{"uint32", []byte{1, 2, 3, 4}, func(c *wire.Cursor) { c.Uint8(); c.Uint32() }, wire.ErrShort, 1, "uint32 at 1"},
		{"uint64", []byte{1}, func(c *wire.Cursor) { c.Uint64() }, wire.ErrShort, 0, ""},
		{"uvarint cut", []byte{0x80}, func(c *wire.Cursor) { c.Uvarint() }, wire.ErrShort, 0, ""},
		{"uvarint 11 bytes", append(long, 1), func(c *wire.Cursor) { c.Uvarint() }, wire.ErrOverflow, 0, ""},
		{"uvarint 65 bits", append(long[:9:9], 2), func(c *wire.Cursor) { c.Uvarint() }, wire.ErrOverflow, 0, ""},
		{"uvarint overlong zero", []byte{0x80, 0}, func(c *wire.Cursor) { c.Uvarint() }, wire.ErrOverlong, 0, ""},
		{"uvarint overlong", []byte{7, 0x81, 0x80, 0}, func(c *wire.Cursor) { c.Uint8(); c.Uvarint() }, wire.ErrOverlong, 1, ""},
		{"bytes above limit", []byte{3, 1, 2, 3}, func(c *wire.Cursor) { c.Bytes(2) }, wire.ErrLimit, 0, "3, at most 2"},
		{"bytes cut", []byte{3, 1, 2}, func(c *wire.Cursor) { c.Bytes(9) }, wire.ErrShort, 0, ""},
		{"bytes of 2^63", []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, func(c *wire.Cursor) { c.Bytes(math.MaxInt) }, wire.ErrLimit, 0, ""},
		{"count too large for what is left", []byte{0, 3, 1, 2, 3, 4, 5}, func(c *wire.Cursor) { c.Uint8(); c.Count(9, 2) }, wire.ErrShort, 1, "3 of at least 2 bytes, 5 bytes left"},
		{"count times size overflows", []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}, func(c *wire.Cursor) { c.Count(math.MaxInt, math.MaxInt) }, wire.ErrShort, 0, ""},
		{"raw", []byte{1}, func(c *wire.Cursor) { c.Raw(2) }, wire.ErrShort, 0, ""},
		{"raw negative", []byte{1}, func(c *wire.Cursor) { c.Raw(-1) }, wire.ErrShort, 0, ""},
		{"trailing", []byte{1, 2}, func(c *wire.Cursor) { c.Uint8() }, wire.ErrTrailing, 1, ""},
		{"own error", []byte{1}, func(c *wire.Cursor) { c.Uint8(); c.Fail(errOwn); c.Fail(nil) }, errOwn, 1, "wire: at 1: own"},
		{"first error stays", []byte{1}, func(c *wire.Cursor) { c.Uint16(); c.Fail(errOwn); c.Uvarint() }, wire.ErrShort, 0, "uint16"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cur := wire.NewCursor(c.b)
			c.read(cur)
			err := cur.Close()
			var e *wire.Error
			if !errors.Is(err, c.want) || !errors.As(err, &e) {
				t.Fatalf("error %v, want %v", err, c.want)
			}
			if e.Offset != c.offset || !strings.Contains(err.Error(), c.text) {
				t.Errorf("error %q at %d, want %q at %d", err, e.Offset, c.text, c.offset)
			}
			if cur.Len() != 0 || cur.Uint8() != 0 || cur.Raw(0) != nil || cur.Bytes(9) != nil || cur.Count(9, 0) != 0 {
				t.Error("a cursor reads on after its error")
			}
		})
	}
}

var errOwn = errors.New("own")

func TestNoAllocation(t *testing.T) {
	b := wire.AppendBytes(wire.AppendUint64([]byte{1}, 2), []byte("abc"))
	n := testing.AllocsPerRun(100, func() {
		c := wire.NewCursor(b)
		_, _, p := c.Uint8(), c.Uint64(), c.Bytes(3)
		if c.Close() != nil || len(p) != 3 {
			t.Error("not read")
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzCursor reads arbitrary bytes by an arbitrary program: no panic, and what
// encoding/binary says where that has a say.
func FuzzCursor(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7}, wire.AppendBytes(wire.AppendUvarint([]byte{9}, 1<<40), []byte("abcdef")))
	f.Fuzz(func(t *testing.T, program, b []byte) {
		c := wire.NewCursor(b)
		for _, op := range program {
			before, left := c.Offset(), c.Len()
			switch op % 9 {
			case 0:
				c.Uint8()
			case 1:
				c.Uint16()
			case 2:
				c.Uint32()
			case 3:
				c.Uint64()
			case 4:
				want, n := binary.Uvarint(b[before : before+left])
				got := c.Uvarint()
				if minimal := n == len(binary.AppendUvarint(nil, want)); c.Err() == nil != (n > 0 && minimal && left > 0) || c.Err() == nil && got != want {
					t.Fatalf("uvarint %d, binary says %d in %d bytes: %v", got, want, n, c.Err())
				}
			case 5:
				c.Bytes(int(op))
			case 6:
				_ = c.String(int(op))
			case 7:
				if n := c.Count(int(op), 3); 3*n > c.Len() {
					t.Fatalf("count %d, %d bytes left", n, c.Len())
				}
			case 8:
				c.Raw(int(op) - 100)
			}
			if c.Offset() < before || c.Offset()+c.Len() > len(b) {
				t.Fatalf("at %d with %d left of %d", c.Offset(), c.Len(), len(b))
			}
		}
		if err := c.Close(); err == nil && c.Offset() != len(b) {
			t.Fatal("closed in the middle")
		}
	})
}

func BenchmarkCursor(b *testing.B) {
	var rec []byte
	for i := range uint64(1000) {
		rec = wire.AppendUint64(wire.AppendUvarint(rec, i), i)
	}
	b.SetBytes(int64(len(rec)))
	b.ReportAllocs()
	for b.Loop() {
		c := wire.NewCursor(rec)
		for c.Len() > 0 {
			c.Uvarint()
			c.Uint64()
		}
		if err := c.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
