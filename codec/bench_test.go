package codec

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"

	"github.com/segstore/segstore/dict"
)

// benchBlocks cuts real transactions and receipts into blocks.
func benchBlocks(b *testing.B, size int) [][]byte {
	blocks := slices.Collect(slices.Chunk(realData(b, "eth/bench-mainnet.rlps"), size))
	const enough = 2 << 20 // spread over the file
	step := max(1, len(blocks)*size/enough)
	var some [][]byte
	for i := 0; i < len(blocks); i += step {
		some = append(some, blocks[i])
	}
	return some
}

// bare is the library without us: what there is to reach.
type bare struct {
	encode func(dst, src []byte) []byte
	decode func(dst, src []byte) ([]byte, error)
}

func bareZstd(b *testing.B, level zstd.EncoderLevel, d *dict.Dict) bare {
	eo := []zstd.EOption{zstd.WithEncoderLevel(level), zstd.WithEncoderCRC(false), zstd.WithEncoderConcurrency(1)}
	do := []zstd.DOption{zstd.WithDecoderConcurrency(1)}
	if d != nil {
		eo, do = append(eo, zstd.WithEncoderDict(d.Bytes())), append(do, zstd.WithDecoderDicts(d.Bytes()))
	}
	enc, err := zstd.NewWriter(nil, eo...)
	if err != nil {
		b.Fatal(err)
	}
	dec, err := zstd.NewReader(nil, do...)
	if err != nil {
		b.Fatal(err)
	}
	return bare{
		encode: func(dst, src []byte) []byte { return enc.EncodeAll(src, dst) },
		decode: func(dst, src []byte) ([]byte, error) { return dec.DecodeAll(src, dst) },
	}
}

// BenchmarkCodec pairs each codec with the bare library on the same blocks.
func BenchmarkCodec(b *testing.B) {
	d := dictionaries(b)["zstd"]
	for _, size := range []int{4 << 10, 32 << 10, 256 << 10} {
		blocks := benchBlocks(b, size)
		for _, c := range []struct {
			text string
			dict *dict.Dict
			bare bare
		}{
			{"s2", nil, bare{
				encode: func(dst, src []byte) []byte { return s2.Encode(dst[:cap(dst)], src) },
				decode: func(dst, src []byte) ([]byte, error) { return s2.Decode(dst[:cap(dst)], src) },
			}},
			{"zstd:1", nil, bareZstd(b, zstd.SpeedFastest, nil)},
			{"zstd:1+dict", d, bareZstd(b, zstd.SpeedFastest, d)},
			{"zstd:3", nil, bareZstd(b, zstd.SpeedDefault, nil)},
			{"zstd:7", nil, bareZstd(b, zstd.SpeedBetterCompression, nil)},
		} {
			s, err := ParseSpec(c.text)
			if err != nil {
				b.Fatal(err)
			}
			ours, err := New(s, c.dict, Options{Concurrency: 1, Window: size})
			if err != nil {
				b.Fatal(err)
			}
			total := 0
			var encoded [][]byte
			for _, src := range blocks {
				enc, err := ours.Encode(nil, src)
				if err != nil {
					b.Fatal(err)
				}
				encoded = append(encoded, enc)
				total += len(src)
			}
			buf := make([]byte, 0, 2*size+decodeSlack)
			run := func(name string, f func(i int) error) {
				b.Run(fmt.Sprintf("%s/%dKiB/%s", c.text, size>>10, name), func(b *testing.B) {
					b.SetBytes(int64(total))
					b.ReportAllocs()
					for b.Loop() {
						for i := range blocks {
							if err := f(i); err != nil {
								b.Fatal(err)
							}
						}
					}
				})
			}
			run("encode/ours", func(i int) error { _, err := ours.Encode(buf, blocks[i]); return err })
			run("encode/bare", func(i int) error { c.bare.encode(buf, blocks[i]); return nil })
			run("decode/ours", func(i int) error { _, err := ours.Decode(buf, encoded[i], len(blocks[i])); return err })
			run("decode/bare", func(i int) error { _, err := c.bare.decode(buf, encoded[i]); return err })
		}
	}
}

// BenchmarkJoin joins chunks of 32 KiB, as a scan does after each decode.
func BenchmarkJoin(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	chunk := func(length func() int) *Values {
		v := new(Values)
		for len(v.Data) < 32<<10 {
			v.Append(make([]byte, length()))
		}
		return v
	}
	column := func(f func(i int) uint64) *Values {
		v := new(Values)
		for i := range 4096 {
			v.Append(binary.LittleEndian.AppendUint64(nil, f(i)))
		}
		return v
	}
	sum := uint64(0)
	for _, c := range []struct {
		name string
		e    Encoding
		v    *Values
	}{
		{"plain/lengths=equal", Plain(), chunk(func() int { return 32 })},
		{"plain/lengths=1-byte", Plain(), chunk(func() int { return rng.IntN(60) })},
		{"plain/lengths=2-bytes", Plain(), chunk(func() int { return 100 + rng.IntN(400) })},
		{"plain/lengths=3-bytes", Plain(), func() *Values { v := chunk(func() int { return 100 }); v.Append(make([]byte, 1<<16)); return v }()},
		{"fixed", Fixed(), chunk(func() int { return 32 })},
		{"uint/linear", Uint(), column(func(i int) uint64 { return uint64(i) })},
		{"uint/deltas", Uint(), column(func(int) uint64 { sum += rng.Uint64N(300); return sum })},
		{"uint/values", Uint(), column(func(int) uint64 { return rng.Uint64N(300) })},
		{"uint/raw", Uint(), column(func(int) uint64 { return rng.Uint64() })},
	} {
		streams, err := c.e.Split(nil, c.v)
		if err != nil {
			b.Fatal(err)
		}
		var v Values
		perValue := func(b *testing.B) {
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(c.v.Len()), "ns/value")
		}
		b.Run(c.name+"/join", func(b *testing.B) {
			b.SetBytes(int64(len(c.v.Data)))
			b.ReportAllocs()
			for b.Loop() {
				if err := c.e.Join(&v, streams, c.v.Len()); err != nil {
					b.Fatal(err)
				}
			}
			perValue(b)
		})
		b.Run(c.name+"/split", func(b *testing.B) {
			b.SetBytes(int64(len(c.v.Data)))
			b.ReportAllocs()
			for b.Loop() {
				if streams, err = c.e.Split(streams, c.v); err != nil {
					b.Fatal(err)
				}
			}
			perValue(b)
		})
	}
}
