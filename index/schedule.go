package index

import (
	"sync"

	"github.com/cockroachdb/pebble/v2"
)

// scheduler lets Pebble merge tables, one merge at a time, from when the store
// is open until a write fails. An Open that fails must leave none running:
// Pebble takes their files away then. And one that failed would be repeated
// without end.
type scheduler struct {
	failed func() bool

	mu       sync.Mutex
	granted  sync.Cond // of mu: granting became false
	db       pebble.DBForCompaction
	on       bool
	running  bool
	granting bool // a call of Schedule is under way
}

var _ pebble.CompactionScheduler = (*scheduler)(nil)

func newScheduler(failed func() bool) *scheduler {
	c := &scheduler{failed: failed}
	c.granted.L = &c.mu
	return c
}

// start begins, with what waits already.
func (c *scheduler) start() {
	c.mu.Lock()
	c.on = true
	c.mu.Unlock()
	c.next()
}

// Register is called by pebble.Open.
func (c *scheduler) Register(_ int, db pebble.DBForCompaction) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.db = db
}

// Unregister is called by Close: nothing starts afterwards.
func (c *scheduler) Unregister() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.on = false
	for c.granting {
		c.granted.Wait()
	}
}

// TrySchedule is called with Pebble's locks held, when there is something to do.
func (c *scheduler) TrySchedule() (bool, pebble.CompactionGrantHandle) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.on || c.running || c.failed() {
		return false, nil
	}
	c.running = true
	return true, grant{c}
}

// UpdateGetAllowedWithoutPermission would tell of more at a time.
func (c *scheduler) UpdateGetAllowedWithoutPermission() {}

// next starts what waits, if there is leave.
func (c *scheduler) next() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.on || c.running || c.granting || c.failed() {
		return
	}
	c.running, c.granting = true, true
	c.mu.Unlock()
	taken := c.db.Schedule(grant{c}) // takes Pebble's locks
	c.mu.Lock()
	if !taken {
		c.running = false
	}
	c.granting = false
	c.granted.Broadcast()
}

// grant is the leave to run one merge.
type grant struct{ c *scheduler }

func (grant) Started()                                          {}
func (grant) MeasureCPU(pebble.CompactionGoroutineKind)         {}
func (grant) CumulativeStats(pebble.CompactionGrantHandleStats) {}

func (g grant) Done() {
	g.c.mu.Lock()
	g.c.running = false
	g.c.mu.Unlock()
	g.c.next()
}
