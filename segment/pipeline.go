package segment

import (
	"context"
	"sync"
)

// pipeline runs work on jobs, on several goroutines, and emit on each result in
// the order in which the jobs came. With one worker, all of it happens in
// submit, on the caller's goroutine. Output never depends on the number of
// workers.
type pipeline struct {
	ctx  context.Context
	work func(*chunkJob) error
	emit func(*chunkJob) error

	giant int // bytes of a chunk that is worked on alone

	free  chan *chunkJob // jobs not in use; its capacity bounds memory
	todo  chan *chunkJob
	order chan *chunkJob
	wg    sync.WaitGroup

	mu  sync.Mutex
	err error // the first error of work or emit
}

// newPipeline returns a pipeline with the given jobs, at least two more than
// workers where there are several. Chunks of more than giant bytes are worked on
// alone. Call close in any case.
func newPipeline(ctx context.Context, workers, giant int, jobs []*chunkJob, work, emit func(*chunkJob) error) *pipeline {
	p := &pipeline{ctx: ctx, work: work, emit: emit, giant: giant, free: make(chan *chunkJob, len(jobs))}
	for _, j := range jobs {
		p.free <- j
	}
	if workers <= 1 {
		return p
	}
	p.todo = make(chan *chunkJob, len(jobs))
	p.order = make(chan *chunkJob, len(jobs))
	p.wg.Add(workers + 1)
	for range workers {
		go func() {
			defer p.wg.Done()
			for j := range p.todo {
				if j.err = p.failed(); j.err == nil {
					j.err = p.work(j)
				}
				j.done <- struct{}{}
			}
		}()
	}
	go func() {
		defer p.wg.Done()
		for j := range p.order {
			<-j.done
			p.finish(j)
		}
	}()
	return p
}

// finish emits a worked job and frees it.
func (p *pipeline) finish(j *chunkJob) {
	err := j.err
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
	p.free <- j
}

// get waits for a free job; the caller fills it and submits it, or puts it back.
func (p *pipeline) get() (*chunkJob, error) {
	if err := p.failed(); err != nil {
		return nil, err
	}
	return <-p.free, nil // comes back in any case: failed jobs are freed too
}

func (p *pipeline) put(j *chunkJob) { p.free <- j }

// submit hands a job on and returns the first error so far, of any job.
func (p *pipeline) submit(j *chunkJob) error {
	if p.todo == nil {
		if j.err = p.failed(); j.err == nil {
			j.err = p.work(j)
		}
		p.finish(j)
		return p.failed()
	}
	alone := j.size > p.giant
	if alone { // giants one at a time: memory stays near one giant, not one a worker
		p.drain(1)
	}
	p.order <- j
	p.todo <- j
	if alone {
		p.drain(0)
	}
	return p.failed()
}

// drain waits until no job is on its way; mine are the caller's own.
func (p *pipeline) drain(mine int) {
	held := make([]*chunkJob, 0, cap(p.free))
	for len(held) < cap(p.free)-mine {
		held = append(held, <-p.free)
	}
	for _, j := range held {
		p.free <- j
	}
}

// close waits for all jobs and returns the first error. No submit may follow.
func (p *pipeline) close() error {
	if p.todo != nil {
		close(p.todo)
		close(p.order)
		p.wg.Wait()
		p.todo, p.order = nil, nil
	}
	return p.failed()
}

func (p *pipeline) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil {
		p.err = err
	}
}

func (p *pipeline) failed() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil {
		p.err = p.ctx.Err()
	}
	return p.err
}
