package segment

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/cespare/xxhash/v2"
	"github.com/segstore/segstore/codec/wire"
	"github.com/segstore/segstore/dict"
)

// recordKind is what a front record holds. Part of the format: add, never change.
type recordKind uint8

const (
	recordTable      recordKind = 1 // the table's name
	recordSchema     recordKind = 2
	recordLayout     recordKind = 3
	recordDictionary recordKind = 4 // kind of dictionary (1 byte), its bytes
)

const (
	recordHead = 8
	recordSize = recordHead + 8 // of an empty record

	maxDictionaries = 4096
	maxRecordBytes  = dict.MaxBytes + 1
	maxFrontBytes   = 256 << 20
)

func (k recordKind) section() Section {
	switch k {
	case recordTable:
		return SectionTable
	case recordSchema:
		return SectionSchema
	case recordLayout:
		return SectionLayout
	}
	return SectionDictionary
}

// record is one front record:
//
//	0:1 kind  1:2 zero  2:4 index  4:8 length of the bytes
//	8:  bytes, then the xxh64 over ID, 0:8 and the bytes
//
// index numbers the dictionaries from 0 and is 0 for the others.
type record struct {
	kind  recordKind
	index int
	body  []byte
}

func (r record) size() int { return recordSize + len(r.body) }

func (r record) appendTo(dst []byte, id ID) []byte {
	start := len(dst)
	dst = append(dst, byte(r.kind), 0)
	dst = wire.AppendUint16(dst, uint16(r.index))
	dst = wire.AppendUint32(dst, uint32(len(r.body)))
	dst = append(dst, r.body...)
	return wire.AppendUint64(dst, recordSum(id, dst[start:]))
}

func recordSum(id ID, b []byte) uint64 {
	var d xxhash.Digest
	d.Reset()
	d.Write(id[:])
	d.Write(b)
	return d.Sum64()
}

// readRecord reads one record. Its bytes alias the cursor's.
func readRecord(c *wire.Cursor, id ID) (record, error) {
	head := c.Raw(recordHead)
	if head == nil {
		return record{}, c.Err()
	}
	r := record{kind: recordKind(head[0]), index: int(le.Uint16(head[2:]))}
	n := le.Uint32(head[4:])
	if n > maxRecordBytes || int(n) > c.Len() {
		return r, fmt.Errorf("record of %d bytes where %d are left, at most %d", n, c.Len(), maxRecordBytes)
	}
	r.body = c.Raw(int(n))
	want := c.Uint64()
	if err := c.Err(); err != nil {
		return r, err
	}
	var d xxhash.Digest
	d.Reset()
	d.Write(id[:])
	d.Write(head)
	d.Write(r.body)
	if got := d.Sum64(); got != want {
		return r, &sumError{got, want}
	}
	if head[1] != 0 {
		return r, errZero
	}
	return r, nil
}

// front is what the front records say: all that is needed to read chunks.
type front struct {
	table        string
	schema       Schema
	layout       Layout
	dictionaries []*dict.Dict
}

// records returns the front records in their order: table, schema, layout, then
// the dictionaries.
func (f *front) records() []record {
	rs := []record{
		{kind: recordTable, body: []byte(f.table)},
		{kind: recordSchema, body: f.schema.appendTo(nil)},
		{kind: recordLayout, body: f.layout.appendTo(nil)},
	}
	return append(rs, f.dictionaryRecords()...)
}

func (f *front) dictionaryRecords() (rs []record) {
	for i, d := range f.dictionaries {
		rs = append(rs, record{recordDictionary, i, append([]byte{byte(d.Kind())}, d.Bytes()...)})
	}
	return rs
}

func (f *front) dictionaryBytes() (n int64) {
	for _, d := range f.dictionaries {
		n += int64(recordSize + 1 + len(d.Bytes()))
	}
	return n
}

// take adds what a record says.
func (f *front) take(r record, known []*dict.Dict) error {
	switch r.kind {
	case recordTable:
		if err := ValidateName(string(r.body)); err != nil {
			return err
		}
		f.table = string(r.body)
		return nil
	case recordSchema:
		s, err := decodeSchema(r.body)
		if err == nil {
			f.schema = s
		}
		return err
	case recordLayout:
		l, err := decodeLayout(r.body)
		if err == nil {
			f.layout = l
		}
		return err
	case recordDictionary:
		if len(r.body) < 1 {
			return fmt.Errorf("dictionary without a kind")
		}
		if i := len(f.dictionaries); i < len(known) && known[i] != nil && byte(known[i].Kind()) == r.body[0] && bytes.Equal(known[i].Bytes(), r.body[1:]) {
			f.dictionaries = append(f.dictionaries, known[i])
			return nil
		}
		d, err := newDictionary(r.body[0], r.body[1:]) // which are little else than the records' own memory
		if err == nil {
			f.dictionaries = append(f.dictionaries, d)
		}
		return err
	}
	return fmt.Errorf("unknown record kind %d", r.kind)
}

// newDictionary returns the dictionary of a kind; it keeps b.
func newDictionary(kind uint8, b []byte) (*dict.Dict, error) {
	k := dict.Kind(kind)
	if k != dict.Zstd && k != dict.RawContent {
		return nil, fmt.Errorf("%w: dictionary of %s", ErrVersion, k)
	}
	return dict.New(k, b)
}

// expect returns the kind and index of record i.
func expect(i int) (recordKind, int) {
	if i < 3 {
		return recordKind(i + 1), 0
	}
	return recordDictionary, i - 3
}

// decodeFront reads the front records b, which lie at offset 64 of the file.
// It calls flaw for every damaged record and goes on where the next one can be
// found; without flaws, what it returns is whole and consistent. known are
// dictionaries that have been read elsewhere: equal ones are not made again.
func decodeFront(b []byte, id ID, known []*dict.Dict, flaw func(*CorruptionError)) *front {
	f := &front{}
	c := wire.NewCursor(b)
	ok := true
	bad := func(s Section, index int, off, n int, err error) {
		ok = false
		e := damage(s, headerSize+int64(off), int64(n), err)
		e.Block = index
		flaw(e)
	}
	i := 0
	for ; c.Len() > 0 && i < 3+maxDictionaries; i++ {
		kind, index := expect(i)
		off := c.Offset()
		r, err := readRecord(c, id)
		n := c.Offset() - off
		if c.Err() != nil || n == recordHead || n == 0 { // its length cannot be trusted: no next record to be found
			bad(kind.section(), index, off, len(b)-off, err)
			return f
		}
		if err == nil && (r.kind != kind || r.index != index) {
			err = fmt.Errorf("record of kind %d, index %d; expected %d, %d", r.kind, r.index, kind, index)
		}
		if err == nil {
			err = f.take(r, known)
		}
		if err != nil {
			lost := false // its length is damaged, it seems: what follows is no record
			var sum *sumError
			if errors.As(err, &sum) {
				kind, index := expect(i + 1)
				next := b[c.Offset():]
				lost = len(next) > 0 && (len(next) < recordHead || recordKind(next[0]) != kind || next[1] != 0 || int(le.Uint16(next[2:])) != index)
			}
			if lost {
				n = len(b) - off
			}
			bad(kind.section(), index, off, n, err)
			if lost {
				return f
			}
			if kind == recordDictionary { // those behind it keep their numbers
				f.dictionaries = append(f.dictionaries, nil)
			}
		}
	}
	switch {
	case i < 3:
		kind, _ := expect(i)
		bad(kind.section(), 0, len(b), 0, fmt.Errorf("front records end before it"))
	case c.Len() > 0:
		bad(SectionDictionary, 0, c.Offset(), c.Len(), fmt.Errorf("more than %d dictionaries", maxDictionaries))
	}
	if ok {
		if err := f.layout.check(f.schema, len(f.dictionaries)); err != nil {
			bad(SectionLayout, 0, 0, len(b), err)
		}
	}
	return f
}

// identify computes the ID of a segment: the first 16 bytes of the SHA-256 over
// the format version, table, schema, first row, policy text and the SHA-256 of
// each dictionary.
func (f *front) identify(firstRow uint64, policy string) ID {
	b := wire.AppendUint32(nil, Version)
	b = wire.AppendString(b, f.table)
	b = wire.AppendBytes(b, f.schema.appendTo(nil))
	b = wire.AppendUint64(b, firstRow)
	b = wire.AppendString(b, policy)
	b = wire.AppendUvarint(b, uint64(len(f.dictionaries)))
	for _, d := range f.dictionaries {
		h := d.ID()
		b = append(b, h[:]...)
	}
	sum := sha256.Sum256(b)
	return ID(sum[:16])
}
