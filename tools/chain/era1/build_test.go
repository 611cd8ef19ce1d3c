package era1_test

import (
	"bytes"
	"encoding/binary"

	"github.com/golang/snappy"
	ksnappy "github.com/klauspost/compress/snappy"

	"github.com/segstore/segstore/tools/chain/chaintest"
)

// file builds era1 files, good ones and others, by the format's definition.
type file struct {
	b       []byte
	headers []int
	framed  func([]byte) []byte
}

func (f *file) entry(kind uint16, data []byte) *file {
	f.b = binary.LittleEndian.AppendUint16(f.b, kind)
	f.b = binary.LittleEndian.AppendUint32(f.b, uint32(len(data)))
	f.b = append(append(f.b, 0, 0), data...)
	return f
}

func (f *file) block(x chaintest.EthBlock) *file {
	f.headers = append(f.headers, len(f.b))
	f.entry(0x03, f.framed(x.Header))
	f.entry(0x04, f.framed(x.Body))
	f.entry(0x05, f.framed(x.Receipts))
	return f.entry(0x06, x.Difficulty[:])
}

func (f *file) index(first uint64) *file {
	b, at := binary.LittleEndian.AppendUint64(nil, first), len(f.b)
	for _, h := range f.headers {
		b = binary.LittleEndian.AppendUint64(b, uint64(int64(h-at)))
	}
	return f.entry(0x3266, binary.LittleEndian.AppendUint64(b, uint64(len(f.headers))))
}

// start is a file up to its last block.
func start(blocks []chaintest.EthBlock, framed func([]byte) []byte) *file {
	f := (&file{framed: framed}).entry(0x3265, nil)
	for _, x := range blocks {
		f.block(x)
	}
	return f
}

var accumulator = bytes.Repeat([]byte{0xac}, 32)

func build(blocks []chaintest.EthBlock, framed func([]byte) []byte) []byte {
	return start(blocks, framed).entry(0x07, accumulator).index(blocks[0].Number).b
}

// gethFramed compresses as geth does.
func gethFramed(b []byte) []byte {
	var out bytes.Buffer
	w := snappy.NewBufferedWriter(&out)
	w.Write(b)
	w.Close()
	return out.Bytes()
}

// otherFramed compresses as another library does.
func otherFramed(b []byte) []byte {
	var out bytes.Buffer
	w := ksnappy.NewBufferedWriter(&out)
	w.Write(b)
	w.Close()
	return out.Bytes()
}

// bomb is a stream in the framing format that decompresses to n times 64 KiB of zeros.
func bomb(n int) []byte {
	one := gethFramed(make([]byte, 1<<16))
	out := bytes.Clone(one)
	for range n - 1 {
		out = append(out, one[10:]...) // without the stream identifier
	}
	return out
}
