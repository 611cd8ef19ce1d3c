package cmd

import (
	"time"

	"github.com/segstore/segstore/segment/archive"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// progress shows on a terminal how far a job has come, once it has taken a
// second. A nil progress shows nothing. For one goroutine.
type progress struct {
	bars *mpb.Progress
	bar  *mpb.Bar
}

const progressDelay = time.Second

// progress returns a progress bar of bytes with a label of what is done; call end in
// any case.
func (a *app) progress(label string) *progress {
	if a.quiet || !isTerminal(a.stderr) {
		return nil
	}
	shown := make(chan any)
	time.AfterFunc(progressDelay, func() { close(shown) })
	p := &progress{bars: mpb.New(mpb.WithOutput(a.stderr), mpb.WithRenderDelay(shown))}
	p.next(label, inBytes)
	return p
}

// unit is what a bar counts.
type unit int

const (
	inBytes unit = iota
	inRows
)

// next begins the next part of the job, with a bar of its own in place of the last.
func (p *progress) next(label string, u unit) {
	if p == nil {
		return
	}
	counters := decor.CountersKibiByte("% .1f / % .1f", decor.WCSyncSpace)
	speed := decor.AverageSpeed(decor.SizeB1024(0), "% .1f", decor.WC{W: 12})
	if u == inRows {
		counters = decor.CountersNoUnit("%d / %d rows", decor.WCSyncSpace)
		speed = decor.AverageSpeed(0, "%.0f rows/s", decor.WC{W: 16})
	}
	if p.bar != nil {
		p.bar.Abort(true)
	}
	// A bar made with no total does not end by itself when it is reached.
	p.bar = p.bars.New(0, mpb.BarStyle().Lbound("").Filler("█").Tip("█").Padding("░").Rbound(""),
		mpb.BarWidth(30),
		mpb.BarRemoveOnComplete(),
		mpb.PrependDecorators(
			decor.Name(label, decor.WC{W: 12, C: decor.DindentRight}),
			counters,
			decor.Name("  ")),
		mpb.AppendDecorators(
			decor.NewPercentage("%3d"),
			speed,
			decor.AverageETA(decor.ET_STYLE_GO, decor.WC{W: 7}),
		))
}

// set tells how many of how many bytes are done; total is 0 or less where nobody
// knows.
func (p *progress) set(done, total int64) {
	if p == nil {
		return
	}
	p.bar.SetTotal(max(total, done), false)
	p.bar.SetCurrent(done)
}

// job returns what an archive's job calls.
func (p *progress) job() func(archive.Progress) {
	if p == nil {
		return nil
	}
	return func(s archive.Progress) { p.set(int64(s.RawBytes), int64(s.TotalRawBytes)) }
}

// end takes the bar away.
func (p *progress) end() {
	if p == nil {
		return
	}
	p.bar.Abort(true)
	p.bars.Wait()
}
