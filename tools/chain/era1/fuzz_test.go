package era1_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"testing"

	"github.com/golang/snappy"

	"github.com/segstore/segstore/tools/chain"
	"github.com/segstore/segstore/tools/chain/chaintest"
	"github.com/segstore/segstore/tools/chain/era1"
	"github.com/segstore/segstore/tools/chain/ethereum"
)

// realBlocks returns the first n blocks of a real file.
func realBlocks(tb testing.TB, name string, n int) []chaintest.EthBlock {
	path, ok := chaintest.FindData(tb, name)
	if !ok {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	blocks, entry := make([]chaintest.EthBlock, n), 0
	for i := -1; i < 4*n; i++ {
		head := make([]byte, 8)
		if _, err := io.ReadFull(f, head); err != nil {
			tb.Fatal(err)
		}
		data := make([]byte, binary.LittleEndian.Uint32(head[2:]))
		if _, err := io.ReadFull(f, data); err != nil {
			tb.Fatal(err)
		}
		if i < 0 {
			continue
		}
		x := &blocks[i/4]
		if entry = i % 4; entry == 3 {
			x.Difficulty = [32]byte(data)
			continue
		}
		plain, err := io.ReadAll(snappy.NewReader(bytes.NewReader(data)))
		if err != nil {
			tb.Fatal(err)
		}
		*[]*chaintest.Raw{&x.Header, &x.Body, &x.Receipts}[entry] = plain
	}
	return blocks
}

// number reads the number in a header.
func number(tb testing.TB, x chaintest.EthBlock) uint64 {
	var b ethereum.Block
	if err := b.SplitHeader(x.Header); err != nil {
		tb.Fatal(err)
	}
	return b.Number
}

// Whatever a file holds, an import fails with a place in it, or an export gives it back, or content that is equal.
func FuzzEra1(f *testing.F) {
	for _, n := range []int{1, 2, 5} {
		f.Add(build(chaintest.EthBlocks(1<<20, n), gethFramed))
		f.Add(build(chaintest.EthBlocks(1<<20, n), otherFramed))
	}
	for _, name := range []string{"era1/mainnet-00000-5ec1ffb8.era1", "era1/sepolia-00021-b8814b14.era1"} {
		if blocks := realBlocks(f, name, 4); blocks != nil {
			f.Add(start(blocks, gethFramed).entry(0x07, accumulator).index(number(f, blocks[0])).b)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, file := range []chain.File{chaintest.BytesFile("f", b), chaintest.StreamFile("f", b)} {
			m := &chaintest.Memory{}
			r, err := era1.Importer{}.Import(t.Context(), []chain.File{file}, m, chain.ImportOptions{MaxBlockBytes: 1 << 20})
			if err != nil {
				var e *chain.InputError
				if !errors.As(err, &e) || e.File != "f" || e.Offset < 0 || r.Sources != nil {
					t.Fatal(err)
				}
				continue
			}
			out, exported := chaintest.Export(t, era1.Exporter{}, m)
			e := exported.Files[0]
			if e.Match != r.Sources[0].Restore || e.Match == chain.Different || (e.Match == chain.Identical) != bytes.Equal(out.Files["f"], b) {
				t.Errorf("%+v", e)
			}
		}
	})
}

// The same behind the checksums of the framing format: the data of a block are changed and compressed again.
func FuzzEra1Block(f *testing.F) {
	blocks := chaintest.EthBlocks(1<<20, 5)
	for _, name := range []string{"era1/mainnet-00000-5ec1ffb8.era1", "era1/sepolia-00021-b8814b14.era1"} {
		blocks = append(blocks, realBlocks(f, name, 2)...)
	}
	for _, x := range blocks {
		f.Add([]byte(x.Header), []byte(x.Body), []byte(x.Receipts), x.Difficulty[:], uint16(0xff), []byte("other"), number(f, x))
	}
	f.Fuzz(func(t *testing.T, header, body, receipts, difficulty []byte, kind uint16, tail []byte, first uint64) {
		x := start(nil, gethFramed)
		x.headers = []int{8}
		x.entry(0x03, gethFramed(header)).entry(0x04, gethFramed(body)).entry(0x05, gethFramed(receipts)).entry(0x06, difficulty)
		x.entry(kind, tail).entry(0x07, accumulator).index(first)
		m := &chaintest.Memory{}
		_, err := era1.Importer{}.Import(t.Context(), []chain.File{chaintest.BytesFile("f", x.b)}, m, chain.ImportOptions{MaxBlockBytes: 1 << 20})
		if err != nil {
			if !errors.Is(err, chain.ErrInput) {
				t.Fatal(err)
			}
			return
		}
		out, exported := chaintest.Export(t, era1.Exporter{}, m)
		if e := exported.Files[0]; e.Match != chain.Identical || !bytes.Equal(out.Files["f"], x.b) {
			t.Errorf("%+v", e)
		}
	})
}
