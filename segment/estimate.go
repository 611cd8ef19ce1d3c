package segment

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"runtime"
	"time"

	"github.com/segstore/segstore/codec"
	"github.com/segstore/segstore/segment/merkle"
)

// Estimate is what a Recompress would change, foretold from a sample. Before is
// exact; everything after, times included, is the sample's scaled up.
type Estimate struct {
	Report
	SampledRows  uint64 `json:"sampled_rows"`
	SampledBytes uint64 `json:"sampled_bytes"` // stored bytes of the chunks taken
}

// defaultEstimate is how many stored bytes are recompressed to foretell the rest.
const defaultEstimate = 8 << 20

// EstimateRecompress recompresses chunks that are spread evenly over src, about
// sampleBytes stored bytes of them (default 8 MiB), on one goroutine, writes nothing,
// and reports what Recompress would. Dictionaries are trained as Recompress trains
// them. After has neither checksum nor ID. Where the sample takes in all chunks the
// sizes of blocks are exact.
func EstimateRecompress(ctx context.Context, src *Reader, o RecompressOptions, sampleBytes int64) (*Estimate, error) {
	if sampleBytes <= 0 {
		sampleBytes = defaultEstimate
	}
	e := &Estimate{Report: *newReport(src)}
	workers := cmp.Or(o.Workers, runtime.GOMAXPROCS(0))
	o.Workers = 1
	a, p, err := prepare(ctx, io.Discard, src, o, &e.Report)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	runs := src.spread(sampleBytes, p.ChunkBytes)
	if keepsBounds(a, src, p) {
		err = recodeRuns(ctx, a, src, runs)
	} else {
		err = rewriteRuns(ctx, a, src, p, &e.Report, runs)
	}
	if err != nil {
		return nil, err
	}
	wall := time.Since(began)
	e.finish(src, a, a.dir.info(&footer{firstRow: src.footer.firstRow}))
	e.scale(src, a, runs, wall/time.Duration(workers))
	return e, nil
}

// recodeRuns recompresses chunks within their bounds.
func recodeRuns(ctx context.Context, a *assembler, src *Reader, runs []chunkRun) error {
	copies := copiedBlocks(a, src)
	j := a.coder.newJob()
	t := src.dir.chunks
	for _, r := range runs {
		for i := r.from; i < r.to; i++ {
			if err := ctx.Err(); err != nil {
				return err
			}
			j.reset(t.first[i])
			j.chunk, j.rows = i, t.rows(i)
			if err := recodeChunk(a.coder, src, j, copies); err != nil {
				return err
			}
			if err := a.chunk(j); err != nil {
				return err
			}
		}
	}
	return nil
}

// copiedBlocks says which blocks of a chunk stay as they are.
func copiedBlocks(a *assembler, src *Reader) []bool {
	var copies []bool
	for i, c := range a.dir.layout.Columns {
		for b, after := range c.Blocks {
			before := src.dir.layout.Columns[i].Blocks[b]
			copies = append(copies, before.Spec == after.Spec && src.dir.encoder == codec.EncoderVersion() &&
				(after.Dictionary < 0 || src.dir.dictionaryIDs[before.Dictionary] == a.dir.dictionaryIDs[after.Dictionary]))
		}
	}
	return copies
}

// rewriteRuns cuts the rows of chunks into new ones.
func rewriteRuns(ctx context.Context, a *assembler, src *Reader, p codec.Policy, rep *Report, runs []chunkRun) error {
	w, err := newRowWriter(a, WriterOptions{Schema: src.dir.schema, FirstRow: src.footer.firstRow, Policy: p, Workers: 1, Context: ctx}, false)
	if err != nil {
		return err
	}
	defer w.Abort()
	rep.sourceDecode = make([]time.Duration, len(src.column))
	row := make(Row, len(src.column))
	for _, r := range runs {
		s, err := src.scan(src.dir.chunks.first[r.from])
		if err != nil {
			return err
		}
		s.took = rep.sourceDecode
		for i := r.from; i < r.to && err == nil && s.next(); i++ {
			for n := 0; n < s.rows && err == nil; n++ {
				size := 0
				for c := range row {
					row[c] = s.s.columns[c].values.At(n)
					size += len(row[c])
				}
				err = w.append(row, size)
			}
		}
		s.close()
		if err == nil {
			err = s.err
		}
		if err == nil && w.cur != nil {
			err = w.cut()
		}
		if err != nil {
			return err
		}
	}
	return w.flushRows()
}

// scale makes what the sample says of After say it of the whole segment. wall is
// what the sample took.
func (e *Estimate) scale(src *Reader, a *assembler, runs []chunkRun, wall time.Duration) {
	t := src.dir.chunks
	before := make([]uint64, len(e.Columns)) // stored bytes of the sample, by column
	sampled := 0
	for _, r := range runs {
		sampled += r.to - r.from
		e.SampledRows += t.first[r.to] - t.first[r.from]
		for chunk := r.from; chunk < r.to; chunk++ {
			for i := range before {
				cc := &src.coder.columns[i]
				_, n := t.place(chunk, cc.base, cc.base+len(cc.blocks))
				before[i] += uint64(n)
				e.SampledBytes += uint64(n)
			}
		}
	}
	chunks := float64(t.len()) / float64(sampled)
	frames, blocks := a.dir.chunks.end()-a.dir.chunks.offset[0], int64(0)
	for i := range e.Columns {
		c := &e.Columns[i]
		frames -= int64(c.StoredAfter)
		f := chunks
		if before[i] > 0 { // nearer than by chunks: what packs badly in one form does so in the other
			f = float64(c.StoredBefore) / float64(before[i])
		}
		c.RawBytes = src.dir.columns[i].RawBytes
		for _, v := range []*uint64{&c.StoredAfter, &c.EncodedBytes} {
			*v = uint64(math.Round(float64(*v) * f))
		}
		for _, v := range []*uint64{&c.Blocks, &c.KeptRaw, &c.Copied} {
			*v = uint64(math.Round(float64(*v) * chunks))
		}
		for _, v := range []*time.Duration{&c.EncodeNS, &c.DecodeNS, &c.SourceNS} {
			*v = time.Duration(float64(*v) * f)
		}
		blocks += int64(c.StoredAfter)
	}
	e.After.ID = ID{}
	e.After.Chunks = int(math.Round(float64(e.After.Chunks) * chunks))
	e.After.DictionaryBytes = a.dir.dictionaryBytes()
	front := a.dir.chunks.offset[0] - e.After.DictionaryBytes
	perChunk := frames + int64(8*a.dir.chunks.len()) // frames, and what the directory repeats of them
	e.After.OtherBytes = front + int64(float64(perChunk)*chunks) + int64(len(src.dir.runs)*len(merkle.Hash{})) + footerSize
	if e.After.DictionaryBytes*100 < blocks {
		e.After.DictionaryBytes *= 2 // the directory has a copy
	}
	e.After.StoredBytes = blocks + e.After.DictionaryBytes + e.After.OtherBytes
	e.WallNS = e.TrainNS + time.Duration(float64(wall)*chunks)
	e.WriteNS = 0
	if e.SampledRows < e.Rows {
		e.Notes = append(e.Notes, fmt.Sprintf("estimated from %d of %d rows", e.SampledRows, e.Rows))
	}
}

// chunkRun is chunks from from to to-1.
type chunkRun struct{ from, to int }

// spread returns runs of chunks, evenly spread and of about total stored bytes
// together; each is long enough for a few chunks of chunkBytes raw bytes.
func (r *Reader) spread(total int64, chunkBytes int) []chunkRun {
	t := r.dir.chunks
	stored := max(t.end()-t.offset[0], 1)
	if total >= stored {
		return []chunkRun{{0, t.len()}}
	}
	want := max(int(float64(t.len())*float64(total)/float64(stored)), 1) // chunks
	length := int(float64(4*chunkBytes)*float64(t.len())/float64(max(r.Info().RawBytes, 1)) + 0.5)
	length = min(max(length, 1), want)
	count := want / length
	runs := make([]chunkRun, count)
	for i := range runs {
		from := (t.len() - length) / 2
		if count > 1 {
			from = int(float64(t.len()-length) * float64(i) / float64(count-1))
			from = max(from, i*length) // rounding never makes them overlap
		}
		runs[i] = chunkRun{from, from + length}
	}
	return runs
}
