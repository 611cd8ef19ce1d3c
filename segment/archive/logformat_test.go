package archive_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/cespare/xxhash/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/klauspost/compress/s2"
	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/segment/archive"
)

// logBytes takes a log apart as FORMAT.md says, with nothing of this module.
type logBytes struct {
	t   *testing.T
	b   []byte
	off int
}

func (l *logBytes) raw(n int) []byte {
	l.t.Helper()
	if n < 0 || n > len(l.b)-l.off {
		l.t.Fatalf("%d bytes at %d of %d", n, l.off, len(l.b))
	}
	l.off += n
	return l.b[l.off-n : l.off]
}

func (l *logBytes) u32() uint32    { return binary.LittleEndian.Uint32(l.raw(4)) }
func (l *logBytes) u64() uint64    { return binary.LittleEndian.Uint64(l.raw(8)) }
func (l *logBytes) string() string { return string(l.raw(int(l.uvarint()))) }

func (l *logBytes) uvarint() uint64 {
	n, size := binary.Uvarint(l.b[l.off:])
	l.raw(size)
	return n
}

// is compares numbers in the order in which they come.
func (l *logBytes) is(what string, got, want uint64) {
	l.t.Helper()
	if got != want {
		l.t.Fatalf("%s, before offset %d: %#x, want %#x", what, l.off, got, want)
	}
}

func (l *logBytes) text(what, want string) {
	l.t.Helper()
	if got := string(l.raw(len(want))); got != want {
		l.t.Fatalf("%s, before offset %d: %q, want %q", what, l.off, got, want)
	}
}

func numbers(n ...uint64) (b []byte) {
	for _, n := range n {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	return b
}

// logEvent is a record in words: its kind, and by table the rows or the end it names.
type logEvent string

// parseLog returns what the records of a log say, and the values of single columns.
func parseLog(t *testing.T, b []byte, number, previous uint64, sequence *uint64) (events []logEvent) {
	l := &logBytes{t: t, b: b}
	l.text("magic", "\x89SEGLOG\n")
	l.is("version", uint64(l.u32()), 1)
	l.is("reserved", uint64(l.u32()), 0)
	l.is("number", l.u64(), number)
	l.is("sequence", l.u64(), *sequence)
	l.is("end of the log before", l.u64(), previous)
	n := l.u64()
	l.is("reserved", l.u64(), 0)
	l.is("sum of the head", l.u64(), xxhash.Sum64(b[:56]))
	body := &logBytes{t: t, b: l.raw(int(n))}
	l.is("sum of the body", l.u64(), xxhash.Sum64(slices.Concat([]byte("\x89SEGLOG\n"), numbers(number, 0, 0), body.b)))

	ids, blocks := map[string][]byte{}, map[string]int{"blocks": 3, "notes": 1} // one a column
	for range body.uvarint() {
		name := body.string()
		id := sha256.Sum256(slices.Concat([]byte("segstore log"), numbers(number), []byte{byte(len(name))}, []byte(name)))
		ids[name] = id[:16]
		events = append(events, logEvent(fmt.Sprintf("%s from %d", name, body.uvarint())))
		front := &logBytes{t: t, b: body.raw(int(body.uvarint()))}
		for kind := byte(1); kind <= 3; kind++ { // no dictionaries: nothing was sealed
			from := front.off
			if got := front.raw(4)[0]; got != kind {
				t.Fatalf("front record of kind %d, want %d", got, kind)
			}
			front.raw(int(front.u32()))
			sum := xxhash.Sum64(slices.Concat(id[:16], front.b[from:front.off]))
			front.is("sum of a front record", front.u64(), sum)
		}
		front.is("front records", uint64(front.off), uint64(len(front.b)))
	}

	for l.off < len(b) {
		from := l.off
		l.text("magic", "RCRD")
		n := l.u32()
		l.is("sequence", l.u64(), *sequence)
		*sequence++
		kind := l.raw(1)[0]
		l.text("reserved", "\x00\x00\x00\x00\x00\x00\x00")
		if durable := l.u64(); durable > uint64(from) {
			t.Fatalf("record at %d written when %d bytes were durable", from, durable)
		}
		says := &logBytes{t: t, b: l.raw(int(n))}
		sum := xxhash.Sum64(slices.Concat([]byte("RCRD\x00\x00\x00\x00"), numbers(number, uint64(from), 0), b[from:l.off]))
		l.is("sum of a record", l.u64(), sum)
		switch kind {
		case 1:
			events = append(events, parseCommit(says, ids, blocks)...)
		case 2:
			for range says.uvarint() {
				events = append(events, logEvent(fmt.Sprintf("rewind %s to %d", says.string(), says.uvarint())))
			}
		case 3:
			events = append(events, "end")
		default:
			t.Fatalf("record of kind %d", kind)
		}
		says.is("bytes of a record", uint64(says.off), uint64(len(says.b)))
	}
	return events
}

// parseCommit returns an event for each frame, with the values if it has one column.
func parseCommit(l *logBytes, ids map[string][]byte, blocks map[string]int) (events []logEvent) {
	type frame struct {
		table             string
		first, rows, size uint64
	}
	var frames []frame
	for range l.uvarint() {
		name, first := l.string(), l.uvarint()
		for range l.uvarint() {
			f := frame{table: name, first: first, rows: l.uvarint()}
			l.uvarint() // bytes of values
			f.size = l.uvarint()
			frames = append(frames, f)
			first += f.rows
		}
	}
	for _, f := range frames {
		from := l.off
		l.text("magic", "CHNK")
		l.is("first row", l.uvarint(), f.first)
		l.is("rows", l.uvarint(), f.rows)
		var sizes []uint64
		for range blocks[f.table] {
			sizes = append(sizes, l.uvarint())
		}
		head, sum := l.b[from:l.off], l.u64()
		var sums, values []byte
		for column, size := range sizes {
			if size == 0 {
				continue
			}
			at := l.off
			codec, raw := l.raw(1)[0], l.uvarint()
			values = l.raw(int(size) - 8 - (l.off - at))
			if codec == 1 {
				var err error
				if values, err = s2.Decode(nil, values); err != nil {
					l.t.Fatal(err)
				}
			}
			l.is("bytes before compression", uint64(len(values)), raw)
			place := binary.LittleEndian.AppendUint32(nil, uint32(column))
			place = binary.LittleEndian.AppendUint32(place, 0)
			want := xxhash.Sum64(slices.Concat(ids[f.table], place, numbers(f.first), l.b[at:l.off]))
			l.is("sum of a block", l.u64(), want)
			sums = append(sums, l.b[l.off-8:l.off]...)
		}
		l.is("sum of a frame", sum, xxhash.Sum64(slices.Concat(ids[f.table], head, sums)))
		l.is("bytes of a frame", uint64(l.off-from), f.size)
		e := fmt.Sprintf("commit %d %s from %d", f.rows, f.table, f.first)
		if f.table == "notes" && values[0] == 0 { // no lengths: all are as long
			e += ": " + string(values[1:])
		}
		events = append(events, logEvent(e))
	}
	return events
}

// Logs are what FORMAT.md says, to the byte.
func TestLogFormat(t *testing.T) {
	for _, compress := range []bool{false, true} {
		t.Run(fmt.Sprint("compress=", compress), func(t *testing.T) { testLogFormat(t, compress) })
	}
}

func testLogFormat(t *testing.T, compress bool) {
	fs, o := vfs.NewMem(), archive.Options{SealBytes: -1, Workers: 1, CompressLog: compress}
	a := openPairs(t, fs, o)
	ctx := context.Background()
	for n := range uint64(3) {
		if _, err := pair(a, n); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Rewind(ctx, archive.Position{"notes": 1}); err != nil {
		t.Fatal(err)
	}
	mustClose(t, a)
	a = mustOpen(t, fs, "/chain", o)
	b := a.Batch()
	for n := range uint64(2) {
		if err := b.Append("notes", killedNote(n+5)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	unclosed := readFile(t, fs, "/chain/log-000002")
	sequence := uint64(0)
	first := readFile(t, fs, "/chain/log-000001")
	events := parseLog(t, first, 1, 0, &sequence)
	events = append(events, parseLog(t, unclosed, 2, uint64(len(first)), &sequence)...)
	mustClose(t, a)
	want := []logEvent{
		"blocks from 0", "notes from 0",
		"commit 1 blocks from 0", "commit 1 notes from 0: note 0",
		"commit 1 blocks from 1", "commit 1 notes from 1: note 1",
		"commit 1 blocks from 2", "commit 1 notes from 2: note 2",
		"rewind notes to 1", "end",
		"blocks from 3", "notes from 1",
		"commit 2 notes from 1: note 5note 6",
	}
	if !slices.Equal(events, want) {
		t.Errorf("the logs say\n%q, want\n%q", events, want)
	}
}

// CompressLog makes logs smaller, and changes nothing of what is read.
func TestCompressLog(t *testing.T) {
	var sizes [2]int64
	for i, compress := range []bool{false, true} {
		fs := vfs.NewMem()
		a := openPairs(t, fs, archive.Options{SealBytes: -1, Workers: 1, CompressLog: compress})
		b := a.Batch()
		value := bytes.Repeat([]byte("as before, "), 10)
		for range 100 {
			must(t, b.Append("notes", segment.Row{value}))
		}
		_, err := b.Commit(context.Background())
		must(t, err)
		sizes[i] = fileBytes(t, fs, "log-") - logHead(t, fs, "log-000001")
		notes, err := a.Table("notes")
		must(t, err)
		if row, err := notes.Row(nil, 99); err != nil || !bytes.Equal(row[0], value) {
			t.Errorf("compress %v: %q, %v", compress, row, err)
		}
		mustClose(t, a)
	}
	if raw := int64(100 * 110); sizes[0] < raw || sizes[1] > raw/5 {
		t.Errorf("logs grew by %d bytes and, compressed, by %d, for values of %d", sizes[0], sizes[1], raw)
	}
}
