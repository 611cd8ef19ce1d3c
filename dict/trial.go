package dict

import (
	"fmt"
	"math"
)

// Trial is what one dictionary did for the samples that were held out of its training.
type Trial struct {
	Kind        Kind   `json:"kind"`
	DictBytes   int    `json:"dictionary_bytes"`
	Samples     int    `json:"samples"`         // held-out samples compressed
	SampleBytes int64  `json:"sample_bytes"`    // their size, uncompressed
	Without     int64  `json:"without_bytes"`   // their stored bytes without a dictionary
	With        int64  `json:"with_bytes"`      // and with this one
	Noise       int64  `json:"noise"`           // standard error of Without − With, in bytes
	Estimate    int64  `json:"estimate"`        // bytes saved over TotalBytes, after all copies are paid; negative: lost
	Error       string `json:"error,omitempty"` // why there is no result: the other numbers are then 0
}

// result sums a trial up. All arithmetic that decides is exact or rounds the same on every processor.
func (c *chooser) result(d *Dict, with []int) Trial {
	t := Trial{Kind: d.Kind(), DictBytes: len(d.Bytes()), Samples: len(with)}
	for i, h := range c.test {
		t.SampleBytes += int64(h.size)
		t.Without += int64(c.without[i])
		t.With += int64(with[i])
	}
	gain := t.Without - t.With
	if n := float64(t.Samples); n > 1 {
		mean := float64(gain) / n
		squares := 0.0
		for i := range with {
			diff := float64(c.without[i]-with[i]) - mean
			squares += float64(diff * diff) // the conversion keeps it from being fused with the sum
		}
		t.Noise = int64(math.Ceil(math.Sqrt(squares / (n - 1) * n)))
	}
	if t.SampleBytes > 0 {
		t.Estimate = int64(float64(gain) / float64(t.SampleBytes) * float64(c.o.TotalBytes))
	}
	t.Estimate -= int64(c.o.Copies) * int64(t.DictBytes)
	return t
}

// objection returns why none is better than the dictionary, or nothing if it pays.
func (t Trial) objection() string {
	gain := t.Without - t.With
	switch {
	case t.Estimate <= 0:
		return "not worth its own size"
	case gain < minGainBytes*int64(t.Samples):
		return fmt.Sprintf("less than %d B a block", minGainBytes)
	case t.Samples < 2 || gain <= 2*t.Noise:
		return "too few or too unequal to tell gain from luck"
	}
	return ""
}

func (t Trial) pays() bool { return t.objection() == "" }

// reason says in a sentence what was chosen and why.
func (c *chooser) reason(best candidate) string {
	if best.dict == nil {
		return "none: no dictionary could be built and tried: " + c.trials[len(c.trials)-1].Error
	}
	outcome := fmt.Sprintf("%d held-out blocks take %d B with and %d B without, which is %d B over %d raw bytes less %d x %d B",
		best.Samples, best.With, best.Without, best.Estimate, c.o.TotalBytes, c.o.Copies, best.DictBytes)
	if s := best.objection(); s != "" {
		return fmt.Sprintf("none: %s: the best, %v: %s", s, best.dict, outcome)
	}
	if s := best.dict.Fallback(); s != "" {
		return fmt.Sprintf("adopted %v (no entropy tables: %s): %s", best.dict, s, outcome)
	}
	return fmt.Sprintf("adopted %v: %s", best.dict, outcome)
}
