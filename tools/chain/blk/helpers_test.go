package blk

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/segstore/segstore/tools/chain"
	"github.com/segstore/segstore/tools/chain/chaintest"
)

// The first two blocks of mainnet, as every node has them.
const (
	genesisHex = "0100000000000000000000000000000000000000000000000000000000000000000000003ba3edfd7a7b12b27ac72c3e67768f617fc81bc3" +
		"888a51323a9fb8aa4b1e5e4a29ab5f49ffff001d1dac2b7c01" + genesisTxHex
	genesisTxHex = "01000000010000000000000000000000000000000000000000000000000000000000000000ffffffff4d04ffff001d0104455468652054" +
		"696d65732030332f4a616e2f32303039204368616e63656c6c6f72206f6e206272696e6b206f66207365636f6e64206261696c6f757420666f722062" +
		"616e6b73ffffffff0100f2052a01000000434104678afdb0fe5548271967f1a67130b7105cd6a828e03909a67962e0ea1f61deb649f6bc3f4cef38c4" +
		"f35504e51ec112de5c384df7ba0b8d578a4c702b6bf11d5fac00000000"
	blockOneHex = "010000006fe28c0ab6f1b372c1a6a246ae63f74f931e8365e15a089c68d6190000000000982051fd1e4ba744bbbe680e1fee14677ba1a3c3" +
		"540bf7b1cdb606e857233e0e61bc6649ffff001d01e3629901" +
		"01000000010000000000000000000000000000000000000000000000000000000000000000ffffffff0704ffff001d0104ffffffff0100f2052a0100" +
		"000043410496b538e853519c726a2c91e61ec11600ae1390813a627c66fb8be7947be63c52da7589379515d4e0a604f8141781e62294721166bf621e" +
		"73a82cbf2342c858eeac00000000"
)

var mainnet = Magic{0xf9, 0xbe, 0xb4, 0xd9}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func genesis(t testing.TB) []byte  { return unhex(t, genesisHex) }
func blockOne(t testing.TB) []byte { return unhex(t, blockOneHex) }

// framed returns the record of a block.
func framed(m Magic, block []byte) []byte {
	n := len(block)
	return append([]byte{m[0], m[1], m[2], m[3], byte(n), byte(n >> 8), byte(n >> 16), byte(n >> 24)}, block...)
}

// obfuscate XORs as Core does, byte by byte.
func obfuscate(b []byte, key Key) []byte {
	out := make([]byte, len(b))
	for i := range b {
		out[i] = b[i] ^ key[i%8]
	}
	return out
}

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

func zeros(n int) []byte { return make([]byte, n) }

func file(name string, b []byte) chain.File {
	return chain.File{Name: name, Size: int64(len(b)), Open: func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(b)), nil
	}}
}

// output keeps files in memory.
type output struct {
	files map[string][]byte
	order []string
}

type outputFile struct {
	bytes.Buffer
	out  *output
	name string
}

func (o *output) Create(name string) (chain.OutputFile, error) {
	if _, ok := o.files[name]; ok {
		return nil, errors.New("exists: " + name)
	}
	return &outputFile{out: o, name: name}, nil
}

func (f *outputFile) Commit() error {
	if f.out.files == nil {
		f.out.files = map[string][]byte{}
	}
	f.out.files[f.name] = f.Bytes()
	f.out.order = append(f.out.order, f.name)
	return nil
}

func (f *outputFile) Abort() error { return nil }

func importFiles(im Importer, files ...chain.File) (*chaintest.Memory, chain.Report, error) {
	m := new(chaintest.Memory)
	report, err := im.Import(context.Background(), files, m, chain.ImportOptions{})
	return m, report, err
}

// roundTrip imports one file, exports it, and fails the test where the bytes are not the same.
func roundTrip(t testing.TB, im Importer, name string, b []byte) (*chaintest.Memory, chain.Report) {
	t.Helper()
	m, report, err := importFiles(im, file(name, b))
	if err != nil {
		t.Fatal(err)
	}
	var out output
	exported, err := Exporter{}.Export(context.Background(), m, &out, chain.ExportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := out.files[name]; !bytes.Equal(got, b) {
		t.Fatalf("export of %d bytes gave %d bytes that differ", len(b), len(got))
	}
	if f := exported.Files[0]; f.Match != chain.Identical || f.Bytes != uint64(len(b)) {
		t.Fatalf("report: %+v", f)
	}
	return m, report
}

// wantInputError checks place and text of an error.
func wantInputError(t testing.TB, err error, offset int64, parts ...string) {
	t.Helper()
	var in *chain.InputError
	if !errors.As(err, &in) || !errors.Is(err, chain.ErrInput) {
		t.Fatalf("error %v, want an InputError", err)
	}
	if in.Offset != offset {
		t.Errorf("error at %d, want %d: %v", in.Offset, offset, err)
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("error does not say %q: %v", p, err)
		}
	}
}
