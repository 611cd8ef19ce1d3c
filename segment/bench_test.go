package segment_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
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

// benchTables are the tables that are measured alone, benchSets those and both as one.
var (
	benchTables = []string{"transactions", "receipts"}
	benchSets   = [][]string{{"transactions"}, {"receipts"}, {"transactions", "receipts"}}
)

// benchSegment is a segment of real rows, in a file and in memory, and the bare blocks.
type benchSegment struct {
	f        *os.File
	bytes    []byte
	r        *segment.Reader
	inMemory *segment.Reader
	bare     *bare
}

func newBenchSegment(tb testing.TB, f *os.File, b []byte) *benchSegment {
	r, err := segment.NewReader(f, int64(len(b)), segment.ReaderOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	return &benchSegment{f: f, bytes: b, r: r, inMemory: open(tb, b, segment.ReaderOptions{})}
}

// BenchmarkScan compares with decoding the same blocks, which lie in memory, on one
// goroutine: from the file, with two workers ("ratio-2"), and, like with like, from
// memory.
func BenchmarkScan(b *testing.B) {
	for _, set := range benchSets {
		for _, name := range codec.Profiles() {
			b.Run(strings.Join(set, "+")+"/"+name, func(b *testing.B) {
				var segs []*benchSegment
				var raw, total uint64
				for _, table := range set {
					f, seg := realSegment(b, table, profile(b, name))
					s := newBenchSegment(b, f, seg)
					s.bare = bareBlocks(b, seg, 1, 1<<20)
					segs = append(segs, s)
					raw += s.r.Info().RawBytes
					total += s.r.Info().Rows
				}
				var ours, two, memory, theirs time.Duration
				rows := uint64(0)
				scan := func(r *segment.Reader, workers int) time.Duration {
					start := time.Now()
					for _, err := range r.Scan(context.Background(), r.FirstRow(), r.EndRow(), segment.ScanOptions{Workers: workers}) {
						if err != nil {
							b.Fatal(err)
						}
						rows++
					}
					return time.Since(start)
				}
				b.SetBytes(int64(raw))
				for b.Loop() {
					for _, s := range segs {
						start := time.Now()
						for i := range s.bare.blocks {
							s.bare.decode(b, &s.bare.blocks[i])
						}
						theirs += time.Since(start)
						ours += scan(s.r, 1)
						two += scan(s.r, 2)
						memory += scan(s.inMemory, 1)
					}
				}
				if rows != 3*total*uint64(b.N) {
					b.Fatal(rows)
				}
				b.ReportMetric(float64(theirs)/float64(ours), "ratio")
				b.ReportMetric(float64(theirs)/float64(two), "ratio-2")
				b.ReportMetric(float64(theirs)/float64(memory), "ratio-in-memory")
				b.ReportMetric(float64(ours.Nanoseconds())/float64(b.N)/float64(total), "ns/row")
			})
		}
	}
}

// BenchmarkVerify compares with reading and hashing the whole file on one goroutine:
// with one worker, and with two ("ratio-2").
func BenchmarkVerify(b *testing.B) {
	for _, set := range benchSets {
		for _, name := range codec.Profiles() {
			b.Run(strings.Join(set, "+")+"/"+name, func(b *testing.B) {
				var segs []*benchSegment
				size := int64(0)
				for _, table := range set {
					f, seg := repeatedSegment(b, table, profile(b, name), 16) // 20 to 75 MB
					segs = append(segs, newBenchSegment(b, f, seg))
					size += int64(len(seg))
				}
				b.SetBytes(size)
				buf := make([]byte, 1<<20)
				var ours [3]time.Duration
				var theirs time.Duration
				for b.Loop() {
					for _, s := range segs {
						start := time.Now()
						var d xxhash.Digest
						d.Reset()
						for off := int64(0); off < int64(len(s.bytes)); {
							n, err := s.f.ReadAt(buf, off)
							if err != nil && err != io.EOF {
								b.Fatal(err)
							}
							d.Write(buf[:n])
							off += int64(n)
						}
						theirs += time.Since(start)
						for workers := 1; workers <= 2; workers++ {
							start = time.Now()
							for f, err := range segment.Verify(context.Background(), s.f, int64(len(s.bytes)), segment.VerifyOptions{Workers: workers}) {
								b.Fatal(f, err)
							}
							ours[workers] += time.Since(start)
						}
					}
				}
				b.ReportMetric(float64(theirs)/float64(ours[1]), "ratio")
				b.ReportMetric(float64(theirs)/float64(ours[2]), "ratio-2")
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
	for _, set := range benchSets {
		for _, level := range []int{1, 19} {
			b.Run(fmt.Sprintf("%s/level=%d", strings.Join(set, "+"), level), func(b *testing.B) {
				from := 3
				var segs []*benchSegment
				var other []*bare
				var raw uint64
				most := 0
				for _, table := range set {
					f, seg := recompressed(b, mustBytes(repeatedSegment(b, table, profile(b, "balanced"), 4)), segment.RecompressOptions{Level: &from, Workers: 2})
					s := newBenchSegment(b, f, seg)
					s.bare = bareBlocks(b, seg, level, 1<<16)
					segs, other = append(segs, s), append(other, bareBlocks(b, seg, level, 1<<16))
					raw += s.r.Info().RawBytes
					most = max(most, len(seg))
				}
				half := func(x *bare, from, step int) {
					var enc []byte
					for i := from; i < len(x.blocks); i += step {
						enc = x.blocks[i].enc.EncodeAll(x.decode(b, &x.blocks[i]), enc[:0])
					}
				}
				b.SetBytes(int64(raw))
				var ours [3]time.Duration
				var theirs, theirsTwo time.Duration
				var sink bytes.Buffer
				sink.Grow(most * 2)
				for b.Loop() {
					for i, s := range segs {
						start := time.Now()
						half(s.bare, 0, 1)
						theirs += time.Since(start)
						start = time.Now()
						var wg sync.WaitGroup
						wg.Go(func() { half(s.bare, 0, 2) })
						wg.Go(func() { half(other[i], 1, 2) })
						wg.Wait()
						theirsTwo += time.Since(start)
						for workers := 1; workers <= 2; workers++ {
							sink.Reset()
							start = time.Now()
							rep, err := segment.Recompress(context.Background(), &sink, s.r, segment.RecompressOptions{Level: &level, Workers: workers})
							if err != nil {
								b.Fatal(err)
							}
							ours[workers] += time.Since(start) - rep.WriteNS
						}
					}
				}
				b.ReportMetric(float64(theirs)/float64(ours[1]), "ratio")
				b.ReportMetric(float64(ours[1])/float64(ours[2]), "speedup-2")
				b.ReportMetric(float64(theirs)/float64(theirsTwo), "bare-speedup-2")
			})
		}
	}
}

func mustBytes(_ *os.File, b []byte) []byte { return b }
