package blk

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/segstore/segstore/tools/chain"
	"github.com/segstore/segstore/tools/chain/chaintest"
)

func TestForeignInput(t *testing.T) {
	a, b := framed(mainnet, genesis(t)), framed(mainnet, blockOne(t))
	length := func(n uint32) []byte { return binary.LittleEndian.AppendUint32(mainnet[:4:4], n) }
	patch := func(block []byte, off int, with ...byte) []byte {
		block = bytes.Clone(block)
		copy(block[off:], with)
		return block
	}
	for _, c := range []struct {
		name   string
		bytes  []byte
		offset int64
		says   []string
	}{
		{"empty", nil, 0, []string{"no block in the file"}},
		{"zeros", zeros(500), 500, []string{"no block in the file"}},
		{"text", []byte("Lorem ipsum dolor sit amet, consectetur adipiscing elit"), 0, []string{"magic", "4c6f7265", "xor.dat"}},
		{"obfuscated", obfuscate(a, Key{1, 2, 3, 4, 5, 6, 7, 8}), 0, []string{"xor.dat"}},
		{"garbage between", join(a, []byte("garbage!"), b), 293, []string{"f9beb4d9 (mainnet)", "67617262"}},
		{"garbage after", join(a, b, []byte{1}), 516, []string{"f9beb4d9", "found 01"}},
		{"garbage after zeros", join(a, zeros(100), []byte{1}), 393, []string{"found 01"}},
		{"another magic", join(a, framed(Magic{0x0b, 0x11, 0x09, 0x07}, blockOne(t))), 293, []string{"f9beb4d9", "0b110907"}},
		{"cut magic", join(a, mainnet[:2]), 293, []string{"8 bytes", "the file ends here"}},
		{"cut length", join(a, length(215)[:7]), 293, []string{"8 bytes", "the file ends here"}},
		{"cut block", join(a, b[:222]), 301, []string{"a block of 215 bytes", "the file ends here, at byte 515"}},
		{"no length", join(a, length(0), zeros(90)), 297, []string{"length of a block", "91 to 33554432", ": 0"}},
		{"large length", join(a, length(33554433), zeros(90)), 297, []string{"33554433"}},
		{"half written", join(a, b[:150], zeros(73+4096)), 449, []string{"end of the block after 1 transactions", "67 bytes more"}},
		{"only the header written", join(a, b[:88], zeros(4096)), 381, []string{"number of transactions"}},
		{"long block", join(a, length(216), b[8:], zeros(1)), 293 + 8 + 215, []string{"end of the block after 1 transactions", "1 bytes more"}},
		{"overlong count", join(a, length(217), b[8:88], []byte{0xfd, 1, 0}, b[89:]), 381, []string{"number of transactions", "fd0100", "shortest form"}},
		{"overlong script", patch(a, 8+81+4+1+36, 0xfd, 0x4d, 0), 8 + 81 + 41, nil},
		{"hostile count", patch(a, 88, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff), 88, []string{"18446744073709551615"}},
		{"garbled script", patch(a, 8+81+60, 0), 8 + 36, []string{"Merkle root"}},
		{"cut raw block", genesis(t)[:284], 0, []string{"as a raw block, it is wrong at byte 281", "lock time"}},
		{"raw block and more", join(genesis(t), zeros(1)), 0, []string{"at byte 285", "1 bytes more"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, size := range []int64{int64(len(c.bytes)), -1} {
				f := file("dir/blk00007.dat", c.bytes)
				f.Size = size
				_, _, err := importFiles(Importer{}, f)
				wantInputError(t, err, c.offset, append(c.says, "dir/blk00007.dat: at byte")...)
			}
		})
	}
}

// TestEveryCut: a file cut anywhere is an error, unless what is left ends with a block.
func TestEveryCut(t *testing.T) {
	b := join(framed(mainnet, genesis(t)), zeros(3), framed(mainnet, blockOne(t)), zeros(10))
	for n := range len(b) {
		_, _, err := importFiles(Importer{}, file("x", b[:n]))
		if fine := n >= 293 && n <= 296 || n >= len(b)-10; (err == nil) != fine || err != nil && !errors.Is(err, chain.ErrInput) {
			t.Errorf("cut at %d: %v", n, err)
		}
	}
}

// TestEveryFlip: any bit of a block other than most of its header is covered by its Merkle root or its structure.
func TestEveryFlip(t *testing.T) {
	b := join(framed(mainnet, genesis(t)), framed(mainnet, blockOne(t)))
	for i := range b {
		if at := i % 293; at >= 8 && at < 88 && (at < 44 || at >= 76) {
			continue // version, previous hash, time, bits, nonce
		}
		c := bytes.Clone(b)
		c[i] ^= 0x10
		if _, _, err := importFiles(Importer{}, file("x", c)); !errors.Is(err, chain.ErrInput) {
			t.Errorf("flip at %d: %v", i, err)
		}
	}
}

// TestZerosLikeMagic: under a key that makes zeros look like a magic, a file of zeros still is no block file.
func TestZerosLikeMagic(t *testing.T) {
	key := Key{0xf9, 0xbe, 0xb4, 0xd9, 100}
	for _, keep := range []bool{false, true} {
		_, _, err := importFiles(Importer{Key: &key, KeepJunk: keep}, file("x", zeros(300)))
		wantInputError(t, err, 300, "no block in the file")
	}
}

func TestSkipChecks(t *testing.T) {
	b := framed(mainnet, genesis(t))
	b[150] ^= 1
	roundTrip(t, Importer{SkipChecks: true}, "x", b)
}

func TestLimit(t *testing.T) {
	b := framed(mainnet, genesis(t))
	_, err := Importer{}.Import(context.Background(), []chain.File{file("x", b)}, new(chaintest.Memory), chain.ImportOptions{MaxBlockBytes: 284})
	wantInputError(t, err, 4, "91 to 284", "285")
}

func TestKeepJunk(t *testing.T) {
	a, b := framed(mainnet, genesis(t)), framed(mainnet, blockOne(t))
	key := Key{1, 2, 3, 4, 5, 6, 7, 8}
	for _, c := range []struct {
		name   string
		bytes  []byte
		blocks uint64
		says   string
	}{
		{"half written tail", join(a, b[:150], zeros(70000)), 1, "70150 bytes in 1 places"},
		{"half written between", join(a, b[:150], zeros(7), []byte{1}, b), 2, "158 bytes in 1 places"},
		{"magics in it", join(a, mainnet[:], mainnet[:3], mainnet[:], b[:9], []byte("x"), b), 2, "21 bytes in 1 places"},
		{"two", join(a, []byte("x"), b, zeros(20), []byte("xy")), 2, "3 bytes in 2 places"},
		{"none", join(a, zeros(5), b), 2, ""},
	} {
		for _, k := range []Key{{}, key} {
			m, report := roundTrip(t, Importer{KeepJunk: true, Key: &k}, "x", obfuscate(c.bytes, k))
			if n := m.Rows(BlocksTable); n != c.blocks {
				t.Errorf("%s: %d blocks, want %d", c.name, n, c.blocks)
			}
			if s := report.Sources[0].Reason; !strings.HasPrefix(s, c.says) || (s == "") != (c.says == "") {
				t.Errorf("%s: reason %q", c.name, s)
			}
			if size := len(m.Row(chain.SourcesTable, 0)[7]); size > 400 && k == (Key{}) {
				t.Errorf("%s: tail of %d bytes", c.name, size)
			}
		}
	}
	for name, hopeless := range map[string][]byte{
		"too long":     join(a, bytes.Repeat([]byte{1}, MaxJunkBytes+1), b),
		"too many":     join(a, bytes.Repeat(join(mainnet[:], []byte{1}), maxTries+2), b),
		"nothing else": a[:200],
	} {
		for _, k := range []Key{{}, key} {
			_, _, err := importFiles(Importer{KeepJunk: true, Key: &k}, file("x", obfuscate(hopeless, k)))
			if !errors.Is(err, chain.ErrInput) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// TestAllocation: a length that the file does not hold is not allocated, also where the file's size is not known.
func TestAllocation(t *testing.T) {
	b := join(framed(mainnet, genesis(t)), mainnet[:], []byte{0, 0, 0, 2}, zeros(1000))
	f := file("x", b)
	f.Size = -1
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, _, err := importFiles(Importer{}, f)
	runtime.ReadMemStats(&after)
	wantInputError(t, err, 301, "a block of 33554432 bytes")
	if n := after.TotalAlloc - before.TotalAlloc; n > 2<<20 {
		t.Errorf("%d bytes allocated for a file of %d", n, len(b))
	}
}

// failing fails to read at some point.
type failing struct{ r io.Reader }

var errDisk = errors.New("disk on fire")

func (f failing) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	if errors.Is(err, io.EOF) {
		err = errDisk
	}
	return n, err
}

func (f failing) Close() error { return nil }

// TestReadError: an error of reading is never called a fault of the file.
func TestReadError(t *testing.T) {
	b := join(framed(mainnet, genesis(t)), framed(mainnet, blockOne(t)))
	for n := range len(b) {
		f := file("x", b)
		f.Open = func() (io.ReadCloser, error) { return failing{bytes.NewReader(b[:n])}, nil }
		_, _, err := importFiles(Importer{KeepJunk: true}, f)
		if !errors.Is(err, errDisk) || errors.Is(err, chain.ErrInput) {
			t.Fatalf("reading fails at %d: %v", n, err)
		}
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := Importer{}.Import(ctx, []chain.File{file("x", framed(mainnet, genesis(t)))}, new(chaintest.Memory), chain.ImportOptions{})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestParse(t *testing.T) {
	for _, s := range []string{"mainnet", "f9beb4d9", "signet", "0a03cf40"} {
		if m, err := ParseMagic(s); err != nil || !strings.Contains(m.String(), s) {
			t.Errorf("magic %q: %v, %v", s, m, err)
		}
	}
	for _, s := range []string{"", "main", "00000000", "f9beb4", "f9beb4d9f9"} {
		if _, err := ParseMagic(s); err == nil {
			t.Errorf("magic %q: no error", s)
		}
	}
	if k, err := ParseKey("0102030405060708"); err != nil || k != (Key{1, 2, 3, 4, 5, 6, 7, 8}) || fmt.Sprint(k) != "0102030405060708" {
		t.Errorf("key %v: %v", k, err)
	}
	if _, err := ParseKey("01020304050607"); err == nil {
		t.Error("short key: no error")
	}
}
