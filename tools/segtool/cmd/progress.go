package cmd

import (
	"context"
	"time"

	"github.com/segstore/segstore/segment/archive"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// progress shows on a terminal how far a job has come, once it has taken a
// second. A nil progress shows nothing. For one goroutine.
type progress struct {
	bars  *mpb.Progress
	bar   *mpb.Bar
	label string
}

const progressDelay = time.Second

// progress returns a progress bar with a label of what is done; call end in any case.
func (a *app) progress(ctx context.Context, label string) *progress {
	if a.quiet || !isTerminal(a.stderr) {
		return nil
	}
	shown := make(chan any)
	time.AfterFunc(progressDelay, func() { close(shown) })
	p := &progress{label: label}
	p.bars = mpb.NewWithContext(ctx, mpb.WithOutput(a.stderr), mpb.WithWidth(80), mpb.WithRenderDelay(shown))
	p.bar = p.bars.New(0, mpb.BarStyle().Lbound("").Filler("█").Tip("█").Padding("░").Rbound(""),
		mpb.BarRemoveOnComplete(),
		mpb.PrependDecorators(
			decor.Any(func(decor.Statistics) string { return p.label }, decor.WC{W: 12, C: decor.DindentRight}),
			decor.CountersKibiByte("% .1f / % .1f", decor.WCSyncSpace),
			decor.Name("  ")),
		mpb.AppendDecorators(
			decor.NewPercentage("%3d"),
			decor.AverageSpeed(decor.SizeB1024(0), "% .1f", decor.WC{W: 12}),
			decor.AverageETA(decor.ET_STYLE_GO, decor.WC{W: 7}),
		))
	return p
}

// set tells how many of how many bytes are done; total is 0 or less where nobody
// knows.
func (p *progress) set(done, total int64) {
	if p == nil {
		return
	}
	if total > 0 {
		p.bar.SetTotal(max(total, done+1), false) // ends with end, not before
	} else {
		p.bar.SetTotal(done+1, false)
	}
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
