package segment

import (
	"runtime"
	"testing"
	"time"
)

// Time spent waiting is no CPU time, where there is a clock that knows.
func TestStopwatch(t *testing.T) {
	w := startWatch()
	time.Sleep(50 * time.Millisecond)
	cpu, wall := w.stop()
	if wall < 50*time.Millisecond || cpu > wall {
		t.Errorf("%v CPU in %v", cpu, wall)
	}
	if runtime.GOOS == "linux" && cpu > wall/2 {
		t.Errorf("%v CPU in %v asleep", cpu, wall)
	}
	j := &chunkJob{tally: []blockTally{{encode: wall, decode: wall / 2}}}
	if err := j.timed(func() error { time.Sleep(50 * time.Millisecond); return nil }); err != nil {
		t.Fatal(err)
	}
	if got := j.tally[0]; runtime.GOOS == "linux" && (got.encode > wall/2 || got.decode > wall/4) {
		t.Errorf("%+v", got)
	}
}
