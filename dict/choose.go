package dict

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/klauspost/compress/zstd"
)

// ChooseOptions says what a dictionary is for.
type ChooseOptions struct {
	Train TrainOptions

	// TotalBytes is the size of all blocks the dictionary would serve, uncompressed. Default: that of the samples.
	TotalBytes int64

	// Copies is how many copies of the dictionary will be stored: 1 or 2. Default 1.
	Copies int

	// Sizes are the dictionary sizes to try, in bytes, each 1 KiB to Train.MaxBytes. Default: Train.MaxBytes, its half, and
	// so on down to a sixteenth. Short ones are cheap to try, and pay best where little is to be served.
	Sizes []int
}

func (o ChooseOptions) withDefaults(samples [][]byte) ChooseOptions {
	o.Train = o.Train.withDefaults()
	if o.TotalBytes == 0 {
		for _, s := range samples {
			o.TotalBytes += int64(len(s))
		}
	}
	o.Copies = cmp.Or(o.Copies, 1)
	if len(o.Sizes) == 0 {
		for shift := range 5 {
			o.Sizes = append(o.Sizes, max(o.Train.MaxBytes>>shift, minTrainBytes))
		}
	}
	o.Sizes = slices.Clone(o.Sizes)
	slices.Sort(o.Sizes)
	o.Sizes = slices.Compact(o.Sizes)
	return o
}

func (o ChooseOptions) validate() error {
	if err := o.Train.validate(); err != nil {
		return err
	}
	if o.TotalBytes < 0 {
		return fmt.Errorf("dict: TotalBytes %d is negative", o.TotalBytes)
	}
	if o.Copies < 1 || o.Copies > 2 {
		return fmt.Errorf("dict: Copies %d not in 1..2", o.Copies)
	}
	for _, n := range o.Sizes {
		if n < minTrainBytes || n > o.Train.MaxBytes {
			return fmt.Errorf("dict: Sizes: %d not in %d..%d", n, minTrainBytes, o.Train.MaxBytes)
		}
	}
	return nil
}

// Choice is the outcome of Choose: a dictionary or none, and why.
type Choice struct {
	Dict   *Dict   `json:"-"` // nil: better without
	Reason string  `json:"reason"`
	Trials []Trial `json:"trials"` // in the order tried
}

// TrialFunc compresses sample, a block or the first MiB of one, the way it would be stored with d, or without a dictionary
// where d is nil, and returns the stored size in bytes. It need not be safe for concurrent use.
type TrialFunc func(d *Dict, sample []byte) (stored int, err error)

// Choose trains dictionaries on three of four samples, has trial compress the rest, and adopts the one that saves the most
// bytes over TotalBytes after Copies times its own size is paid. It adopts none if none saves anything, or if held-out
// samples differ so much that what they save may be luck: less than two standard errors.
//
// samples are whole uncompressed blocks, spread evenly over what the dictionary would serve; an error of trial without a
// dictionary, wrong options and the end of ctx are returned, all else is a finding: see Reason and Trials. The same
// samples, options and stored sizes give the same choice and the same bytes.
//
// It costs one training, one self-test a dictionary, and about seven trials a held-out sample.
func Choose(ctx context.Context, samples [][]byte, o ChooseOptions, trial TrialFunc) (Choice, error) {
	o = o.withDefaults(samples)
	if err := o.validate(); err != nil {
		return Choice{}, err
	}
	training, test := split(samples, sampleBudget(o.Train.MaxBytes))
	content, err := bestContent(training, o.Train)
	if errors.Is(err, ErrTooFew) || errors.Is(err, ErrNoGain) {
		return Choice{Reason: fmt.Sprintf("none: %v", err)}, nil
	}
	if err != nil {
		return Choice{}, err
	}
	c := chooser{o: o, content: content, training: training, test: test, trial: trial, build: zstd.BuildDict}
	return c.run(ctx)
}

// maxTrialBytes is how much of a held-out sample is compressed. A dictionary helps where a block begins: the rest of a
// giant adds nothing to the gain, and counts with its size.
const maxTrialBytes = 1 << 20

// heldOut is a sample kept out of the training: its first bytes and its whole size.
type heldOut struct {
	head []byte
	size int
}

// split holds out every fourth sample. Both parts are thinned evenly: the training to budget, the others to half of it.
func split(samples [][]byte, budget int) (training [][]byte, test []heldOut) {
	for i, s := range samples {
		switch {
		case i%4 == 3:
			test = append(test, heldOut{head: s[:min(len(s), maxTrialBytes)], size: len(s)})
		case len(s) >= minSampleBytes:
			training = append(training, cut(s))
		}
	}
	training = thin(training, func(s []byte) int { return len(s) }, budget)
	test = thin(test, func(h heldOut) int { return len(h.head) }, budget/2)
	return training, test
}

// chooser is one run of Choose.
type chooser struct {
	o        ChooseOptions
	content  []byte
	training [][]byte
	test     []heldOut
	trial    TrialFunc
	build    builder

	without []int // stored bytes of each held-out sample
	trials  []Trial
}

// run tries Zstd at each size, and RawContent where that fails and once more at the best size: what entropy tables bring
// hardly depends on the size, so one comparison tells.
func (c *chooser) run(ctx context.Context) (Choice, error) {
	var err error
	if c.without, err = c.measure(ctx, nil); err != nil {
		return Choice{}, err
	}
	var best candidate
	last := 0
	for _, size := range c.o.Sizes {
		content := c.content[max(0, len(c.content)-(size-tableBytes)):]
		if len(content) == last {
			continue // all that is shared fits the smaller size
		}
		last = len(content)
		t := c.try(ctx, Zstd, content)
		if t.Error != "" {
			reason := t.Error
			if t = c.try(ctx, RawContent, content); t.dict != nil {
				t.dict.fallback = reason
			}
		}
		best = best.or(t)
	}
	if best.dict != nil && best.dict.Kind() == Zstd {
		best = best.or(c.try(ctx, RawContent, best.content))
	}
	if err := ctx.Err(); err != nil {
		return Choice{}, err
	}
	choice := Choice{Reason: c.reason(best), Trials: c.trials}
	if best.pays() {
		choice.Dict = best.dict
	}
	return choice, nil
}

// candidate is a dictionary that was tried.
type candidate struct {
	Trial
	dict    *Dict // nil if it could not be built or tried
	content []byte
}

// or returns the better of two candidates: one that pays, then the one that saves more, then the earlier.
func (a candidate) or(b candidate) candidate {
	switch {
	case b.dict == nil:
		return a
	case a.dict == nil, b.pays() && !a.pays():
		return b
	case a.pays() == b.pays() && b.Estimate > a.Estimate:
		return b
	}
	return a
}

// try builds and measures one dictionary and records the trial.
func (c *chooser) try(ctx context.Context, kind Kind, content []byte) candidate {
	t := candidate{Trial: Trial{Kind: kind}, content: content}
	d, err := c.dict(kind, content)
	var with []int
	if err == nil {
		with, err = c.measure(ctx, d)
	}
	if err != nil {
		t.Error = err.Error()
	} else {
		t.dict, t.Trial = d, c.result(d, with)
	}
	c.trials = append(c.trials, t.Trial)
	return t
}

func (c *chooser) dict(kind Kind, content []byte) (*Dict, error) {
	if kind == Zstd {
		return buildZstd(content, c.training, c.o.Train.Level, c.build)
	}
	return buildRaw(content, c.training, c.o.Train.Level)
}

// measure returns the stored size of each held-out sample.
func (c *chooser) measure(ctx context.Context, d *Dict) ([]int, error) {
	out := make([]int, len(c.test))
	for i, h := range c.test {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var err error
		if out[i], err = c.trial(d, h.head); err != nil {
			return nil, fmt.Errorf("dict: trial of %d bytes: %w", len(h.head), err)
		}
	}
	return out, nil
}
