package archive

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/segstore/segstore/codec"
	"github.com/segstore/segstore/segment"
)

// encodeShare is how many bytes of values make a goroutine worth its waking, which takes
// about as long as encoding 128 KiB.
const encodeShare = 256 << 10

// batchEncoder makes the frames of batches, of large ones on several goroutines. One
// batch at a time; it keeps buffers for the next.
type batchEncoder struct {
	workers int
	jobs    []frameJob
	raw     int                  // bytes of values of all jobs
	bufs    []segment.FrameBytes // by job
	parts   [][]byte             // the same behind one for the record's head
}

// frameJob is a chunk of a batch that becomes a frame.
type frameJob struct {
	frames *segment.Frames
	first  uint64
	values []codec.Values
}

// encode returns the frames of all rows of a batch, and their bytes from parts[1] on,
// which are valid until trim.
func (e *batchEncoder) encode(b *Batch, st *state, l *logFile) (tables []tableFrames, parts [][]byte, err error) {
	e.jobs, e.raw = e.jobs[:0], 0
	for i := range b.tables {
		bt := &b.tables[i]
		if len(bt.chunks) == 0 {
			continue
		}
		tf := tableFrames{table: bt.name, first: st.tables[st.number[bt.name]].end(), frames: make([]frame, len(bt.chunks))}
		next := tf.first
		for k := range bt.chunks {
			c := &bt.chunks[k]
			rows := c.values[0].Len()
			if next+uint64(rows) < next {
				return nil, nil, fmt.Errorf("archive: table %q: no row number left after %d", bt.name, next)
			}
			tf.frames[k] = frame{rows: uint32(rows), raw: uint32(c.raw)}
			e.jobs = append(e.jobs, frameJob{l.frames[bt.name], next, c.values})
			next += uint64(rows)
			e.raw += c.raw
		}
		tables = append(tables, tf)
	}
	for len(e.bufs) < len(e.jobs) {
		e.bufs = append(e.bufs, segment.FrameBytes{})
	}
	if err := e.run(); err != nil {
		return nil, nil, err
	}
	e.parts = append(e.parts[:0], nil)
	n := 0
	for i := range tables {
		for k := range tables[i].frames {
			tables[i].frames[k].size = uint32(e.bufs[n].Len())
			e.parts = append(e.parts, e.bufs[n].Frame, e.bufs[n].Blocks)
			n++
		}
	}
	return tables, e.parts, nil
}

// run does the jobs, one of its goroutines being the caller's.
func (e *batchEncoder) run() error {
	var next atomic.Int64
	var failed atomic.Pointer[error]
	work := func() {
		for failed.Load() == nil {
			i := int(next.Add(1)) - 1
			if i >= len(e.jobs) {
				return
			}
			j := &e.jobs[i]
			if err := j.frames.Encode(&e.bufs[i], j.first, j.values); err != nil {
				failed.CompareAndSwap(nil, &err)
			}
		}
	}
	var others sync.WaitGroup
	for range min(e.workers, len(e.jobs), e.raw/encodeShare) - 1 {
		others.Go(work)
	}
	work()
	others.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

// trim keeps maxKeptFrame of the buffers, of maxKeptChunks jobs, for the next batch.
func (e *batchEncoder) trim() {
	clear(e.jobs)
	clear(e.parts)
	if len(e.bufs) > maxKeptChunks {
		e.bufs, e.jobs, e.parts = slices.Clone(e.bufs[:maxKeptChunks]), nil, nil
	}
	kept := 0
	for i := range e.bufs {
		n := cap(e.bufs[i].Blocks)
		if kept+n > maxKeptFrame {
			e.bufs[i] = segment.FrameBytes{}
			continue
		}
		kept += n
	}
}
