package index

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// Operation k of the script fails, for every k. Somebody hears of it, nobody
// hears anything wrong, and the store is whole for who opens it next.
func TestFault(t *testing.T) {
	for _, forever := range []bool{false, true} {
		name := map[bool]string{false: "once", true: "from then on"}[forever]
		t.Run(name, func(t *testing.T) {
			step := 1
			if testing.Short() || raceEnabled {
				step = 7
			}
			for k := 0; ; k += step {
				if !faultAt(t, k, forever) {
					t.Logf("%d operations", k)
					return
				}
			}
		})
	}
}

func faultAt(t *testing.T, k int, forever bool) bool {
	mem, w := vfs.NewMem(), newWorld()
	var mu sync.Mutex
	n := k
	var failed *errorfs.Op
	fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		mu.Lock()
		defer mu.Unlock()
		if n--; n == -1 {
			failed = &op
		}
		if n == -1 || n < -1 && forever {
			return errorfs.ErrInjected
		}
		return nil
	}))
	err := script(fs, "/x/index", w)
	mu.Lock()
	defer mu.Unlock()
	if failed == nil {
		if err != nil {
			t.Errorf("no fault: %v", err)
		}
		return false
	}
	switch {
	case err == nil && !tolerated(*failed):
		t.Errorf("operation %d: failure swallowed: kind %d of %s", k, failed.Kind, failed.Path)
	case err == nil:
	case !errors.Is(err, errorfs.ErrInjected):
		t.Errorf("operation %d: kind %d of %s: %v", k, failed.Kind, failed.Path, err)
	case errors.Is(err, ErrDamaged):
		t.Errorf("operation %d: kind %d of %s: I/O error taken for damage: %v", k, failed.Kind, failed.Path, err)
	}
	s, err := Open(mem, "/x/index", Options{})
	if err != nil {
		t.Errorf("operation %d: kind %d of %s: open: %v", k, failed.Kind, failed.Path, err)
		return true
	}
	if err := w.check(s); err != nil {
		t.Errorf("operation %d: kind %d of %s: %v", k, failed.Kind, failed.Path, err)
	}
	checkTidy(t, s)
	if err := s.Close(); err != nil {
		t.Errorf("operation %d: %v", k, err)
	}
	return true
}

// tolerated are failures that hurt nobody: of clean-up, and of what Pebble
// asks before it does without.
func tolerated(op errorfs.Op) bool {
	switch op.Kind {
	case errorfs.OpRemove, errorfs.OpRemoveAll, errorfs.OpGetDiskUsage:
		return true
	case errorfs.OpLink: // it copies
		return strings.HasSuffix(op.Path, ".sst")
	case errorfs.OpOpen: // a second time, for another way of reading ahead
		return strings.HasSuffix(op.Path, ".sst")
	case errorfs.OpStat: // for the size of what it removes
		return !strings.HasPrefix(op.Path, "/")
	}
	return false
}

// What is hidden from Pebble goes by the directory's name, however it is put.
func TestOwned(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for _, fs := range []vfs.FS{vfs.NewMem(), vfs.Default} {
		for _, name := range []string{"index", "./index/", "a/../index", dir + "//index"} {
			faults := &errorfs.Toggle{Injector: errorfs.ErrInjected}
			s, err := Open(errorfs.Wrap(fs, faults), name, Options{})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			faults.On()
			if err := s.change(s.db.Flush); !errors.Is(err, errorfs.ErrInjected) || s.wedged() {
				t.Errorf("%s: %v", name, err)
			}
			if err := s.Sync(); !errors.Is(err, ErrFailed) {
				t.Errorf("%s: a write after a failure: %v", name, err)
			}
			faults.Off()
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// A write that fails in the background, after the last call, is said by Close.
func TestCloseTellsOfTheBackground(t *testing.T) {
	faults := &errorfs.Toggle{Injector: errorfs.ErrInjected}
	s, err := Open(errorfs.Wrap(vfs.NewMem(), faults), "index", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Sync(); err != nil {
		t.Fatal(err)
	}
	faults.On()
	if err := s.db.Flush(); err != nil { // as Pebble does by itself
		t.Fatal(err)
	}
	faults.Off()
	if err := s.Close(); !errors.Is(err, errorfs.ErrInjected) {
		t.Errorf("close: %v", err)
	}
}
