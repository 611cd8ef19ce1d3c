package segment_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/klauspost/compress/zstd"
	"github.com/segstore/segstore/codec"
	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/tools/chain"
	"github.com/segstore/segstore/tools/chain/chaintest"
	"github.com/segstore/segstore/tools/chain/rlp"
)

// The benchmarks pair this package with the bare libraries in one run, on real
// transactions and receipts: "ratio" is the bare library's time through ours.

// realSegment is a segment of real rows, under a policy, in a file.
func realSegment(tb testing.TB, table string, p codec.Policy) (*os.File, []byte) {
	tb.Helper()
	return repeatedSegment(tb, table, p, 1)
}

// repeatedSegment is realSegment with all rows several times over.
func repeatedSegment(tb testing.TB, table string, p codec.Policy, times int) (*os.File, []byte) {
	tb.Helper()
	file := "eth/bench-mainnet.rlps"
	if table == "blocks" {
		file = "eth/early-headers.rlps"
	}
	m, _ := chaintest.Import(tb, rlp.Importer{}, chaintest.DataFile(tb, file))
	var spec chain.Table
	for _, t := range m.Tables() {
		if t.Name == table {
			spec = t
		}
	}
	var spool bytes.Buffer
	w, err := segment.NewWriter(&spool, segment.WriterOptions{Table: table, Schema: spec.Schema, FirstRow: spec.FirstRow, Policy: policy(tb, "chunk 262144\n* group=column codec=s2\n")})
	if err != nil {
		tb.Fatal(err)
	}
	defer w.Abort()
	for range times {
		for row, err := range m.Scan(table, spec.FirstRow) {
			if err == nil {
				err = w.Append(row)
			}
			if err != nil {
				tb.Fatal(err)
			}
		}
	}
	if _, err := w.Finish(); err != nil {
		tb.Fatal(err)
	}
	return recompressed(tb, spool.Bytes(), segment.RecompressOptions{Policy: p})
}

// recompressed is b recompressed, in a file.
func recompressed(tb testing.TB, b []byte, o segment.RecompressOptions) (*os.File, []byte) {
	tb.Helper()
	var out bytes.Buffer
	if _, err := segment.Recompress(context.Background(), &out, open(tb, b, segment.ReaderOptions{}), o); err != nil {
		tb.Fatal(err)
	}
	path := filepath.Join(tb.TempDir(), "x.seg")
	if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
		tb.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { f.Close() })
	return f, out.Bytes()
}

func profile(tb testing.TB, name string) codec.Policy {
	p, err := codec.Profile(name)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// bare is the blocks of a segment and the bare library's decoder and encoder.
type bare struct {
	blocks []bareBlock
	raw    int64
	buf    []byte
}

type bareBlock struct {
	stored []byte
	size   int
	zstd   bool
	column string
	chunk  int
	dec    *zstd.Decoder
	enc    *zstd.Encoder
}

// bareBlocks takes the blocks out of a segment, and makes a decoder for each
// dictionary, and an encoder of a level.
func bareBlocks(tb testing.TB, b []byte, level int, window int) *bare {
	r := open(tb, b, segment.ReaderOptions{})
	var dicts [][]byte
	for p := range r.Places() {
		if p.Section == segment.SectionDictionary { // record: 8 bytes head, kind, dictionary, 8 bytes sum
			dicts = append(dicts, b[p.Offset+9:p.Offset+p.Length-8])
		}
	}
	type coder struct {
		dec *zstd.Decoder
		enc *zstd.Encoder
	}
	coders := map[int]coder{}
	get := func(dict int) coder {
		if c, ok := coders[dict]; ok {
			return c
		}
		do := []zstd.DOption{zstd.WithDecoderConcurrency(1)}
		el := zstd.EncoderLevelFromZstd(level)
		eo := []zstd.EOption{zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(el), zstd.WithEncoderCRC(false), zstd.WithSingleSegment(true), zstd.WithWindowSize(window)}
		if dict >= 0 {
			do = append(do, zstd.WithDecoderDicts(dicts[dict]))
			if el != zstd.SpeedBestCompression {
				eo = append(eo, zstd.WithEncoderDict(dicts[dict]))
			}
		}
		d, err := zstd.NewReader(nil, do...)
		if err != nil {
			tb.Fatal(err)
		}
		e, err := zstd.NewWriter(nil, eo...)
		if err != nil {
			tb.Fatal(err)
		}
		coders[dict] = coder{d, e}
		return coders[dict]
	}
	x := &bare{buf: make([]byte, 0, 32<<20)}
	for p := range r.Places() {
		if p.Section != segment.SectionBlock {
			continue
		}
		blk := b[p.Offset : p.Offset+p.Length-8]
		n, k := binary.Uvarint(blk[1:])
		c := get(r.Layout().Columns[r.Schema().Index(p.Column)].Blocks[p.Block].Dictionary)
		x.blocks = append(x.blocks, bareBlock{blk[1+k:], int(n), codec.ID(blk[0]) == codec.Zstd, p.Column, p.Chunk, c.dec, c.enc})
		x.raw += int64(n)
	}
	return x
}

func (x *bare) decode(tb testing.TB, b *bareBlock) []byte {
	if !b.zstd {
		return b.stored
	}
	out, err := b.dec.DecodeAll(b.stored, x.buf[:0])
	if err != nil || len(out) != b.size {
		tb.Fatal(err)
	}
	return out
}

var benchTables = []string{"transactions", "receipts"}

// BenchmarkScan compares with decoding the same blocks, which lie in memory: once
// from the file and once, like with like, from memory.
func BenchmarkScan(b *testing.B) {
	for _, table := range benchTables {
		for _, name := range codec.Profiles() {
			b.Run(table+"/"+name, func(b *testing.B) {
				f, seg := realSegment(b, table, profile(b, name))
				r, err := segment.NewReader(f, int64(len(seg)), segment.ReaderOptions{})
				if err != nil {
					b.Fatal(err)
				}
				inMemory := open(b, seg, segment.ReaderOptions{})
				x := bareBlocks(b, seg, 1, 1<<20)
				var ours, memory, theirs time.Duration
				rows := 0
				scan := func(r *segment.Reader) time.Duration {
					start := time.Now()
					rows = 0
					for _, err := range r.Rows(r.FirstRow()) {
						if err != nil {
							b.Fatal(err)
						}
						rows++
					}
					return time.Since(start)
				}
				b.SetBytes(int64(r.Info().RawBytes))
				for b.Loop() {
					start := time.Now()
					for i := range x.blocks {
						x.decode(b, &x.blocks[i])
					}
					theirs += time.Since(start)
					ours += scan(r)
					memory += scan(inMemory)
				}
				if uint64(rows) != r.Info().Rows {
					b.Fatal(rows)
				}
				b.ReportMetric(float64(theirs)/float64(ours), "ratio")
				b.ReportMetric(float64(theirs)/float64(memory), "ratio-in-memory")
				b.ReportMetric(float64(ours.Nanoseconds())/float64(b.N)/float64(rows), "ns/row")
			})
		}
	}
}

func BenchmarkVerify(b *testing.B) {
	for _, table := range benchTables {
		for _, name := range codec.Profiles() {
			b.Run(table+"/"+name, func(b *testing.B) {
				f, seg := repeatedSegment(b, table, profile(b, name), 16) // 20 to 75 MB
				b.SetBytes(int64(len(seg)))
				buf := make([]byte, 1<<20)
				var ours, theirs time.Duration
				for b.Loop() {
					start := time.Now()
					var d xxhash.Digest
					d.Reset()
					for off := int64(0); off < int64(len(seg)); {
						n, err := f.ReadAt(buf, off)
						if err != nil && err != io.EOF {
							b.Fatal(err)
						}
						d.Write(buf[:n])
						off += int64(n)
					}
					mid := time.Now()
					for f, err := range segment.Verify(context.Background(), f, int64(len(seg)), segment.VerifyOptions{}) {
						b.Fatal(f, err)
					}
					theirs += mid.Sub(start)
					ours += time.Since(mid)
				}
				b.ReportMetric(float64(theirs)/float64(ours), "ratio")
			})
		}
	}
}

func BenchmarkRow(b *testing.B) {
	for _, table := range benchTables {
		for _, name := range codec.Profiles() {
			b.Run(table+"/"+name, func(b *testing.B) {
				f, seg := realSegment(b, table, profile(b, name))
				r, err := segment.NewReader(f, int64(len(seg)), segment.ReaderOptions{})
				if err != nil {
					b.Fatal(err)
				}
				x := bareBlocks(b, seg, 1, 1<<20)
				places := map[int]segment.Place{}
				for p := range r.Places() {
					if p.Section == segment.SectionBlock { // each of these tables has one block a chunk
						places[p.Chunk] = p
					}
				}
				rng := rand.New(rand.NewPCG(1, 2))
				buf := make([]byte, 32<<20)
				chunkOf := make([]int32, r.Info().Rows)
				for _, p := range places {
					for i := range p.Rows {
						chunkOf[p.FirstRow-r.FirstRow()+i] = int32(p.Chunk)
					}
				}
				var row segment.Row
				var ours, theirs time.Duration
				const batch = 64
				var at [batch]uint64
				b.ReportAllocs()
				for b.Loop() {
					for i := range at {
						at[i] = rng.Uint64N(r.Info().Rows)
					}
					start := time.Now()
					for _, n := range at {
						p := places[int(chunkOf[n])]
						if _, err := f.ReadAt(buf[:p.Length], p.Offset); err != nil {
							b.Fatal(err)
						}
						blk := x.blocks[p.Chunk]
						blk.stored = buf[int(p.Length)-8-len(blk.stored) : p.Length-8]
						x.decode(b, &blk)
					}
					mid := time.Now()
					for _, n := range at {
						if row, err = r.Row(row, r.FirstRow()+n); err != nil {
							b.Fatal(err)
						}
					}
					theirs += mid.Sub(start)
					ours += time.Since(mid)
				}
				b.ReportMetric(float64(theirs)/float64(ours), "ratio")
				b.ReportMetric(float64(ours.Nanoseconds())/float64(b.N)/batch, "ns/row")
			})
		}
	}
}

func BenchmarkCachedRow(b *testing.B) {
	for _, table := range []string{"transactions", "receipts", "blocks"} {
		b.Run(table, func(b *testing.B) {
			_, seg := realSegment(b, table, profile(b, "balanced"))
			r := open(b, seg, segment.ReaderOptions{Cache: segment.NewCache(256 << 20)})
			var row segment.Row
			var err error
			for i := range r.Info().Rows {
				if row, err = r.Row(row, r.FirstRow()+i); err != nil {
					b.Fatal(err)
				}
			}
			rng := rand.New(rand.NewPCG(1, 2))
			at := make([]uint64, 1<<12)
			for i := range at {
				at[i] = r.FirstRow() + rng.Uint64N(r.Info().Rows)
			}
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				if row, err = r.Row(row, at[i&(len(at)-1)]); err != nil {
					b.Fatal(err)
				}
				i++
			}
		})
	}
}

// BenchmarkRecompress compares with decoding and encoding the same blocks. Of its
// own time, that in the io.Writer is left out. speedup-2 is the time of one worker
// through that of two, bare-speedup-2 what two goroutines of the bare library reach
// that share nothing.
func BenchmarkRecompress(b *testing.B) {
	for _, table := range benchTables {
		for _, level := range []int{1, 19} {
			b.Run(table+"/level="+map[int]string{1: "1", 19: "19"}[level], func(b *testing.B) {
				from := 3
				f, seg := recompressed(b, mustBytes(repeatedSegment(b, table, profile(b, "balanced"), 4)), segment.RecompressOptions{Level: &from, Workers: 2})
				r, err := segment.NewReader(f, int64(len(seg)), segment.ReaderOptions{})
				if err != nil {
					b.Fatal(err)
				}
				x := bareBlocks(b, seg, level, 1<<16)
				b.SetBytes(int64(r.Info().RawBytes))
				y := bareBlocks(b, seg, level, 1<<16)
				var one, two, theirs, bareTwo time.Duration
				half := func(x *bare, from, step int) {
					var enc []byte
					for i := from; i < len(x.blocks); i += step {
						enc = x.blocks[i].enc.EncodeAll(x.decode(b, &x.blocks[i]), enc[:0])
					}
				}
				var sink bytes.Buffer
				sink.Grow(len(seg) * 2)
				for b.Loop() {
					start := time.Now()
					half(x, 0, 1)
					theirs += time.Since(start)
					start = time.Now()
					var wg sync.WaitGroup
					wg.Go(func() { half(x, 0, 2) })
					wg.Go(func() { half(y, 1, 2) })
					wg.Wait()
					bareTwo += time.Since(start)
					for workers := 1; workers <= 2; workers++ {
						sink.Reset()
						start = time.Now()
						rep, err := segment.Recompress(context.Background(), &sink, r, segment.RecompressOptions{Level: &level, Workers: workers})
						if err != nil {
							b.Fatal(err)
						}
						took := time.Since(start) - rep.WriteNS
						if workers == 1 {
							one += took
						} else {
							two += took
						}
					}
				}
				b.ReportMetric(float64(theirs)/float64(one), "ratio")
				b.ReportMetric(float64(one)/float64(two), "speedup-2")
				b.ReportMetric(float64(theirs)/float64(bareTwo), "bare-speedup-2")
			})
		}
	}
}

func mustBytes(_ *os.File, b []byte) []byte { return b }
