package segment

import (
	"context"
	"fmt"
	"io"
	"math/bits"
	"runtime"

	"github.com/segstore/segstore/codec"
	"github.com/segstore/segstore/dict"
	"github.com/segstore/segstore/segment/merkle"
)

// WriterOptions says what a segment holds and how. Table and Schema are needed;
// zero elsewhere means the default.
type WriterOptions struct {
	Table    string
	Schema   Schema
	FirstRow uint64

	// Policy says how each column is encoded. Default: the profile "balanced".
	Policy codec.Policy

	// Dictionaries are the dictionaries for columns whose rule asks for one, by
	// column name; a rule without one uses its fallback. One that no rule asks for
	// is an error. A Writer sees rows once and cannot train: Write does.
	Dictionaries map[string]*dict.Dict

	// Encodings are encodings beside those of package codec.
	Encodings []codec.Encoding

	// Workers is how many goroutines encode. The bytes written do not depend on
	// it. Default GOMAXPROCS.
	Workers int

	// Metadata goes into the directory as it is: at most 1024 entries, keys of up
	// to 256 bytes, values of up to 16 MiB.
	Metadata map[string][]byte

	// Context ends the work early; default context.Background().
	Context context.Context
}

func (o WriterOptions) withDefaults() WriterOptions {
	if len(o.Policy.Rules) == 0 {
		o.Policy, _ = codec.Profile(codec.DefaultProfile) // the name is a constant of codec
	}
	if o.Workers == 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if o.Context == nil {
		o.Context = context.Background()
	}
	return o
}

func (o WriterOptions) validate() error {
	if err := ValidateName(o.Table); err != nil {
		return fmt.Errorf("segment: table: %w", err)
	}
	if err := o.Schema.Validate(); err != nil {
		return err
	}
	if err := o.Policy.Validate(); err != nil {
		return err
	}
	if o.Workers < 1 || o.Workers > 1024 {
		return fmt.Errorf("segment: Workers %d not in 1..1024", o.Workers)
	}
	return checkMetadata(o.Metadata)
}

func checkMetadata(m map[string][]byte) error {
	if len(m) > maxMetadata {
		return fmt.Errorf("segment: %d metadata entries, at most %d", len(m), maxMetadata)
	}
	for k, v := range m {
		if len(k) > maxMetadataKey || len(v) > maxMetadataValue {
			return fmt.Errorf("segment: metadata %.40q: key of %d bytes (at most %d), value of %d (at most %d)", k, len(k), maxMetadataKey, len(v), maxMetadataValue)
		}
	}
	return nil
}

// coderOptions returns options for blocks of about chunk bytes.
func newCoderOptions(encodings []codec.Encoding, workers, chunk int) coderOptions {
	return coderOptions{
		encodings:   encodings,
		concurrency: workers,
		window:      1 << bits.Len(uint(max(chunk, 1<<10)*5/4)),
		limit:       maxBlock,
	}
}

// Writer writes one segment, front to back. One goroutine may use it. After the
// first error, of a row or of the io.Writer, it is dead: every call returns that
// error, and what was written is no segment.
//
// It holds a few chunks for each worker, each four times at most (values,
// streams, compressed, read back), and for the directory 24 bytes
// a chunk and 4 for each of its blocks.
type Writer struct {
	o      WriterOptions
	a      *assembler
	p      *pipeline[*chunkJob]
	cur    *chunkJob
	most   int    // rows of a chunk
	next   uint64 // row number of the next row
	runs   merkle.Runs
	err    error
	cancel context.CancelFunc
}

// NewWriter writes header and front records to w and returns a Writer for the
// rows. Call Finish or Abort. w is not closed.
func NewWriter(w io.Writer, o WriterOptions) (*Writer, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	chosen, err := o.byBlock()
	if err != nil {
		return nil, err
	}
	return newWriter(w, o, chosen, "")
}

// newWriter returns a Writer with dictionaries by block; trials says how they were
// chosen.
func newWriter(w io.Writer, o WriterOptions, chosen map[int]*dict.Dict, trials string) (*Writer, error) {
	f := front{table: o.Table, schema: o.Schema}
	var err error
	if f.layout, f.dictionaries, err = planLayout(o.Schema, o.Policy, o.Encodings, chosen); err != nil {
		return nil, err
	}
	a, err := newAssembler(w, f, o.FirstRow, o.Policy.String(), newCoderOptions(o.Encodings, o.Workers, o.Policy.ChunkBytes))
	if err != nil {
		return nil, err
	}
	a.dir.metadata, a.dir.trials = o.Metadata, trials
	return newRowWriter(a, o, true)
}

// newRowWriter returns a Writer that cuts rows into chunks for a; hash says
// whether the leaves are computed here.
func newRowWriter(a *assembler, o WriterOptions, hash bool) (*Writer, error) {
	wr := &Writer{o: o, a: a, next: o.FirstRow, most: chunkRows(len(o.Schema.Columns))}
	ctx, cancel := context.WithCancel(o.Context)
	wr.cancel = cancel
	newJob := func() *chunkJob {
		j := a.coder.newJob()
		j.hash = hash
		return j
	}
	wr.p = newPipeline(ctx, o.Workers, giantBytes(o.Policy.ChunkBytes), newJob, func(j *chunkJob) error {
		return j.timed(func() error { return a.coder.encode(j) })
	}, func(j *chunkJob) error {
		for _, leaf := range j.leaves {
			wr.runs.Append(leaf)
		}
		return a.chunk(j)
	})
	wr.p.start(o.Workers)
	return wr, nil
}

// chunkRows is the most rows of a chunk that a writer cuts: the format's limit, fewer
// where there are so many columns that the places of short values alone, 4 bytes
// each, would take more than 4 MiB.
func chunkRows(columns int) int { return min(maxChunkRows, (1<<20)/columns) }

// giantBytes is the size from which a chunk is a giant: a long row, never a chunk
// of rows that reached the target.
func giantBytes(target int) int { return max(maxKept, 2*target) }

// byBlock turns Dictionaries into dictionaries by number of block.
func (o *WriterOptions) byBlock() (map[int]*dict.Dict, error) {
	chosen := map[int]*dict.Dict{}
	used, number := 0, 0
	for _, col := range o.Schema.Columns {
		rule := o.Policy.Rule(col.Name, col.Kind.String(), col.Format)
		enc, err := ruleEncoding(rule, col.Kind, o.Encodings)
		if err != nil {
			return nil, fmt.Errorf("segment: column %q: %w", col.Name, err)
		}
		blocks := 1
		if rule.Group == codec.GroupStream {
			blocks = len(enc.Streams())
		}
		if d := o.Dictionaries[col.Name]; d != nil {
			if !rule.Spec.Dict {
				return nil, fmt.Errorf("segment: dictionary for column %q, whose codec is %s", col.Name, rule.Spec)
			}
			used++
			chosen[number+blocks-1] = d // the last block: the one that holds the values' bytes
		}
		number += blocks
	}
	if used != len(o.Dictionaries) {
		return nil, fmt.Errorf("segment: dictionaries for %d columns, %d of them in the schema", len(o.Dictionaries), used)
	}
	return chosen, nil
}

// Append adds a row. The values are copied. A row that does not fit the schema is
// an error that leaves the Writer alive.
func (w *Writer) Append(row Row) error {
	if w.err != nil {
		return w.err
	}
	size, err := w.o.Schema.Check(row)
	if err != nil {
		return err
	}
	if w.next == ^uint64(0) {
		return fmt.Errorf("segment: no row number left after %d", w.next)
	}
	return w.append(row, size)
}

func (w *Writer) append(row Row, size int) error {
	target := w.o.Policy.ChunkBytes
	if w.cur != nil && w.cur.rows > 0 && size >= target {
		if err := w.cut(); err != nil { // a long row stands alone
			return err
		}
	}
	if w.cur == nil {
		j, err := w.p.get()
		if err != nil {
			return w.die(err)
		}
		j.reset(w.next)
		w.cur = j
	}
	w.cur.append(row, size)
	w.next++
	if w.cur.size >= target || w.cur.rows == w.most {
		return w.cut()
	}
	return nil
}

// cut ends the current chunk.
func (w *Writer) cut() error {
	j := w.cur
	w.cur = nil
	if err := w.p.submit(j); err != nil {
		return w.die(err)
	}
	return nil
}

func (w *Writer) die(err error) error {
	w.err = err
	return err
}

// Rows returns the number of rows appended.
func (w *Writer) Rows() uint64 { return w.next - w.o.FirstRow }

// Finish writes the rest, the directory and the footer. The segment is whole when
// it returns without an error. A segment without rows is an error.
func (w *Writer) Finish() (Info, error) {
	if err := w.flushRows(); err != nil {
		return Info{}, err
	}
	info, err := w.a.finish(w.runs.Nodes(), w.runs.Root())
	if err != nil {
		return Info{}, w.die(err)
	}
	w.err = ErrClosed
	return info, nil
}

// flushRows ends the last chunk and waits until all are written.
func (w *Writer) flushRows() error {
	if w.err != nil {
		w.Abort()
		return w.err
	}
	if w.Rows() == 0 {
		w.Abort()
		return w.die(fmt.Errorf("segment: no rows: a segment holds at least one"))
	}
	if w.cur != nil {
		if err := w.cut(); err != nil {
			w.Abort()
			return err
		}
	}
	err := w.p.close()
	w.cancel()
	if err != nil {
		return w.die(err)
	}
	return nil
}

// Abort ends the Writer's goroutines. After Finish it does nothing.
func (w *Writer) Abort() {
	w.cancel()
	if w.cur != nil {
		w.p.put(w.cur)
		w.cur = nil
	}
	_ = w.p.close() // the error of an aborted pipeline has been returned, or is the abort itself
	if w.err == nil {
		w.err = ErrClosed
	}
}
