package journal_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cespare/xxhash/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/segstore/segstore/segment/archive/journal"
)

// head is the head of the logs here.
func head() journal.Head {
	return journal.Head{Number: 7, Sequence: 100, Previous: 4711, Body: []byte("what the records need")}
}

// write returns a log of records, and where each begins; every sync-th is followed by
// a Sync.
func write(t testing.TB, records [][]byte, sync int) (b []byte, ends []int64) {
	t.Helper()
	fs := vfs.NewMem()
	w, err := journal.Create(fs, "log", head())
	if err != nil {
		t.Fatal(err)
	}
	ends = append(ends, w.Size())
	for i, r := range records {
		off, err := w.Append(uint8(i), r[:len(r)/2], r[len(r)/2:])
		if err != nil {
			t.Fatal(err)
		}
		if off != ends[i]+32 {
			t.Fatalf("record %d at %d, the one before ends at %d", i, off, ends[i])
		}
		if sync > 0 && i%sync == sync-1 {
			if err := w.Sync(); err != nil {
				t.Fatal(err)
			}
		}
		ends = append(ends, w.Size())
	}
	if w.Sequence() != 100+uint64(len(records)) {
		t.Fatalf("sequence %d", w.Sequence())
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Append(1, nil); err == nil {
		t.Error("appended after Close")
	}
	f, err := fs.Open("log")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b = make([]byte, w.Size())
	if _, err := f.ReadAt(b, 0); err != nil {
		t.Fatal(err)
	}
	return b, ends
}

func records(n int) (rs [][]byte) {
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		r := make([]byte, rng.IntN(60))
		for k := range r {
			r[k] = byte(rng.Uint32())
		}
		if i%5 == 0 {
			r = append(r, "RCRD and more"...) // as if a record began
		}
		rs = append(rs, r)
	}
	return rs
}

// scan reads a log and holds its records against want.
func scan(t testing.TB, b []byte, last bool, want [][]byte) (n int, end int64, err error) {
	t.Helper()
	h, begin, err := journal.ReadHead(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return 0, 0, err
	}
	end, next, err := journal.Scan(bytes.NewReader(b), &h, begin, int64(len(b)), h.Sequence, last, func(r journal.Record) error {
		if n >= len(want) || r.Sequence != 100+uint64(n) || r.Kind != uint8(n) || !bytes.Equal(r.Bytes, want[n]) || !bytes.Equal(b[r.Offset:][:len(r.Bytes)], r.Bytes) {
			t.Fatalf("record %d is %+v", n, r)
		}
		n++
		return nil
	})
	if next != 100+uint64(n) {
		t.Fatalf("%d records, next is %d", n, next)
	}
	return n, end, err
}

func TestRoundTrip(t *testing.T) {
	rs := records(50)
	rs = append(rs, bytes.Repeat([]byte("large"), 200_000))
	b, ends := write(t, rs, 1)
	h, begin, err := journal.ReadHead(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	if want := head(); h.Number != want.Number || h.Sequence != want.Sequence || h.Previous != want.Previous || !bytes.Equal(h.Body, want.Body) || begin != ends[0] {
		t.Fatalf("%+v, records from %d", h, begin)
	}
	for _, last := range []bool{true, false} {
		if n, end, err := scan(t, b, last, rs); n != len(rs) || end != int64(len(b)) || err != nil {
			t.Errorf("%d records up to %d of %d: %v", n, end, len(b), err)
		}
	}
	// From the middle on.
	n := 0
	end, next, err := journal.Scan(bytes.NewReader(b), &h, ends[20], int64(len(b)), 120, true, func(r journal.Record) error { n++; return nil })
	if err != nil || n != len(rs)-20 || end != int64(len(b)) || next != 100+uint64(len(rs)) {
		t.Errorf("%d records from number 120 on, up to %d, next %d: %v", n, end, next, err)
	}
	stop := errors.New("stop")
	if end, _, err := journal.Scan(bytes.NewReader(b), &h, begin, int64(len(b)), 100, true, func(r journal.Record) error { return stop }); !errors.Is(err, stop) || end != begin {
		t.Errorf("stopped at %d: %v", end, err)
	}
}

// The layout is what doc.go says, byte by byte; checksums by the library.
func TestGolden(t *testing.T) {
	b, _ := write(t, [][]byte{[]byte("abc")}, 1)
	const body = "what the records need"
	at := 64 + len(body) + 8
	le64 := func(off int) uint64 {
		v := uint64(0)
		for i := range 8 {
			v |= uint64(b[off+i]) << (8 * i)
		}
		return v
	}
	for what, ok := range map[string]bool{
		"magic":           string(b[:8]) == "\x89SEGLOG\n",
		"version":         le64(8) == 1,
		"number":          le64(16) == 7,
		"sequence":        le64(24) == 100,
		"previous":        le64(32) == 4711,
		"length of body":  le64(40) == uint64(len(body)),
		"sum of head":     le64(56) == xxhash.Sum64(b[:56]),
		"body":            string(b[64:64+len(body)]) == body,
		"record magic":    string(b[at:at+4]) == "RCRD",
		"record length":   le64(at+4)&0xffffffff == 3,
		"record sequence": le64(at+8) == 100,
		"record kind":     le64(at+16) == 0,
		"durable":         le64(at+24) == uint64(at),
		"record bytes":    string(b[at+32:at+35]) == "abc",
		"length":          len(b) == at+32+3+8,
	} {
		if !ok {
			t.Errorf("%s differs: % x", what, b)
		}
	}
	prefix := make([]byte, 32)
	copy(prefix, "RCRD\x00\x00\x00\x00\x07")
	prefix[16] = byte(at)
	if want := xxhash.Sum64(append(prefix, b[at:at+35]...)); le64(at+35) != want {
		t.Errorf("sum of the record %x, want %x", le64(at+35), want)
	}
}

// Cut anywhere, the last log ends with the last whole record; one that is not the
// last is damaged.
func TestEveryTruncation(t *testing.T) {
	rs := records(12)
	b, ends := write(t, rs, 1)
	for n := range len(b) {
		got, end, err := scan(t, b[:n], true, rs)
		if int64(n) < ends[0] {
			if !errors.Is(err, journal.ErrTorn) {
				t.Fatalf("cut at %d: %v", n, err)
			}
			continue
		}
		whole := 0
		for whole < len(rs) && ends[whole+1] <= int64(n) {
			whole++
		}
		if err != nil || got != whole || end != ends[whole] {
			t.Fatalf("cut at %d: %d records up to %d, want %d: %v", n, got, end, whole, err)
		}
		_, _, err = scan(t, b[:n], false, rs)
		if onEnd := int64(n) == ends[whole]; onEnd != (err == nil) || !onEnd && !errors.Is(err, journal.ErrDamaged) {
			t.Fatalf("cut at %d, not the last: %v", n, err)
		}
	}
}

// A byte flipped anywhere: in the last record it is the end of the log, before it
// damage with its place; records never change.
func TestEveryByteFlipped(t *testing.T) {
	rs := records(12)
	b, ends := write(t, rs, 1)
	for i := range b {
		c := bytes.Clone(b)
		c[i] ^= 1 << (i % 8)
		n, end, err := scan(t, c, true, rs)
		var e *journal.Error
		switch {
		case int64(i) < ends[0]:
			if err == nil {
				t.Fatalf("byte %d of the head: no error", i)
			}
		case int64(i) >= ends[len(rs)-1]:
			if err != nil || n != len(rs)-1 || end != ends[n] {
				t.Fatalf("byte %d of the last record: %d records up to %d, %v", i, n, end, err)
			}
		default:
			if !errors.As(err, &e) || e.Offset != ends[n] || e.Offset > int64(i) || ends[n+1] <= int64(i) || e.Length < ends[n+1]-ends[n] {
				t.Fatalf("byte %d: %d records, %v", i, n, err)
			}
		}
	}
}

// Of records that no Sync covers the later may be whole and the earlier not: that is
// the end of the log, no damage. Behind a Sync it is.
func TestHolesBeforeASync(t *testing.T) {
	rs := records(12)
	for _, sync := range []int{0, 4} {
		b, ends := write(t, rs, sync)
		for k := range rs {
			c := bytes.Clone(b)
			clear(c[ends[k]+4 : ends[k+1]])
			n, end, err := scan(t, c, true, rs)
			covered := sync > 0 && k < 8 // the last four are followed by nothing that was written after their Sync
			if n != k || end != ends[k] || covered != errors.Is(err, journal.ErrDamaged) {
				t.Errorf("sync after %d, hole in record %d: %d records, %v", sync, k, n, err)
			}
		}
	}
}

// Records of another log, or from another place, are none.
func TestRecordInTheWrongPlace(t *testing.T) {
	rs := records(12)
	b, ends := write(t, rs, 1)
	moved := append(bytes.Clone(b), b[ends[3]:ends[4]]...)
	if n, end, err := scan(t, moved, true, rs); n != len(rs) || end != int64(len(b)) || err != nil {
		t.Errorf("a record again: %d records, %v", n, err)
	}
	fs := vfs.NewMem()
	h := head()
	h.Number++
	w, err := journal.Create(fs, "log", h)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, err := w.Append(0, rs[0]); err != nil {
		t.Fatal(err)
	}
	other := make([]byte, w.Size())
	f, err := fs.Open("log")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.ReadAt(other, 0); err != nil {
		t.Fatal(err)
	}
	if n, _, err := scan(t, append(b[:ends[0]:ends[0]], other[ends[0]:]...), true, rs); n != 0 || err != nil {
		t.Errorf("a record of another log: %d records, %v", n, err)
	}
}

func TestCreateRefuses(t *testing.T) {
	fs := vfs.NewMem()
	if _, err := journal.Create(fs, "log", journal.Head{}); err == nil {
		t.Error("number 0")
	}
	w, err := journal.Create(fs, "log", head())
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, err := journal.Create(fs, "log", head()); err == nil {
		t.Error("made twice")
	}
	if _, err := w.Append(0, make([]byte, journal.MaxRecord), []byte{1}); !errors.Is(err, journal.ErrTooLong) {
		t.Errorf("too long: %v", err)
	}
	if _, err := w.Append(0, []byte{1}); err != nil {
		t.Errorf("after one that was too long: %v", err)
	}
}

func FuzzScan(f *testing.F) {
	for _, sync := range []int{0, 1, 4} {
		b, _ := write(f, records(6), sync)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		h, begin, err := journal.ReadHead(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		for _, last := range []bool{true, false} {
			at := begin
			end, next, err := journal.Scan(bytes.NewReader(b), &h, begin, int64(len(b)), h.Sequence, last, func(r journal.Record) error {
				if r.Offset < at || r.Offset+int64(len(r.Bytes)) > int64(len(b)) {
					return fmt.Errorf("record %+v behind %d", r, at)
				}
				at = r.Offset + int64(len(r.Bytes))
				return nil
			})
			if err != nil && !errors.Is(err, journal.ErrDamaged) {
				t.Fatal(err)
			}
			if end < begin || end > int64(len(b)) || next < h.Sequence {
				t.Fatalf("ends at %d, next is %d", end, next)
			}
		}
	})
}
