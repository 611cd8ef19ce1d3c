package segment

import (
	"context"
	"sync"
)

// pipeline runs work on jobs, on several goroutines, and emit on each result in
// the order in which the jobs came, one at a time, on whichever goroutine has
// finished what was missing. Nothing that goes in or out depends on how many there are.
//
// Jobs are filled either by the caller, who submits them, or by the workers
// themselves (each): that takes no goroutine but theirs.
type pipeline[J job] struct {
	ctx  context.Context
	work func(J) error
	emit func(J) error

	giant int // bytes of a job that is worked on alone

	jobs int    // how many there are: that bounds memory
	todo chan J // submitted; nil where submit works itself
	wg   sync.WaitGroup

	mu       sync.Mutex
	freed    sync.Cond // a job came free
	free     []J       // jobs not in use; the last one is warm
	order    []J       // entered and not emitted yet, in the order in which they came
	emitting bool
	err      error // the first error of work or emit
}

// job is a piece of work with all the memory that it takes, used again and again.
type job interface {
	at() *stage
	trim() // gives large buffers back
}

// stage is where a job is on its way.
type stage struct {
	size   int // bytes that it holds; set by the one who fills it
	err    error
	worked bool
}

func (s *stage) at() *stage { return s }

// jobCount is how many jobs workers need: one being filled, one waiting to be
// emitted, one and a half for each worker.
func jobCount(workers int) int {
	if workers == 1 {
		return 1
	}
	return workers + workers/2 + 2
}

// newPipeline returns a pipeline with jobCount jobs. Jobs of more than giant bytes
// are worked on alone.
func newPipeline[J job](ctx context.Context, workers, giant int, newJob func() J, work, emit func(J) error) *pipeline[J] {
	p := &pipeline[J]{ctx: ctx, work: work, emit: emit, giant: giant, jobs: jobCount(workers)}
	p.freed.L = &p.mu
	for range p.jobs {
		p.free = append(p.free, newJob())
	}
	return p
}

// start starts the workers for get and submit. With one, all of the work happens in
// submit, on the caller's goroutine. Call close in any case.
func (p *pipeline[J]) start(workers int) {
	if workers <= 1 {
		return
	}
	p.todo = make(chan J, p.jobs)
	for range workers {
		p.wg.Go(func() {
			for j := range p.todo {
				p.run(j)
			}
		})
	}
}

// get waits for a free job; the caller fills it and submits it, or puts it back.
func (p *pipeline[J]) get() (j J, err error) {
	if err := p.failed(); err != nil {
		return j, err
	}
	return p.pop(), nil
}

func (p *pipeline[J]) put(j J) {
	p.mu.Lock()
	p.free = append(p.free, j)
	p.mu.Unlock()
	p.freed.Broadcast()
}

// pop waits for a free job. One comes in any case: failed jobs are freed too.
func (p *pipeline[J]) pop() J {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.free) == 0 {
		p.freed.Wait()
	}
	j := p.free[len(p.free)-1]
	p.free = p.free[:len(p.free)-1]
	return j
}

// submit hands a job on and returns the first error so far, of any job.
func (p *pipeline[J]) submit(j J) error {
	if p.todo == nil {
		p.enter(j)
		p.run(j)
		return p.failed()
	}
	alone := j.at().size > p.giant
	if alone { // giants one at a time: memory stays near one giant, not one a worker
		p.drain(1)
	}
	p.enter(j)
	p.todo <- j
	if alone {
		p.drain(0)
	}
	return p.failed()
}

// close waits for all jobs and returns the first error. No submit may follow.
func (p *pipeline[J]) close() error {
	if p.todo != nil {
		close(p.todo)
		p.wg.Wait()
		p.todo = nil
	}
	return p.failed()
}

// each works on the jobs that next fills, until it fills none, on workers goroutines,
// of which the caller's is one. next is called by one goroutine at a time.
func (p *pipeline[J]) each(workers int, next func(J) (more bool, err error)) error {
	var turn sync.Mutex
	over := false
	take := func() (j J, more bool) { // with the turn
		if over {
			return j, false
		}
		j = p.pop()
		err := p.failed()
		if err == nil {
			more, err = next(j)
		}
		if err != nil {
			p.fail(err)
		}
		if !more || err != nil {
			over = true
			p.put(j)
			return j, false
		}
		return j, true
	}
	loop := func() {
		for {
			turn.Lock()
			j, more := take()
			if !more {
				turn.Unlock()
				return
			}
			alone := j.at().size > p.giant
			if alone {
				p.drain(1)
			}
			p.enter(j)
			if !alone {
				turn.Unlock()
			}
			p.run(j)
			if alone {
				turn.Unlock()
			}
		}
	}
	for range workers - 1 {
		p.wg.Go(loop)
	}
	loop()
	p.wg.Wait()
	return p.failed()
}

// enter gives a job its place in the order.
func (p *pipeline[J]) enter(j J) {
	s := j.at()
	s.worked, s.err = false, nil
	p.mu.Lock()
	p.order = append(p.order, j)
	p.mu.Unlock()
}

// run works on a job, and emits what that completes.
func (p *pipeline[J]) run(j J) {
	s := j.at()
	if s.err = p.failed(); s.err == nil {
		s.err = p.work(j)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	s.worked = true
	if p.emitting {
		return // whoever does will come to this one
	}
	p.emitting = true
	for len(p.order) > 0 && p.order[0].at().worked {
		first := p.order[0]
		p.order = append(p.order[:0], p.order[1:]...)
		p.mu.Unlock()
		p.finish(first)
		p.mu.Lock()
	}
	p.emitting = false
}

// finish emits a worked job and frees it.
func (p *pipeline[J]) finish(j J) {
	err := j.at().err
	if err == nil {
		err = p.failed()
	}
	if err == nil {
		err = p.emit(j)
	}
	if err != nil {
		p.fail(err)
	}
	j.trim()
	p.put(j)
}

// drain waits until no job is on its way; mine are the caller's own.
func (p *pipeline[J]) drain(mine int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.free) < p.jobs-mine {
		p.freed.Wait()
	}
}

func (p *pipeline[J]) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil {
		p.err = err
	}
}

func (p *pipeline[J]) failed() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil {
		p.err = p.ctx.Err()
	}
	return p.err
}
