package segment

import (
	"runtime"
	"time"
)

// stopwatch measures the CPU time of the goroutine that starts and stops it; the
// time that passes where the system has no clock of a thread. It costs two system
// calls.
type stopwatch struct {
	cpu  time.Duration
	ok   bool
	wall time.Time
}

// startWatch binds the goroutine to its thread until stop.
func startWatch() stopwatch {
	runtime.LockOSThread()
	cpu, ok := threadCPU()
	return stopwatch{cpu, ok, time.Now()}
}

// stop returns the CPU time, and the time that passed.
func (s stopwatch) stop() (cpu, wall time.Duration) {
	wall = time.Since(s.wall)
	now, ok := threadCPU()
	runtime.UnlockOSThread()
	if !s.ok || !ok {
		return wall, wall
	}
	return now - s.cpu, wall
}

// timed does work on the job. What its blocks took on the clock becomes CPU time in
// proportion: the work may have had to wait for a processor.
func (j *chunkJob) timed(work func() error) error {
	w := startWatch()
	err := work()
	cpu, wall := w.stop()
	if cpu < wall {
		share := float64(cpu) / float64(wall)
		for i := range j.tally {
			t := &j.tally[i]
			for _, d := range []*time.Duration{&t.encode, &t.decode, &t.source} {
				*d = time.Duration(float64(*d) * share)
			}
		}
	}
	return err
}
