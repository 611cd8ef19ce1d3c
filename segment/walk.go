package segment

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// window reads a file front to back through one buffer.
type window struct {
	r    io.ReaderAt
	size int64
	off  int64 // of b in the file
	b    []byte
	buf  []byte
	read int64 // bytes so far
}

const windowBytes = 128 << 10 // small enough to stay in a core's cache while it is hashed

// has reports whether n bytes at off are in the buffer.
func (w *window) has(off int64, n int) bool {
	i := off - w.off
	return i >= 0 && i+int64(n) <= int64(len(w.b))
}

// at returns n bytes at off, fewer where the file ends. They are valid until the
// next call. Where they are not in the buffer, as many as ahead are read.
func (w *window) at(off int64, n, ahead int) ([]byte, error) {
	n = int(min(int64(n), max(w.size-off, 0)))
	if w.has(off, n) {
		i := off - w.off
		return w.b[i : i+int64(n)], nil
	}
	want := int(min(int64(max(n, ahead)), w.size-off))
	if cap(w.buf) > maxKept || cap(w.buf) < want {
		w.buf = make([]byte, max(want, int(min(windowBytes, w.size))))
	}
	w.b, w.off = w.buf[:want], off
	w.read += int64(want)
	if err := readFull(w.r, w.b, off); err != nil {
		w.b = nil
		return nil, err
	}
	return w.b[:n], nil
}

// some returns the bytes at off that are in memory, up to end; or the next ones,
// where they are fewer than least.
func (w *window) some(off, end int64, least int) ([]byte, error) {
	if i := off - w.off; i >= 0 && i+int64(least) <= int64(len(w.b)) {
		return w.b[i:min(int64(len(w.b)), end-w.off)], nil
	}
	return w.at(off, int(min(windowBytes, end-off)), windowBytes)
}

// piece is a chunk as it lies in the file.
type piece struct {
	index int
	off   int64
	frame frame
	bytes []byte // frame and blocks; valid until the next step
}

// piece returns chunk i without its bytes.
func (t *chunkTable) piece(i int) piece {
	p := piece{index: i, off: t.offset[i], frame: frame{first: t.first[i], rows: t.rows(i), lens: t.lengths(i), sum: t.sums[i]}}
	p.frame.size = frameSize(p.frame.first, p.frame.rows, p.frame.lens)
	return p
}

func (p *piece) place(s Section) Place {
	return Place{Section: s, Chunk: p.index, FirstRow: p.frame.first, Rows: uint64(p.frame.rows), Offset: p.off, Length: int64(p.frame.size)}
}

// size is the bytes of the chunk, by its frame.
func (f *frame) total() int64 {
	n := int64(f.size)
	for _, l := range f.lens {
		n += int64(l)
	}
	return n
}

// walk yields every chunk that the directory names; or, without one, every chunk
// whose frame is found and whole, searching on behind what is not. flaw is called
// for what is in between. yield returns false to stop.
func (a *anatomy) walk(blocks int, flaw func(*Flaw) bool, yield func(piece) (bool, error)) error {
	w := &window{r: a.r, size: a.size}
	if a.directory == nil {
		return a.search(w, blocks, flaw, yield)
	}
	t := a.directory.chunks
	for i := range t.len() {
		p := t.piece(i)
		n, ahead := int(t.offset[i+1]-p.off), 0
		if !w.has(p.off, n) {
			ahead = int(t.offset[t.within(i, windowBytes)] - p.off)
		}
		var err error
		if p.bytes, err = w.at(p.off, n, ahead); err != nil {
			return err
		}
		if more, err := yield(p); err != nil || !more {
			return err
		}
	}
	return nil
}

// search walks chunks by their frames.
func (a *anatomy) search(w *window, blocks int, flaw func(*Flaw) bool, yield func(piece) (bool, error)) error {
	end := a.size
	if a.footer != nil {
		end = int64(a.footer.dirOffset)
	}
	off, next := a.start(), a.firstRow()
	lost := int64(-1) // where what cannot be read began
	report := func(to int64, err error) bool {
		if lost < 0 {
			return true
		}
		f := damage(SectionFrame, lost, to-lost, err)
		f.FirstRow = next
		lost = -1
		return flaw(f)
	}
	index := 0
	lens := make([]uint32, blocks)
	patience := maxFalseFrames * (end - off)
	for off < end {
		p, vain, err := a.pieceAt(w, off, end, lens, next)
		if err != nil {
			return err
		}
		if p != nil {
			gap := fmt.Errorf("no whole frame here; the next begins with row %d", p.frame.first)
			if !report(off, gap) {
				return nil
			}
			if p.frame.first > next {
				f := damage(SectionFrame, off, 0, fmt.Errorf("rows %d to %d are missing before this chunk", next, p.frame.first-1))
				f.FirstRow, f.Rows = next, p.frame.first-next
				if !flaw(f) {
					return nil
				}
			}
			p.index = index
			index++
			if more, err := yield(*p); err != nil || !more {
				return err
			}
			next = p.frame.first + uint64(p.frame.rows)
			off += p.frame.total()
			continue
		}
		if lost < 0 {
			lost = off
		}
		if patience -= vain; patience < 0 {
			report(end, errors.New("more that looks like a frame and is none than is worth a search"))
			break
		}
		if off, err = findMagic(w, off+1, end); err != nil {
			return err
		}
	}
	if a.footer == nil {
		lost = -1 // the rest may be the directory: the flaw of the footer covers it
		return nil
	}
	report(end, fmt.Errorf("no whole frame here, nor behind it"))
	if want := a.footer.firstRow + a.footer.rows; next < want {
		f := damage(SectionFrame, end, 0, fmt.Errorf("rows %d to %d are missing at the end", next, want-1))
		f.FirstRow, f.Rows = next, want-next
		flaw(f)
	}
	return nil
}

// maxFalseFrames bounds a search in bytes made to look like frames: so many times
// the bytes searched may be read and parsed for frames that turn out to be none.
const maxFalseFrames = 64

// pieceAt returns the chunk at off, or nil where there is none whole, and what it
// took to know that, in bytes: its frame's checksum must hold, which
// covers the checksums of the blocks, and its rows come after those before it.
// The frame's lengths are in lens.
func (a *anatomy) pieceAt(w *window, off, end int64, lens []uint32, next uint64) (p *piece, vain int64, err error) {
	b, err := w.at(off, int(min(int64(maxFrameSize(len(lens))), end-off)), windowBytes)
	if err != nil {
		return nil, 0, err
	}
	f, err := decodeFrame(b, lens)
	vain = int64(len(frameMagic)+len(lens)) - w.read
	if err != nil || f.first < next || f.total() > end-off || a.beyond(&f) {
		return nil, vain + w.read, nil
	}
	p = &piece{off: off, frame: f}
	if p.bytes, err = w.at(off, int(f.total()), windowBytes); err != nil {
		return nil, 0, err
	}
	if sum, _ := p.sum(a.id(), nil); sum != f.sum {
		return nil, vain + w.read, nil
	}
	return p, 0, nil
}

// beyond reports whether a frame has rows behind the last one, where that is known.
func (a *anatomy) beyond(f *frame) bool {
	return a.footer != nil && f.first+uint64(f.rows) > a.footer.firstRow+a.footer.rows
}

// sum computes the checksum that the frame should have; buf is used again.
func (p *piece) sum(id ID, buf []byte) (uint64, []byte) {
	return frameSum(buf, id, p.bytes[:p.frame.size-8], p.frame.lens, p.bytes[p.frame.size:])
}

// findMagic returns where the next frame may be, at off or behind, or end.
func findMagic(w *window, off, end int64) (int64, error) {
	for end-off >= int64(len(frameMagic)) {
		b, err := w.some(off, end, len(frameMagic))
		if err != nil {
			return 0, err
		}
		if i := bytes.Index(b, []byte(frameMagic)); i >= 0 {
			return off + int64(i), nil
		}
		off += int64(len(b) - len(frameMagic) + 1) // the end may be the beginning of one
	}
	return end, nil
}
