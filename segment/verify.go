package segment

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"runtime"

	"github.com/segstore/segstore/codec"
)

// Depth is how deep Verify looks.
type Depth int

const (
	Checksums Depth = iota // every byte: all sections, and every checksum of every chunk
	Structure              // header, front records, directory, footer, and that they agree: no chunk is read
	Content                // Checksums, and every block is decoded, every row hashed, the content root computed again
)

// VerifyOptions says how a segment is verified. The zero value means defaults.
type VerifyOptions struct {
	Name      string           // put into flaws, as the file's name
	Depth     Depth            // default Checksums
	Encodings []codec.Encoding // beside those of package codec

	// MaxBlockBytes is as in ReaderOptions, for Content.
	MaxBlockBytes int

	// Workers is how many goroutines verify. What is found does not depend on it.
	// Default GOMAXPROCS.
	Workers int

	// Progress, if not nil, is called now and then with the bytes done, by one
	// goroutine at a time.
	Progress func(bytes int64)
}

// Verify yields every flaw of the segment that r holds in its first size bytes:
// of the front, the directory and the footer, then of the chunks, each in the order
// of the file. None means that it is whole, as deep as was looked.
// It does not stop at a flaw: what can still be read is verified on. An error
// (I/O, ErrVersion, ctx) is yielded last, with the zero Flaw.
//
// It reads front to back, 256 KiB or one chunk at a time; each worker holds about
// two of them, and for Content what a chunk decodes to. A file of a newer format is
// ErrVersion, not a flaw.
func Verify(ctx context.Context, r io.ReaderAt, size int64, o VerifyOptions) iter.Seq2[Flaw, error] {
	return func(yield func(Flaw, error) bool) {
		if o.Workers <= 0 {
			o.Workers = runtime.GOMAXPROCS(0)
		}
		v := &verifier{o: o, yield: yield}
		if err := v.run(ctx, r, size); err != nil && !v.stopped {
			if o.Name != "" {
				err = fmt.Errorf("%s: %w", o.Name, err)
			}
			yield(Flaw{}, err)
		}
	}
}

type verifier struct {
	o       VerifyOptions
	yield   func(Flaw, error) bool
	stopped bool
}

func (v *verifier) flaw(f *Flaw) bool {
	if v.stopped {
		return false
	}
	f.File = v.o.Name
	v.stopped = !v.yield(*f, nil)
	return !v.stopped
}

func (v *verifier) run(ctx context.Context, r io.ReaderAt, size int64) error {
	a, err := dissect(r, size, v.o.Encodings, func(f *Flaw) { v.flaw(f) })
	if err != nil || v.stopped || v.o.Depth == Structure {
		return err
	}
	if a.header == nil && a.footer == nil {
		return nil // not a segment, or nothing left to go by: said already
	}
	f, err := a.understood()
	if err != nil {
		if a.directory == nil {
			v.flaw(damage(SectionFile, 0, size, fmt.Errorf("chunks cannot be verified: %w", err)))
			return nil
		}
		f = nil // checksums need no dictionary
	}
	k := &checker{a: a}
	if f != nil {
		k.name(f)
	} else {
		k.name(&a.directory.front)
	}
	if v.o.Depth == Content {
		if f == nil {
			v.flaw(damage(SectionFile, 0, size, fmt.Errorf("content cannot be verified: %w", err)))
		} else if k.decoder, err = newChunkDecoder(a, f, v.o.Encodings, v.o.MaxBlockBytes, v.o.Workers); err != nil {
			var ce *CorruptionError
			if !errors.As(err, &ce) {
				return err
			}
			v.flaw(ce)
		}
	}
	if v.stopped {
		return nil
	}
	if a.directory == nil {
		return v.search(ctx, k)
	}
	return v.chunks(ctx, k)
}

// search verifies the chunks that are found where no directory names them: no hash
// is there to compare their rows with.
func (v *verifier) search(ctx context.Context, k *checker) error {
	w := &window{r: k.a.r, size: k.a.size}
	return k.a.search(w, k.blocks, v.flaw, func(p piece) (bool, error) {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		if k.piece(&p) && k.decoder != nil {
			k.decode(&p)
		}
		for _, f := range k.flaws {
			v.flaw(f)
		}
		k.flaws = k.flaws[:0]
		v.progress(p.off + int64(len(p.bytes)))
		return !v.stopped, nil
	})
}

func (v *verifier) progress(done int64) {
	if v.o.Progress != nil {
		v.o.Progress(done)
	}
}

// verifyJob is some chunks that are read and verified together.
type verifyJob struct {
	stage
	checker
	from, to int    // chunks
	buf      []byte // as they lie
	failed   error  // I/O: what was found before is reported first
	rows     hashed
}

func (j *verifyJob) trim() { j.buf = trim(j.buf) }

// chunks verifies the chunks that the directory names.
func (v *verifier) chunks(ctx context.Context, k *checker) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	t := k.a.directory.chunks
	var tree *rowTree
	if k.decoder != nil {
		tree = newRowTree(k.a)
	}
	newJob := func() *verifyJob {
		j := &verifyJob{checker: *k}
		if k.decoder != nil {
			j.decoder = k.decoder.another()
		}
		return j
	}
	found := make(chan []*Flaw)
	p := newPipeline(ctx, v.o.Workers, maxKept, newJob, (*verifyJob).work, func(j *verifyJob) error {
		if len(j.flaws) > 0 {
			select {
			case found <- j.flaws:
			case <-ctx.Done():
				return ctx.Err()
			}
			j.flaws = nil
		}
		if tree != nil {
			tree.add(&j.rows)
		}
		v.progress(t.offset[j.to])
		return j.failed
	})
	next := 0
	var err error
	go func() { // flaws are yielded on the caller's goroutine
		defer close(found)
		err = p.each(v.o.Workers, func(j *verifyJob) (bool, error) {
			if next == t.len() {
				return false, nil
			}
			j.from, j.to = next, t.within(next, windowBytes)
			next = j.to
			j.size = int(t.offset[j.to] - t.offset[j.from])
			if k.decoder == nil {
				return true, nil
			}
			n, err := t.memory(k.a.r, j.from) // a giant row is alone in its chunk, and the chunk in its job
			j.size = max(j.size, n)
			return true, err
		})
	}()
	for flaws := range found {
		for _, f := range flaws {
			if !v.flaw(f) {
				cancel()
			}
		}
	}
	if err == nil && tree != nil && !v.stopped {
		tree.finish(v.flaw)
	}
	return err
}

// work reads and verifies the job's chunks.
func (j *verifyJob) work() error {
	t := j.a.directory.chunks
	start := t.offset[j.from]
	j.buf = grow(j.buf, int(t.offset[j.to]-start))
	j.rows.reset()
	if j.failed = readFull(j.a.r, j.buf, start); j.failed != nil {
		return nil
	}
	for i := j.from; i < j.to; i++ {
		p := t.piece(i)
		p.bytes = j.buf[t.offset[i]-start : t.offset[i+1]-start]
		if j.piece(&p) && j.decoder != nil && j.decode(&p) {
			j.decoder.hash(&j.rows, &p)
		}
	}
	return nil
}
