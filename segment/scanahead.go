package segment

import "context"

// aheadSpan is how many stored bytes a job of a scan reads at once: what they decode
// to stays in a cache until the caller has seen it.
const aheadSpan = 64 << 10

// scanJob is some chunks that are read and decoded together.
type scanJob struct {
	stage
	p        *scanPlan
	from, to int // chunks, as they come
	buf      []byte
	chunks   []*scratch // a chunk each
	whole    int        // of the chunks, those that could be decoded
	err      error      // of the next one: what comes before it is yielded first
}

// trim gives large buffers back.
func (j *scanJob) trim() {
	j.buf = trim(j.buf)
	for _, s := range j.chunks {
		for i := range s.columns {
			s.columns[i].trim()
		}
	}
}

// work reads and decodes the job's chunks.
func (j *scanJob) work() error {
	p := j.p
	j.whole, j.err = 0, nil
	_, off, n := p.reach(j.from, aheadSpan)
	j.buf = grow(j.buf, n)
	if n > 0 {
		if err := readFull(p.r.r, j.buf, off); err != nil {
			j.err = p.r.inFile(err)
			return nil
		}
	}
	for k := j.from; k < j.to; k++ {
		if j.whole == len(j.chunks) {
			j.chunks = append(j.chunks, p.r.take())
		}
		s := j.chunks[j.whole]
		s.room = p.r.coder.room()
		if j.err = p.decode(s, p.decoded, p.chunk(k), j.buf, off); j.err != nil {
			return nil
		}
		j.whole++
	}
	return nil
}

// ahead scans with workers that decode ahead of the caller's goroutine, which yields.
// The error is yet to be yielded. No goroutine is left when it returns.
func (p *scanPlan) ahead(ctx context.Context, workers int, yield func(Row, error) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	var jobs []*scanJob
	newJob := func() *scanJob {
		jobs = append(jobs, &scanJob{p: p})
		return jobs[len(jobs)-1]
	}
	decoded, seen := make(chan *scanJob), make(chan struct{})
	pl := newPipeline(ctx, workers, maxKept, newJob, (*scanJob).work, func(j *scanJob) error {
		select {
		case decoded <- j:
			<-seen // its memory is the caller's until then
		case <-ctx.Done():
			return ctx.Err()
		}
		return j.err
	})
	var err error
	go func() {
		defer close(decoded)
		err = pl.each(workers, p.feed())
	}()
	held := false // a job, here
	defer func() {
		cancel()
		if held { // yield panicked
			seen <- struct{}{}
		}
		for range decoded {
			seen <- struct{}{}
		}
		for _, j := range jobs {
			for _, s := range j.chunks {
				p.r.give(s)
			}
		}
	}()
	row := make(Row, len(p.columns))
	for j := range decoded {
		held = true
		more := true
		for i := 0; i < j.whole && more; i++ {
			more = p.yield(j.chunks[i], p.chunk(j.from+i), row, yield)
		}
		if !more {
			cancel()
		}
		seen <- struct{}{}
		held = false
		if !more {
			return nil
		}
	}
	return err
}

// feed returns what gives each job the chunks that come next.
func (p *scanPlan) feed() func(*scanJob) (bool, error) {
	next := 0
	return func(j *scanJob) (bool, error) {
		if next == p.n {
			return false, nil
		}
		j.from = next
		j.to, _, j.size = p.reach(next, aheadSpan)
		next = j.to
		// A giant row is alone in its chunk. Where its head cannot be read, neither can the chunk: that is work's to say.
		if n, err := p.r.dir.chunks.memory(p.r.r, p.chunk(j.from)); err == nil {
			j.size = max(j.size, n)
		}
		return true, nil
	}
}
