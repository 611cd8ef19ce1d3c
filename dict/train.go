package dict

import (
	"cmp"
	"errors"
	"fmt"
	"iter"

	"github.com/klauspost/compress/zstd"
)

// Why there is no dictionary. Both are findings about the samples, not failures.
var (
	ErrTooFew = errors.New("too few samples to train a dictionary")
	ErrNoGain = errors.New("samples share nothing that a dictionary could save")
)

const (
	defaultMaxBytes = 64 << 10
	minTrainBytes   = 1 << 10

	// minGainBytes is what a dictionary must save a sample, on average, to be of any use.
	minGainBytes = 8
)

// TrainOptions says what to train. The zero value is good.
type TrainOptions struct {
	// MaxBytes is the largest size of the dictionary, tables included: 1 KiB to 1 MiB. Default 64 KiB. A dictionary is
	// smaller where samples share less.
	MaxBytes int

	// Level is the level the dictionary will be used with, by zstd's numbers: -7 to 22. Default 1. It shapes the entropy
	// tables only; any dictionary works with any level.
	Level int
}

func (o TrainOptions) withDefaults() TrainOptions {
	o.MaxBytes = cmp.Or(o.MaxBytes, defaultMaxBytes)
	o.Level = cmp.Or(o.Level, 1)
	return o
}

func (o TrainOptions) validate() error {
	if o.MaxBytes < minTrainBytes || o.MaxBytes > MaxBytes {
		return fmt.Errorf("dict: MaxBytes %d not in %d..%d", o.MaxBytes, minTrainBytes, MaxBytes)
	}
	if o.Level < -7 || o.Level > 22 {
		return fmt.Errorf("dict: Level %d not in -7..22", o.Level)
	}
	return nil
}

// Train returns a dictionary made of samples: what the dictionary is to serve, compressed the way it will be, such as whole
// blocks; a sample is read until the next one is asked for, and not kept. The same samples and options give the same
// bytes. Memory is bounded, see the package's limits.
//
// Where no valid entropy tables can be built the dictionary is RawContent and its Fallback says why. The error wraps
// ErrTooFew (fewer than 9 samples of 8 bytes or more) or ErrNoGain (nothing is shared, or what is saves less than 8 bytes a sample,
// as an eighth of them, not trained on, shows) where samples are not worth a dictionary. Whether one is worth its own size
// is for [Choose] to measure.
func Train(samples iter.Seq[[]byte], o TrainOptions) (*Dict, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	k := newKeeper(sampleBudget(o.MaxBytes))
	for s := range samples {
		k.add(s)
	}
	return train(k.samples(), o, zstd.BuildDict)
}

func train(samples [][]byte, o TrainOptions, b builder) (*Dict, error) {
	training, test := holdOut(samples)
	content, err := bestContent(training, o)
	if err != nil {
		return nil, err
	}
	d, err := build(content, training, o.Level, b)
	if err != nil {
		return nil, err
	}
	without, err := selfTest(nil, test, o.Level)
	if err != nil {
		return nil, err
	}
	with, err := selfTest(d, test, o.Level)
	if err != nil {
		return nil, err
	}
	if gain := without - with; gain < minGainBytes*int64(len(test)) {
		return nil, fmt.Errorf("dict: %w: %d samples not trained on take %d bytes without and %d with one", ErrNoGain, len(test), without, with)
	}
	return d, nil
}

// holdOut keeps every eighth sample out of the training: a dictionary consists of pieces of those it is
// trained on, and would gain on them even if they were noise.
func holdOut(samples [][]byte) (training, test [][]byte) {
	for i, s := range samples {
		if i%8 == 7 {
			test = append(test, s)
		} else {
			training = append(training, s)
		}
	}
	return training, test
}

// bestContent returns the content of a dictionary of o.MaxBytes; its last n bytes are the content of a smaller one.
func bestContent(samples [][]byte, o TrainOptions) ([]byte, error) {
	if len(samples) < minSamples {
		return nil, fmt.Errorf("dict: %w: %d of %d bytes or more, want %d", ErrTooFew, len(samples), minSampleBytes, minSamples)
	}
	content := selectContent(newMaterial(samples), o.MaxBytes-tableBytes)
	if len(content) < MinBytes {
		return nil, fmt.Errorf("dict: %w: no string of %d bytes is in two of them", ErrNoGain, gramBytes)
	}
	return content, nil
}
