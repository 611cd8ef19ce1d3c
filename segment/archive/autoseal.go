package archive

import (
	"context"
	"errors"
	"time"
)

// sealCut is a log's end behind which a seal in the background begins to wait: what is
// before will be sealed when enough has come behind it.
type sealCut struct {
	log     uint64 // number of the first log behind; 0 where no seal is due
	commits int    // behind
	raw     uint64 // bytes of the values in logs when it was made
}

// sealIfFull starts a seal where logs hold enough: SealBytes of them, and then
// KeepCommits commits, or SealBytes, that stay behind. a.commits is held.
func (a *Archive) sealIfFull(st *state) {
	if a.o.SealBytes < 0 {
		return
	}
	full := uint64(a.o.SealBytes)
	if a.cut.log == 0 {
		if st.logRaw < full {
			return
		}
		if err := a.rotate(); err != nil { // as if the commits behind it had met the error
			a.log.Error("a log could not be ended", "dir", a.dir, "error", err)
			a.backgroundError(WorkSeal, err)
			return
		}
		a.cut = sealCut{log: a.nextLog, raw: st.logRaw}
	} else {
		a.cut.commits++
	}
	if a.cut.commits < a.o.KeepCommits && st.logRaw < a.cut.raw+full || time.Now().UnixNano() < a.sealAfter.Load() {
		return
	}
	select {
	case a.sealing <- struct{}{}:
	default:
		return // one is at it
	}
	log := a.cut.log
	go func() { // begin takes a lock that comes before the one that is held here
		defer func() { <-a.sealing }()
		ctx, end, err := a.begin(a.ctx, true)
		if err != nil {
			return
		}
		defer end()
		err = a.seal(ctx, log)
		a.sealed(ctx, err)
		a.leaveIndex()
	}()
}

// cutSealed notes that all rows in logs with numbers below end are in segments.
func (a *Archive) cutSealed(end uint64) {
	a.commits.Lock()
	defer a.commits.Unlock()
	if a.cut.log <= end {
		a.cut = sealCut{}
	}
}

// What fails is not tried again with every commit: each time costs a log and an attempt.
const (
	sealPause    = 10 * time.Second
	maxSealPause = 10 * time.Minute
)

// sealed notes how a seal in the background ended.
func (a *Archive) sealed(ctx context.Context, err error) {
	if err == nil || ctx.Err() != nil || errors.Is(err, errRewound) {
		a.sealFails.Store(0)
		a.sealError.Store(nil)
		return
	}
	n := a.sealFails.Add(1)
	pause := min(sealPause<<min(n-1, 10), maxSealPause)
	a.sealAfter.Store(time.Now().Add(pause).UnixNano())
	text := err.Error()
	a.sealError.Store(&text)
	a.backgroundError(WorkSeal, err)
	a.log.Error("sealing failed: rows stay in the log", "dir", a.dir, "error", err, "next_try_in", pause)
}
