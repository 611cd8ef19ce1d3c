package segment

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/segstore/segstore/codec"
	"github.com/segstore/segstore/dict"
)

// Flaw is one thing wrong with a segment file.
type Flaw = CorruptionError

// anatomy is what of a possibly damaged file could be understood: each part is
// nil (or its flag false) where it could not.
type anatomy struct {
	r    io.ReaderAt
	size int64

	header    *header
	footer    *footer
	front     *front // whole only if frontOK
	frontOK   bool
	directory *directory
}

// dissect reads everything but the chunks. flaw is called for each flaw, in the
// order of the file. An error is of I/O or version.
func dissect(r io.ReaderAt, size int64, encodings []codec.Encoding, flaw func(*Flaw)) (*anatomy, error) {
	a := &anatomy{r: r, size: size}
	if size < headerSize+footerSize {
		flaw(damage(SectionFile, 0, max(size, 0), errTooSmall))
		return a, nil
	}
	tail, err := readTail(r, size)
	if err != nil {
		return nil, err
	}
	var late []*Flaw // of footer and directory, which come after the front
	keep := func(s Section, off, n int64, err error) error {
		err = sectionError(s, off, n, err)
		var ce *CorruptionError
		if errors.As(err, &ce) {
			late = append(late, ce)
			return nil
		}
		return err
	}
	var f footer
	if err := f.decode(tail[len(tail)-footerSize:], size); err == nil {
		a.footer = &f
	} else if err = keep(SectionFooter, size-footerSize, footerSize, err); err != nil {
		return nil, err
	}
	if a.footer != nil {
		packed, err := readDirectory(r, a.footer, tail)
		if err != nil {
			return nil, err
		}
		d, err := openDirectory(packed, a.footer, encodings)
		if err == nil {
			a.directory = d
		} else if err = keep(SectionDirectory, int64(f.dirOffset), int64(f.dirLength), err); err != nil {
			return nil, err
		}
	}
	if err := a.readFront(flaw); err != nil {
		return nil, err
	}
	a.compare(flaw)
	for _, e := range late {
		flaw(e)
	}
	return a, nil
}

// readFront reads header and front records.
func (a *anatomy) readFront(flaw func(*Flaw)) error {
	b := make([]byte, headerSize)
	err := readFull(a.r, b, 0)
	if err != nil {
		return err
	}
	var h header
	if err := h.decode(b); err == nil {
		a.header = &h
	} else if errors.Is(err, ErrVersion) {
		return err
	} else {
		flaw(damage(SectionHeader, 0, headerSize, err))
	}
	n := uint64(0)
	switch {
	case a.footer != nil:
		n = a.footer.front
	case a.header != nil:
		n = a.header.front
	default:
		return nil // nothing says how long the front is
	}
	if n > maxFrontBytes || n > uint64(a.size-headerSize) {
		flaw(damage(SectionHeader, 0, headerSize, fmt.Errorf("front records of %d bytes in a file of %d, at most %d", n, a.size, maxFrontBytes)))
		a.header = nil
		return nil
	}
	b = make([]byte, n)
	if err := readFull(a.r, b, headerSize); err != nil {
		return err
	}
	a.frontOK = true
	var known []*dict.Dict
	if a.directory != nil {
		known = a.directory.dictionaries
	}
	a.front = decodeFront(b, a.id(), known, func(e *Flaw) {
		a.frontOK = false
		if errors.Is(e.Err, ErrVersion) && (a.directory == nil || e.Section == SectionDictionary) {
			err = e.Err // whole, and not understood here; the directory was, and repeats all but dictionaries
			return
		}
		flaw(understoodElsewhere(e))
	})
	return err
}

// id returns the segment's ID by footer or header; one of them is there.
func (a *anatomy) id() ID {
	if a.footer != nil {
		return a.footer.id
	}
	return a.header.id
}

// compare holds the parts against each other.
func (a *anatomy) compare(flaw func(*Flaw)) {
	if h, f := a.header, a.footer; h != nil && f != nil && (h.id != f.id || h.firstRow != f.firstRow || h.front != f.front || h.ignorable != f.ignorable) {
		flaw(damage(SectionHeader, 0, headerSize, fmt.Errorf("ID %s, first row %d, front records of %d bytes; the footer has %s, %d, %d", h.id, h.firstRow, h.front, f.id, f.firstRow, f.front)))
	}
	d := a.directory
	if d == nil || !a.frontOK {
		return
	}
	end := headerSize + int64(a.footer.front)
	bad := func(s Section) {
		flaw(damage(s, headerSize, end-headerSize, errors.New("front record differs from the directory's copy")))
	}
	if a.front.table != d.table {
		bad(SectionTable)
	}
	if !a.front.schema.Equal(d.schema) {
		bad(SectionSchema)
	}
	if !bytes.Equal(a.front.layout.appendTo(nil), d.layout.appendTo(nil)) {
		bad(SectionLayout)
	}
	same := len(a.front.dictionaries) == len(d.dictionaryIDs)
	for i := 0; same && i < len(d.dictionaryIDs); i++ {
		same = a.front.dictionaries[i].ID() == d.dictionaryIDs[i]
	}
	if !same {
		bad(SectionDictionary)
		return
	}
	whole := *a.front
	if id := whole.identify(a.footer.firstRow, d.policy); id != a.footer.id {
		flaw(damage(SectionFooter, a.size-footerSize, footerSize, fmt.Errorf("ID is %s, the front records and the policy make %s", a.footer.id, id)))
	}
}

// understood returns what chunks can be read with, from whichever copy is whole;
// an error where neither is.
func (a *anatomy) understood() (*front, error) {
	f := &front{}
	switch {
	case a.directory != nil:
		*f = a.directory.front
		if !a.directory.copied {
			f.dictionaries = make([]*dict.Dict, len(a.directory.dictionaryIDs))
		}
	case a.front != nil && len(a.front.schema.Columns) > 0 && len(a.front.layout.Columns) == len(a.front.schema.Columns) && a.front.table != "":
		*f = *a.front
	default:
		return nil, errors.New("neither the front records nor the directory can be read: nothing says what the chunks hold")
	}
	for i := range f.dictionaries {
		if f.dictionaries[i] == nil && a.front != nil && i < len(a.front.dictionaries) && a.front.dictionaries[i] != nil &&
			(a.directory == nil || a.front.dictionaries[i].ID() == a.directory.dictionaryIDs[i]) {
			f.dictionaries[i] = a.front.dictionaries[i]
		}
		if f.dictionaries[i] == nil {
			return nil, fmt.Errorf("dictionary %d is lost", i)
		}
	}
	return f, f.layout.check(f.schema, len(f.dictionaries))
}

// start returns where chunks start.
func (a *anatomy) start() int64 {
	if a.footer != nil {
		return headerSize + int64(a.footer.front)
	}
	return headerSize + int64(a.header.front)
}

// firstRow returns the segment's first row.
func (a *anatomy) firstRow() uint64 {
	if a.footer != nil {
		return a.footer.firstRow
	}
	return a.header.firstRow
}
