package index

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// An image of the disk is taken at each write and sync of the script, and
// opened as after a loss of power.
func TestCrash(t *testing.T) {
	for _, percent := range []int{0, 50, 50, 50} { // what survives differs
		t.Run(fmt.Sprint(percent), func(t *testing.T) {
			seed, step := rand.Uint64(), 1
			if testing.Short() || raceEnabled {
				step = 7
			}
			for k := 0; ; k += step {
				if !crashAt(t, int64(k), percent, seed) {
					t.Logf("%d operations", k)
					return
				}
			}
		})
	}
}

func crashAt(t *testing.T, k int64, percent int, seed uint64) (hit bool) {
	mem, w := vfs.NewCrashableMem(), newWorld()
	var n atomic.Int64
	n.Store(k)
	var image *vfs.MemFS
	var then *world
	fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite && n.Add(-1) == -1 {
			w.mu.Lock()
			defer w.mu.Unlock()
			image, then = mem.CrashClone(vfs.CrashCloneCfg{
				UnsyncedDataPercent: percent, RNG: rand.New(rand.NewPCG(uint64(k), seed)),
			}), w.clone()
		}
		return nil
	}))
	if err := script(fs, "/x/index", w); err != nil {
		t.Fatalf("operation %d: %v", k, err)
	}
	if image == nil {
		return false
	}
	s, err := Open(image, "/x/index", Options{})
	if err != nil {
		t.Fatalf("operation %d, seed %d: %v", k, seed, err)
	}
	if err := then.check(s); err != nil {
		t.Errorf("operation %d, seed %d: %v", k, seed, err)
	}
	checkTidy(t, s)
	if err := s.Close(); err != nil {
		t.Errorf("operation %d: %v", k, err)
	}
	return true
}

// checkTidy says what an opened store holds that no index needs.
func checkTidy(t *testing.T, s *Store) {
	t.Helper()
	names, err := s.guard.List(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if len(name) >= len(loadPrefix) && name[:len(loadPrefix)] == loadPrefix {
			t.Errorf("%s is left", name)
		}
	}
	live := map[uint32]bool{0: true}
	for _, r := range s.catalogue {
		live[r.id] = true
	}
	it, err := s.db.NewIter(nil)
	if err != nil {
		t.Fatal(err)
	}
	for it.First(); it.Valid(); it.Next() {
		if id := uint32(it.Key()[3]); !live[id] {
			t.Fatalf("entry %x of no index", it.Key())
		}
	}
	if err := it.Close(); err != nil {
		t.Fatal(err)
	}
}
