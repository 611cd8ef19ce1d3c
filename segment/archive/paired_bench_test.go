package archive_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/klauspost/compress/zstd"
	"github.com/segstore/segstore/codec"
	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/segment/archive"
	"golang.org/x/crypto/sha3"
)

// The benchmarks pair this package with the bare parts in one run, turn by turn: "ratio"
// is the bare parts' time through ours, MB/s are ours, B/op and allocs/op are of both sides.

// turns is the time of both sides.
type turns struct {
	ours, bare time.Duration
	n          int
}

func (x *turns) take(n int, ours, bare func(i int)) {
	for side, f := range []func(int){ours, bare} {
		began := time.Now()
		for i := range n {
			f(x.n + i)
		}
		if took := time.Since(began); side == 0 {
			x.ours += took
		} else {
			x.bare += took
		}
	}
	x.n += n
}

// report reports; each of what has so many bytes.
func (x *turns) report(b *testing.B, what string, bytes int64) {
	b.ReportMetric(float64(bytes)*float64(x.n)/1e6/x.ours.Seconds(), "MB/s")
	b.ReportMetric(float64(x.ours.Nanoseconds())/float64(x.n), "ns/"+what)
	b.ReportMetric(float64(x.bare.Nanoseconds())/float64(x.n), "bare-ns/"+what)
	b.ReportMetric(float64(x.bare)/float64(x.ours), "ratio")
}

func keccak256(dst, value []byte) []byte {
	h := sha3.NewLegacyKeccak256()
	h.Write(value)
	return h.Sum(dst)
}

// bareLookup is what one would build by hand: hash → block of the file and place in it,
// in Pebble.
type bareLookup struct {
	db     *pebble.DB
	file   *os.File
	blocks []bareBlock
	stored []byte
	raw    []byte
	hash   []byte
}

type bareBlock struct {
	offset, length int64 // of the stored bytes
	dec            *zstd.Decoder
}

// newBareLookup finds the blocks of the transactions in the only segment of the table.
func newBareLookup(b *testing.B, a *archive.Archive, rows []segment.Row) *bareLookup {
	b.Helper()
	x := &bareLookup{raw: make([]byte, 0, 4<<20)}
	db, err := pebble.Open(filepath.Join(b.TempDir(), "bare"), &pebble.Options{Cache: pebble.NewCache(64 << 20), Logger: quiet{}})
	if err != nil {
		b.Fatal(err)
	}
	x.db = db
	var s archive.SegmentInfo
	for _, i := range segments(b, a) {
		if i.Table == "transactions" {
			s = i
		}
	}
	if s.Rows != uint64(len(rows)) {
		b.Fatalf("a segment of %d rows, of %d", s.Rows, len(rows))
	}
	r, release, err := a.OpenSegment("transactions", 0)
	if err != nil {
		b.Fatal(err)
	}
	defer release()
	if x.file, err = os.Open(a.Path(s)); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := x.file.Close(); err != nil {
			b.Error(err)
		}
		if err := db.Close(); err != nil {
			b.Error(err)
		}
	})
	column := r.Schema().Index("transaction")
	decoders := map[int]*zstd.Decoder{}
	n := 0
	for p := range r.Places() {
		if p.Section != segment.SectionBlock || p.Column != "transaction" {
			continue
		}
		x.blocks = append(x.blocks, x.block(b, r, p, r.Layout().Columns[column].Blocks[p.Block].Dictionary, decoders))
		raw := x.read(b, len(x.blocks)-1)
		at := 0
		for range p.Rows {
			value := rows[n][column]
			k := bytes.Index(raw[at:], value)
			if k < 0 {
				b.Fatalf("transaction %d does not lie in its block as it is", n)
			}
			v := binary.BigEndian.AppendUint32(nil, uint32(len(x.blocks)-1))
			v = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(v, uint32(at+k)), uint32(len(value)))
			if err := db.Set(keccak256(nil, value), v, pebble.NoSync); err != nil {
				b.Fatal(err)
			}
			at += k + len(value)
			n++
		}
	}
	if n != len(rows) {
		b.Fatalf("%d transactions in blocks, of %d", n, len(rows))
	}
	if err := db.Flush(); err != nil {
		b.Fatal(err)
	}
	if err := db.Compact(b.Context(), []byte{0}, bytes.Repeat([]byte{0xff}, 33), false); err != nil {
		b.Fatal(err)
	}
	return x
}

// block reads the head of a block: codec, raw length; a sum is at its end.
func (x *bareLookup) block(b *testing.B, r *segment.Reader, p segment.Place, dictionary int, decoders map[int]*zstd.Decoder) bareBlock {
	b.Helper()
	head := make([]byte, 11)
	if _, err := x.file.ReadAt(head, p.Offset); err != nil {
		b.Fatal(err)
	}
	_, k := binary.Uvarint(head[1:])
	if codec.ID(head[0]) != codec.Zstd {
		return bareBlock{p.Offset + int64(1+k), p.Length - int64(1+k) - 8, nil}
	}
	if decoders[dictionary] == nil {
		o := []zstd.DOption{zstd.WithDecoderConcurrency(1)}
		if dictionary >= 0 {
			o = append(o, zstd.WithDecoderDicts(r.Dictionary(dictionary).Bytes()))
		}
		d, err := zstd.NewReader(nil, o...)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(d.Close)
		decoders[dictionary] = d
	}
	return bareBlock{p.Offset + int64(1+k), p.Length - int64(1+k) - 8, decoders[dictionary]}
}

func (x *bareLookup) read(b *testing.B, i int) []byte {
	blk := &x.blocks[i]
	if int64(cap(x.stored)) < blk.length {
		x.stored = make([]byte, blk.length)
	}
	x.stored = x.stored[:blk.length]
	if _, err := x.file.ReadAt(x.stored, blk.offset); err != nil {
		b.Fatal(err)
	}
	if blk.dec == nil {
		return x.stored
	}
	raw, err := blk.dec.DecodeAll(x.stored, x.raw[:0])
	if err != nil {
		b.Fatal(err)
	}
	return raw
}

func (x *bareLookup) find(b *testing.B, key []byte) {
	v, closer, err := x.db.Get(key)
	if err != nil {
		b.Fatal(err)
	}
	block, at, size := binary.BigEndian.Uint32(v), binary.BigEndian.Uint32(v[4:]), binary.BigEndian.Uint32(v[8:])
	if err := closer.Close(); err != nil {
		b.Fatal(err)
	}
	raw := x.read(b, int(block))
	if x.hash = keccak256(x.hash[:0], raw[at:at+size]); !bytes.Equal(x.hash, key) {
		b.Fatal("another transaction")
	}
}

type quiet struct{}

func (quiet) Infof(string, ...any)  {}
func (quiet) Errorf(string, ...any) {}
func (quiet) Fatalf(format string, args ...any) {
	panic(fmt.Sprintf(format, args...)) // Pebble wants this not to return
}

// BenchmarkLookup finds a real transaction by its hash, with the file in the system's
// cache and no chunk in ours, beside a Get, one positional read, and decoding and hashing
// the same block and bytes.
func BenchmarkLookup(b *testing.B) {
	for _, profile := range codec.Profiles() {
		b.Run(profile, func(b *testing.B) {
			a, rows := realArchive(b, profile)
			defer mustClose(b, a)
			bare := newBareLookup(b, a, rows)
			v, err := a.View()
			if err != nil {
				b.Fatal(err)
			}
			defer v.Close()
			tab, err := v.Table("transactions")
			if err != nil {
				b.Fatal(err)
			}
			column := tab.Schema().Index("transaction")
			rng := rand.New(rand.NewPCG(1, 2))
			keys := make([][]byte, 1<<12)
			total := int64(0)
			for i := range keys {
				value := rows[rng.IntN(len(rows))][column]
				keys[i] = keccak256(nil, value)
				total += int64(len(value))
			}
			ours := func(i int) {
				if _, err := v.Lookup("hash", keys[i%len(keys)]); err != nil {
					b.Fatal(err)
				}
			}
			theirs := func(i int) { bare.find(b, keys[i%len(keys)]) }
			const turn = 64
			b.ReportAllocs()
			var x turns
			for b.Loop() {
				x.take(turn, ours, theirs)
			}
			x.report(b, "lookup", total/int64(len(keys)))
			b.ReportMetric(testing.AllocsPerRun(len(keys)/4, func() { ours(rng.IntN(len(keys))) }), "allocs/lookup")
			b.ReportMetric(testing.AllocsPerRun(len(keys)/4, func() { theirs(rng.IntN(len(keys))) }), "bare-allocs/lookup")
		})
	}
}

// BenchmarkCommit commits the rows of an average block, durably, beside one write of the
// same rows as they are, and one sync: "bare" and "ratio". "record" is the same with the
// bytes that the log grows by, which somebody has compressed for nothing.
func BenchmarkCommit(b *testing.B) {
	tables, blocks := realTables(b)
	dir := b.TempDir()
	mustBuild(b, vfs.Default, filepath.Join(dir, "chain"), archive.CreateOptions{}, emptied(tables))
	a := mustOpen(b, vfs.Default, filepath.Join(dir, "chain"), archive.Options{SealBytes: -1})
	defer mustClose(b, a)
	logBytes := func() (n int64) {
		names, err := filepath.Glob(filepath.Join(dir, "chain", "log-*"))
		if err != nil {
			b.Fatal(err)
		}
		for _, name := range names {
			st, err := os.Stat(name)
			if err != nil {
				b.Fatal(err)
			}
			n += st.Size()
		}
		return n
	}
	commitShare(b, a, tables, 0, blocks) // begins the log
	before := logBytes()
	average := rawBytes(tables) / int64(blocks)
	share, values := 0, int64(0) // of the block that is nearest to the average
	for i := range blocks {
		if n := rawBytes(sharesOf(tables, i, blocks)); max(n-average, average-n) < max(values-average, average-values) {
			share, values = i, n
		}
	}
	commitShare(b, a, tables, share, blocks)
	record := logBytes() - before
	bare := func(n int64) func(int) {
		f, err := vfs.Default.Create(filepath.Join(dir, fmt.Sprint("bare", n)), vfs.WriteCategoryUnspecified)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { mustClose(b, f) })
		buf := make([]byte, n)
		for i := range buf {
			buf[i] = byte(rand.Uint32())
		}
		return func(int) {
			if _, err := f.Write(buf); err != nil {
				b.Fatal(err)
			}
			if err := f.SyncData(); err != nil {
				b.Fatal(err)
			}
		}
	}
	ours := func(int) { commitShare(b, a, tables, share, blocks) }
	bareValues, bareRecord := bare(values), bare(record)
	b.ReportAllocs()
	var x turns
	var recordNS time.Duration
	for b.Loop() {
		x.take(1, ours, bareValues)
		began := time.Now()
		bareRecord(0)
		recordNS += time.Since(began)
	}
	x.report(b, "commit", values)
	b.ReportMetric(float64(recordNS.Nanoseconds())/float64(x.n), "record-ns/commit")
	b.ReportMetric(float64(recordNS)/float64(x.ours), "record-ratio")
	b.ReportMetric(float64(values), "B/commit-raw")
	b.ReportMetric(float64(record), "B/commit-log")
}

// BenchmarkLiveImport commits real rows block by block and seals them, beside a bulk
// import of the same rows; "size" is what that takes through what ours takes.
func BenchmarkLiveImport(b *testing.B) {
	tables, blocks := realTables(b)
	dir := b.TempDir()
	b.ReportAllocs()
	var x turns
	var live, bulk archive.Info
	for b.Loop() {
		x.take(1, func(i int) {
			live = importLive(b, vfs.Default, filepath.Join(dir, fmt.Sprint("live", i)), tables, blocks)
		}, func(i int) {
			bulk = mustBuild(b, vfs.Default, filepath.Join(dir, fmt.Sprint("bulk", i)), archive.CreateOptions{}, tables)
		})
	}
	x.report(b, "import", rawBytes(tables))
	b.ReportMetric(float64(bulk.StoredBytes)/float64(live.StoredBytes), "size")
}
