package chain

// meterStep is how many bytes pass between two calls of a progress function.
const meterStep = 1 << 20

// Meter adds bytes up and calls a progress function now and then. A nil Meter does nothing. For one goroutine.
type Meter struct {
	progress              func(done, total int64)
	done, total, reported int64
}

// NewMeter returns a meter of total bytes, below 0 when not known; nil where progress is nil.
func NewMeter(total int64, progress func(done, total int64)) *Meter {
	if progress == nil {
		return nil
	}
	return &Meter{progress: progress, total: max(total, -1)}
}

// FilesMeter returns a meter of the bytes of files.
func FilesMeter(files []File, progress func(done, total int64)) *Meter {
	var total int64
	for _, f := range files {
		if f.Size < 0 {
			return NewMeter(-1, progress)
		}
		total += f.Size
	}
	return NewMeter(total, progress)
}

// Add tells of n more bytes.
func (m *Meter) Add(n int64) {
	if m == nil {
		return
	}
	if m.done += n; m.done-m.reported >= meterStep {
		m.reported = m.done
		m.progress(m.done, m.total)
	}
}

// End calls the progress function a last time.
func (m *Meter) End() {
	if m != nil {
		m.progress(m.done, m.total)
	}
}
