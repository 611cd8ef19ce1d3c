package segment

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

// numberJob carries a number through a pipeline.
type numberJob struct {
	stage
	n       int
	trimmed int
}

func (j *numberJob) trim() { j.trimmed++ }

// Results come in the order of the jobs, whoever fills them and however long each
// takes; giants are worked on alone.
func TestPipelineOrder(t *testing.T) {
	const jobs = 500
	var want []int
	for i := range jobs {
		want = append(want, i)
	}
	for _, workers := range []int{1, 2, 7} {
		for _, pulled := range []bool{false, true} {
			var got []int
			var running, alone atomic.Int32
			work := func(j *numberJob) error {
				n := running.Add(1)
				defer running.Add(-1)
				if j.size > 10 {
					alone.Add(1)
					defer alone.Add(-1)
					if n != 1 {
						t.Errorf("%d workers: a giant beside %d other jobs", workers, n-1)
					}
				} else if alone.Load() != 0 {
					t.Errorf("%d workers: a job beside a giant", workers)
				}
				time.Sleep(time.Duration(rand.IntN(200)) * time.Microsecond)
				return nil
			}
			emit := func(j *numberJob) error { got = append(got, j.n); return nil }
			p := newPipeline(context.Background(), workers, 10, func() *numberJob { return &numberJob{} }, work, emit)
			next := 0
			fill := func(j *numberJob) {
				j.n, j.size = next, 1
				if next%50 == 7 {
					j.size = 11
				}
				next++
			}
			if pulled {
				err := p.each(workers, func(j *numberJob) (bool, error) {
					if next == jobs {
						return false, nil
					}
					fill(j)
					return true, nil
				})
				if err != nil {
					t.Fatal(err)
				}
			} else {
				p.start(workers)
				for next < jobs {
					j, err := p.get()
					if err != nil {
						t.Fatal(err)
					}
					fill(j)
					if err := p.submit(j); err != nil {
						t.Fatal(err)
					}
				}
				if err := p.close(); err != nil {
					t.Fatal(err)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%d workers, pulled %v: order %v", workers, pulled, got)
			}
		}
	}
}

// The first error, wherever it arises, ends the pipeline and is the one returned;
// nothing behind it is emitted.
func TestPipelineError(t *testing.T) {
	wrong := errors.New("wrong")
	for _, workers := range []int{1, 2, 7} {
		for _, where := range []string{"work", "emit", "next", "context"} {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			last := -1
			work := func(j *numberJob) error {
				if where == "work" && j.n == 50 {
					return wrong
				}
				return nil
			}
			emit := func(j *numberJob) error {
				if where == "emit" && j.n == 50 {
					return wrong
				}
				if where == "context" && j.n == 50 {
					cancel()
				}
				last = j.n
				return nil
			}
			p := newPipeline(ctx, workers, 10, func() *numberJob { return &numberJob{} }, work, emit)
			next := 0
			err := p.each(workers, func(j *numberJob) (bool, error) {
				if where == "next" && next == 50 {
					return true, wrong
				}
				j.n = next
				next++
				return next < 1_000_000, nil
			})
			want := wrong
			if where == "context" {
				want = context.Canceled
			}
			if !errors.Is(err, want) {
				t.Errorf("%d workers, %s: %v", workers, where, err)
			}
			if most := 50; last > most || next > 50+jobCount(workers)+workers {
				t.Errorf("%d workers, %s: job %d emitted, %d filled", workers, where, last, next)
			}
		}
	}
}
