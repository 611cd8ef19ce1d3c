package blk

import "github.com/segstore/segstore/tools/chain"

// window is the part of a file that is being looked at: bytes as they lie, in one buffer that grows to what is asked for,
// but never far ahead of the bytes that are there. A chain.Input looks ahead less far than a block is long.
type window struct {
	in    *chain.Input
	buf   []byte
	lo    int   // first byte not yet taken
	off   int64 // of buf[lo] in the file
	end   bool  // buf ends where the file ends
	plain []byte
}

// have returns the bytes that are in the buffer.
func (w *window) have() []byte { return w.buf[w.lo:] }

// need reads until n bytes are in the buffer or the file ends, and reports whether they are. The error is one of reading.
func (w *window) need(n int) (bool, error) {
	for len(w.have()) < n && !w.end {
		b, err := w.in.Peek(chain.InputBuffer)
		if err != nil {
			return false, err
		}
		if w.end = len(b) == 0; w.end {
			break
		}
		w.makeRoom(len(b))
		w.buf = append(w.buf, b...)
		if err := w.in.Skip(int64(len(b)), "bytes that were seen"); err != nil {
			return false, err
		}
	}
	return len(w.have()) >= n, nil
}

// makeRoom makes room for n bytes more: it moves what is in the buffer to the front, of a larger one where that would be
// more than half full, so that bytes are moved a few times only.
func (w *window) makeRoom(n int) {
	if len(w.buf)+n <= cap(w.buf) {
		return
	}
	have := w.have()
	if size := len(have) + n; 2*size > cap(w.buf) {
		w.buf = append(make([]byte, 0, 2*size), have...)
	} else {
		w.buf = append(w.buf[:0], have...)
	}
	w.lo = 0
}

// take drops n bytes, which must be there.
func (w *window) take(n int) {
	w.lo += n
	w.off += int64(n)
}

// at returns bytes [from, to) of those that are there, without the obfuscation. They are valid until the next call.
func (w *window) at(from, to int, key Key) []byte {
	b := w.have()[from:to]
	if key == (Key{}) {
		return b
	}
	w.plain = append(w.plain[:0], b...)
	key.xor(w.plain, w.off+int64(from))
	return w.plain
}

// padding takes the zeros that come next and appends them to a gap record: zeros as they lie and, with hidden, zeros that
// were obfuscated, up to a magic or what is neither. Only with a key do they differ.
func (w *window) padding(gap []byte, key Key, isMagic func(Magic) bool, hidden bool) ([]byte, error) {
	for {
		kind, total := runZero, 0
		for {
			if _, err := w.need(len(Magic{})); err != nil {
				return gap, err
			}
			k, n := runZero, w.beforeMagic(leading(w.have()), key, isMagic)
			if hidden && key != (Key{}) {
				if h := w.beforeMagic(w.leadingKey(key), key, isMagic); h > n {
					k, n = runHidden, h
				}
			}
			if n == 0 || total > 0 && k != kind {
				break
			}
			w.take(n)
			kind, total = k, total+n
		}
		if total == 0 {
			return gap, nil
		}
		gap = appendRun(gap, kind, total)
	}
}

// leadingKey returns how many of the next bytes are zero without the obfuscation.
func (w *window) leadingKey(key Key) int {
	b, n := w.have(), 0
	for n < len(b) && b[n] == key[(w.off+int64(n))&7] {
		n++
	}
	return n
}

// beforeMagic shortens a run of zeros to what comes before a magic that begins with some of them: obfuscated, any magic may
// begin with zeros, and a signet's may as it is.
func (w *window) beforeMagic(n int, key Key, isMagic func(Magic) bool) int {
	b := w.have()
	for i := max(0, n-len(Magic{})+1); i < n; i++ {
		switch j := i + len(Magic{}); {
		case j > len(b) && w.end:
			return n
		case j > len(b): // the rest of it may be what is not read yet
			return i
		case isMagic(Magic(w.at(i, j, key))):
			return i
		}
	}
	return n
}
