package index

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"sort"

	"github.com/cespare/xxhash/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// A run is a temporary file of blocks, each of up to runPairs pairs and their
// xxh64; one process writes and reads it. Little-endian:
//
//	pair: 0:5 fingerprint   5:13 row
const (
	runPairBytes = fpBytes + 8
	runPairs     = (16<<10 - 8) / runPairBytes
	runBlock     = runPairs*runPairBytes + 8
)

// runFile is a run on disk.
type runFile struct {
	fs     vfs.FS
	name   string
	pairs  int
	firsts []uint64 // fingerprint of each block's first pair
}

// writeRun writes sorted pairs. The file is not synced: it is of no use after
// a crash.
func writeRun(fs vfs.FS, name string, pairs []pair) (run *runFile, err error) {
	f, err := fs.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	run = &runFile{fs: fs, name: name, pairs: len(pairs)}
	const blocks = 16 // a write
	buf := make([]byte, 0, blocks*runBlock)
	for len(pairs) > 0 {
		n := min(runPairs, len(pairs))
		run.firsts = append(run.firsts, pairs[0].fp)
		start := len(buf)
		for _, p := range pairs[:n] {
			buf = binary.LittleEndian.AppendUint64(buf, p.fp)
			buf = binary.LittleEndian.AppendUint64(buf[:len(buf)-8+fpBytes], p.row)
		}
		buf = binary.LittleEndian.AppendUint64(buf, xxhash.Sum64(buf[start:]))
		if pairs = pairs[n:]; len(pairs) == 0 || len(buf)+runBlock > cap(buf) {
			if _, err := f.Write(buf); err != nil {
				return nil, err
			}
			buf = buf[:0]
		}
	}
	return run, nil
}

// cursor steps through the pairs of a run with fingerprints of [lo, hi).
type cursor struct {
	pair pair // the current one
	hi   uint64

	memory []pair // the rest, of a run in memory

	run   *runFile
	file  vfs.File
	block int    // the next one
	buf   []byte // of a block
	left  []byte // of it, the pairs to come
}

func memoryCursor(pairs []pair, lo, hi uint64) *cursor {
	at := sort.Search(len(pairs), func(i int) bool { return pairs[i].fp >= lo })
	return &cursor{memory: pairs[at:], hi: hi}
}

// open returns a cursor before the first pair, to be closed.
func (r *runFile) open(lo, hi uint64) (*cursor, error) {
	f, err := r.fs.Open(r.name)
	if err != nil {
		return nil, err
	}
	// The block before the first one that begins in the range may end in it.
	at := sort.Search(len(r.firsts), func(i int) bool { return r.firsts[i] >= lo })
	c := &cursor{hi: hi, run: r, file: f, block: max(0, at-1), buf: make([]byte, runBlock)}
	for {
		if len(c.left) == 0 {
			if c.block == len(r.firsts) {
				return c, nil
			}
			if err := c.read(); err != nil {
				return nil, errors.Join(err, f.Close())
			}
		}
		if parsePair(c.left).fp >= lo {
			return c, nil
		}
		c.left = c.left[runPairBytes:]
	}
}

func (c *cursor) close() error {
	if c.file == nil {
		return nil
	}
	return c.file.Close()
}

// next makes the next pair the current one; false after the last.
func (c *cursor) next() (bool, error) {
	switch {
	case c.run == nil:
		if len(c.memory) == 0 {
			return false, nil
		}
		c.pair, c.memory = c.memory[0], c.memory[1:]
	default:
		if len(c.left) == 0 {
			if c.block == len(c.run.firsts) {
				return false, nil
			}
			if err := c.read(); err != nil {
				return false, err
			}
		}
		c.pair, c.left = parsePair(c.left), c.left[runPairBytes:]
	}
	return c.pair.fp < c.hi, nil
}

// read reads and checks a block.
func (c *cursor) read() error {
	n := min(runPairs, c.run.pairs-c.block*runPairs)*runPairBytes + 8
	b := c.buf[:n]
	if _, err := c.file.ReadAt(b, int64(c.block)*runBlock); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	sum := binary.LittleEndian.AppendUint64(nil, xxhash.Sum64(b[:n-8]))
	if !bytes.Equal(sum, b[n-8:]) {
		return damaged("temporary file %s: block %d: checksum", c.run.name, c.block)
	}
	c.left, c.block = b[:n-8], c.block+1
	return nil
}

func parsePair(b []byte) pair {
	b = b[:runPairBytes]
	return pair{binary.LittleEndian.Uint64(b) & (1<<fpBits - 1), binary.LittleEndian.Uint64(b[fpBytes:])}
}
