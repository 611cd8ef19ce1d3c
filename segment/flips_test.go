package segment_test

import (
	"bytes"
	"testing"

	"github.com/segstore/segstore/segment"
)

// TestEveryByteFlippedWithDictionaries flips every byte of a file with both kinds
// of dictionaries at the front.
func TestEveryByteFlippedWithDictionaries(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	b := baseNamed(t, "dictionaries")
	testFlips(t, b.file, b.rows)
}

// TestEveryBitFound flips bits of files with a dictionary in both places, with a
// compressed directory, and without a single block.
func TestEveryBitFound(t *testing.T) {
	for _, name := range []string{"one row", "dictionaries twice", "empty values"} {
		whole := baseNamed(t, name).file
		var p segment.Place
		for p = range open(t, whole, segment.ReaderOptions{}).Places() {
			for i := p.Offset; i < p.Offset+p.Length; i++ {
				b := bytes.Clone(whole)
				b[i] ^= 1 << (i * 5 % 8)
				found := false
				fs := flaws(t, b, segment.Checksums)
				for _, f := range fs {
					found = found || f.Section == p.Section && f.Chunk == p.Chunk && f.Column == p.Column && f.Block == p.Block
				}
				if !found {
					t.Errorf("%s: byte %d, in %v: flaws %v", name, i, p, fs)
				}
			}
		}
	}
}

// Two bytes far apart: both are found, whichever sections they are in, and what is
// read is right or an error.
func TestTwoBytesFlipped(t *testing.T) {
	base := baseNamed(t, "dictionaries twice")
	step := len(base.file) / 40
	last := bytes.LastIndex(base.file, []byte("CHNK")) // what is behind it is lost with the footer
	for i := 3; i < len(base.file); i += step {
		for k := i + 2*step + 1; k < len(base.file); k += 3 * step {
			b := bytes.Clone(base.file)
			b[i] ^= 1
			b[k] ^= 0x80
			fs := flaws(t, b, segment.Checksums)
			for _, at := range []int{i, k} {
				found := false
				for _, f := range fs {
					found = found || f.Offset <= int64(at) && int64(at) < f.Offset+f.Length
					found = found || f.Section == segment.SectionFooter && at >= last
				}
				if !found {
					t.Errorf("bytes %d and %d of %d: none of %v holds byte %d", i, k, len(base.file), fs, at)
				}
			}
			readOrFail(t, b, base.rows)
			recoverOrFail(t, b, base.rows, true)
		}
	}
}
