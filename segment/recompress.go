package segment

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"time"

	"github.com/segstore/segstore/codec"
	"github.com/segstore/segstore/dict"
)

// RecompressOptions says what changes. Zero fields change nothing.
type RecompressOptions struct {
	// Policy is the new policy. Default: the one the segment has.
	Policy codec.Policy

	// Level, if not nil, is set on every zstd codec of the policy, by zstd's own
	// numbers (0 is its default, 3). From 10 on dictionaries are dropped: the report
	// says so.
	Level *int

	// Encoding, if not empty, is set as codec.Policy.WithEncoding does.
	Encoding string

	// Retrain trains dictionaries anew where the policy wants them. They are trained
	// without it too where the policy is another one than the segment has, or none
	// was ever tried; with the same policy, but for the level, their bytes stay.
	Retrain bool

	// Encodings are encodings beside those of package codec.
	Encodings []codec.Encoding

	// Workers is how many goroutines recompress. The result does not depend on it.
	// Default GOMAXPROCS.
	Workers int

	// Progress, if not nil, is called now and then with the rows done, by one
	// goroutine at a time.
	Progress func(rows uint64)
}

// policy returns the policy for src under the options.
func (o *RecompressOptions) policy(src *Reader) (codec.Policy, error) {
	p := o.Policy
	if len(p.Rules) == 0 {
		var err error
		if p, err = src.Policy(); err != nil {
			return p, fmt.Errorf("segment: policy in the directory: %w", err)
		}
	}
	if o.Encoding != "" {
		p = p.WithEncoding(o.Encoding)
	}
	if o.Level != nil {
		p = p.WithLevel(*o.Level)
	}
	return p, p.Validate()
}

// Settled reports whether recompressing src would change nothing: it has the
// policy already, dictionaries were tried where that wants them, and it was written
// by this version of the encoder.
func (o RecompressOptions) Settled(src *Reader) bool {
	p, err := o.policy(src)
	return err == nil && !o.Retrain && p.String() == src.dir.policy && src.dir.encoder == codec.EncoderVersion() && !src.untrained(p)
}

// untrained reports whether policy p wants dictionaries and none was tried for the
// segment: a Writer that is given none has no rows to train on before they are
// written.
func (r *Reader) untrained(p codec.Policy) bool {
	if r.dir.trials != "" || len(r.dir.dictionaryIDs) > 0 {
		return false
	}
	return slices.ContainsFunc(r.dir.schema.Columns, func(c Column) bool {
		return p.Rule(c.Name, c.Kind.String(), c.Format).Spec.Dict
	})
}

// Recompress writes the rows of src to dst as another segment, under another
// policy, and reports what that changed. The content root is the same: every
// block written is decoded again and compared with what was read from src, so
// the hashes of runs are carried over. Chunk bounds stay where the policy's chunk
// target does; a block whose codec, dictionary and bounds stay is copied with a
// new checksum.
//
// Damage in src ends it with a *CorruptionError. After an error what dst has got
// is no segment. Memory is a few chunks a worker; an encoder a worker and codec (1 MiB
// at the level fastest, 35 MiB at best); the directory; and up to 16 MiB and the
// trainer's memory while dictionaries are trained.
func Recompress(ctx context.Context, dst io.Writer, src *Reader, o RecompressOptions) (*Report, error) {
	began := time.Now()
	if o.Workers == 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	rep := newReport(src)
	a, p, err := prepare(ctx, dst, src, o, rep)
	if err != nil {
		return nil, err
	}
	if keepsBounds(a, src, p) {
		err = recode(ctx, a, src, o)
	} else {
		err = rewrite(ctx, a, src, p, o, rep)
	}
	if err != nil {
		return nil, err
	}
	info, err := a.finish(src.dir.runs, src.footer.root)
	if err != nil {
		return nil, err
	}
	rep.finish(src, a, info)
	rep.WallNS = time.Since(began)
	return rep, nil
}

// prepare plans the new segment, trains dictionaries where that is wanted, and
// starts to write it to dst.
func prepare(ctx context.Context, dst io.Writer, src *Reader, o RecompressOptions, rep *Report) (*assembler, codec.Policy, error) {
	p, err := o.policy(src)
	if err != nil {
		return nil, p, err
	}
	before, err := src.Policy()
	if err != nil {
		return nil, p, err
	}
	chosen := src.dictionaries()
	asked := o
	asked.Level = nil
	q, err := asked.policy(src)
	if err != nil {
		return nil, p, err
	}
	was, err := effect(src.dir.schema, before, o.Encodings)
	if err != nil {
		return nil, p, err
	}
	will, err := effect(src.dir.schema, q, o.Encodings)
	if err != nil {
		return nil, p, err
	}
	retrain := o.Retrain || was != will || src.untrained(p)
	if retrain {
		if chosen, err = train(ctx, src, src.dir.schema, p, o.Encodings, rep); err != nil {
			return nil, p, err
		}
	}
	f := front{table: src.dir.table, schema: src.dir.schema}
	if f.layout, f.dictionaries, err = planLayout(f.schema, p, o.Encodings, chosen); err != nil {
		return nil, p, err
	}
	a, err := newAssembler(dst, f, src.footer.firstRow, p.String(), newCoderOptions(o.Encodings, o.Workers, p.ChunkBytes))
	if err != nil {
		return nil, p, err
	}
	a.dir.metadata = src.dir.metadata
	a.dir.trials = src.dir.trials
	if retrain {
		a.dir.trials = rep.trials()
	}
	return a, p, nil
}

// effect returns what a policy means for a schema, but for levels: as text, to
// compare.
func effect(s Schema, p codec.Policy, encodings []codec.Encoding) (string, error) {
	p = p.WithLevel(codec.DefaultLevel)
	text := fmt.Sprintln(p.ChunkBytes)
	for _, c := range s.Columns {
		r := p.Rule(c.Name, c.Kind.String(), c.Format)
		enc, err := ruleEncoding(r, c.Kind, encodings)
		if err != nil {
			return "", fmt.Errorf("segment: column %q: %w", c.Name, err)
		}
		r.Match, r.Encoding = "*", enc.Name()
		text += fmt.Sprintln(r)
	}
	return text, nil
}

// keepsBounds reports whether a segment under policy p, with the layout of a, has
// the chunks of src, and the same bytes in its blocks before compression.
func keepsBounds(a *assembler, src *Reader, p codec.Policy) bool {
	before, err := src.Policy()
	return err == nil && p.ChunkBytes == before.ChunkBytes && sameStreams(src.dir.layout, a.dir.layout)
}

// sameStreams reports whether chunks of both layouts have the same streams in
// the same blocks: then bytes before compression are the same.
func sameStreams(a, b Layout) bool {
	return slices.EqualFunc(a.Columns, b.Columns, func(x, y ColumnLayout) bool {
		return x.Encoding == y.Encoding &&
			slices.EqualFunc(x.Blocks, y.Blocks, func(p, q BlockLayout) bool { return p.Streams == q.Streams })
	})
}

// dictionaries returns the dictionary of each block that has one, by the block's
// number in the chunk.
func (r *Reader) dictionaries() map[int]*dict.Dict {
	m, number := map[int]*dict.Dict{}, 0
	for _, c := range r.dir.layout.Columns {
		for _, b := range c.Blocks {
			if b.Dictionary >= 0 {
				m[number] = r.dir.dictionaries[b.Dictionary]
			}
			number++
		}
	}
	return m
}

// recode recompresses within the chunks' bounds, block by block: values are never
// taken apart. Everything, reading included, happens on the workers.
func recode(ctx context.Context, a *assembler, src *Reader, o RecompressOptions) error {
	copies := make([]bool, a.coder.blocks)
	k := 0
	for i, c := range a.dir.layout.Columns {
		for b, after := range c.Blocks {
			before := src.dir.layout.Columns[i].Blocks[b]
			copies[k] = before.Spec == after.Spec && src.dir.encoder == codec.EncoderVersion() &&
				(after.Dictionary < 0 || src.dir.dictionaryIDs[before.Dictionary] == a.dir.dictionaryIDs[after.Dictionary])
			k++
		}
	}
	p := newPipeline(ctx, o.Workers, maxKept, a.coder.newJob,
		func(j *chunkJob) error { return j.timed(func() error { return recodeChunk(a.coder, src, j, copies) }) },
		func(j *chunkJob) error {
			if o.Progress != nil {
				o.Progress(j.first + uint64(j.rows) - src.footer.firstRow)
			}
			return a.chunk(j)
		})
	t, next := src.dir.chunks, 0
	a.dir.chunks.grow(t.len())
	err := p.each(o.Workers, func(j *chunkJob) (more bool, err error) {
		if next == t.len() {
			return false, nil
		}
		j.reset(t.first[next])
		j.chunk, j.rows = next, t.rows(next)
		if j.size, err = t.memory(src.r, next); err != nil {
			return false, src.inFile(err)
		}
		next++
		return true, nil
	})
	if err != nil {
		return err
	}
	for i := range a.dir.columns { // values and streams are the same
		a.dir.columns[i].RawBytes = src.dir.columns[i].RawBytes
		copy(a.dir.columns[i].Streams, src.dir.columns[i].Streams)
	}
	return nil
}

func recodeChunk(c *coder, src *Reader, j *chunkJob, copies []bool) error {
	off, n := src.dir.chunks.place(j.chunk, 0, c.blocks)
	j.in = grow(j.in, n)
	if n > 0 {
		if err := readFull(src.r, j.in, off); err != nil {
			return src.inFile(err)
		}
	}
	in, lens, room := j.in, src.dir.chunks.lengths(j.chunk), src.coder.room()
	for i := range c.columns {
		cc := &c.columns[i]
		for b := range cc.blocks {
			k := cc.base + b
			stored := in[:lens[k]]
			in = in[lens[k]:]
			j.lens[k] = 0
			if len(stored) == 0 {
				continue
			}
			if copies[k] {
				if err := c.copyBlock(j, src.coder, i, b, stored); err != nil {
					return src.blockError(j.chunk, i, b, err)
				}
				continue
			}
			began := time.Now()
			raw, err := src.coder.decodeBlock(j.split.block(b)[:0], stored, i, b, j.first, room)
			room -= len(raw)
			j.tally[k].source = time.Since(began)
			if err != nil {
				return src.blockError(j.chunk, i, b, err)
			}
			j.split.raw[b] = raw
			if err := c.encodeBlock(j, i, b, raw); err != nil {
				return err
			}
		}
	}
	return nil
}

// copyBlock appends a stored block as it is, but for its checksum.
func (c *coder) copyBlock(j *chunkJob, src *coder, column, block int, stored []byte) error {
	if err := checkBlock(src.id, column, block, j.first, stored); err != nil {
		return err
	}
	id, n, _, err := parseBlock(stored, src.limit)
	if err != nil {
		return err
	}
	start := len(j.out)
	j.out = append(j.out, stored[:len(stored)-8]...)
	c.seal(j, column, block, start)
	spec := c.columns[column].blocks[block].spec
	if id != codec.Raw && id != spec.ID {
		return fmt.Errorf("block is %s, its layout says %s", id, spec)
	}
	t := &j.tally[c.columns[column].base+block]
	t.raw, t.copied = int64(n), 1
	if id == codec.Raw && spec.ID != codec.Raw {
		t.kept = 1
	}
	return nil
}

// rewrite cuts the rows into new chunks.
func rewrite(ctx context.Context, a *assembler, src *Reader, p codec.Policy, o RecompressOptions, rep *Report) error {
	w, err := newRowWriter(a, WriterOptions{Schema: src.dir.schema, FirstRow: src.footer.firstRow, Policy: p, Workers: o.Workers, Context: ctx}, false)
	if err != nil {
		return err
	}
	defer w.Abort()
	s, err := src.scan(src.footer.firstRow)
	if err != nil {
		return err
	}
	defer s.close()
	s.took = make([]time.Duration, len(src.column))
	row := make(Row, len(src.column))
	for s.next() {
		for i := range s.rows {
			size := 0
			for c := range row {
				row[c] = s.s.columns[c].values.At(i)
				size += len(row[c])
			}
			if err := w.append(row, size); err != nil {
				return err
			}
		}
		if o.Progress != nil {
			o.Progress(w.Rows())
		}
	}
	if s.err != nil {
		return s.err
	}
	rep.sourceDecode = s.took
	return w.flushRows()
}
