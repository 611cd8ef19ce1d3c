package dict

import (
	"bytes"
	"context"
	"errors"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

const gib = 1 << 30

func TestChooseAdopts(t *testing.T) {
	samples := records(rng(1), 160, 8)
	o := ChooseOptions{Train: TrainOptions{MaxBytes: 8 << 10}, TotalBytes: gib, Copies: 2}
	c, err := Choose(t.Context(), samples, o, storing(t, 1, 3))
	if err != nil {
		t.Fatal(err)
	}
	if c.Dict == nil || c.Dict.Kind() != Zstd || !strings.HasPrefix(c.Reason, "adopted zstd ") {
		t.Fatalf("%v: %s", c.Dict, c.Reason)
	}
	var best Trial
	for _, trial := range c.Trials {
		if trial.Error != "" || trial.Samples != 40 || trial.Without <= 0 || trial.With <= 0 || trial.With >= trial.Without {
			t.Errorf("trial %+v", trial)
		}
		perByte := float64(trial.Without-trial.With) / float64(trial.SampleBytes)
		if want := perByte*gib - 2*float64(trial.DictBytes); math.Abs(want-float64(trial.Estimate)) > 1 {
			t.Errorf("trial %+v: estimate should be %.0f", trial, want)
		}
		if trial.Estimate > best.Estimate {
			best = trial
		}
	}
	if best.Kind != c.Dict.Kind() || best.DictBytes != len(c.Dict.Bytes()) {
		t.Errorf("adopted %v, the best trial is %+v", c.Dict, best)
	}
	if last := c.Trials[len(c.Trials)-1]; last.Kind != RawContent {
		t.Errorf("raw content was not tried: %+v", c.Trials)
	}
	if without, with := size(t, nil, samples, 3), size(t, c.Dict, samples, 1); with > without*9/10 {
		t.Errorf("adopted %v, but it makes %d of %d bytes", c.Dict, with, without)
	}
}

// TestChooseCountsItsSize: the same samples take a large dictionary for much data, a small one for less, none for little;
// and a second copy is counted.
func TestChooseCountsItsSize(t *testing.T) {
	samples := records(rng(1), 160, 8)
	last := math.MaxInt
	for _, total := range []int64{1 << 36, 64 << 20, 1 << 20, 8 << 10} {
		c, err := Choose(t.Context(), samples, ChooseOptions{Train: TrainOptions{MaxBytes: 32 << 10}, TotalBytes: total}, storing(t, 1, 3))
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		if c.Dict != nil {
			n = len(c.Dict.Bytes())
		}
		if n > last || n == 0 && total >= 64<<20 {
			t.Errorf("%d raw bytes: %d bytes of dictionary, %d for more: %s", total, n, last, c.Reason)
		}
		last = n
	}
	if last != 0 {
		t.Errorf("a dictionary of %d bytes for 8 KiB", last)
	}

	// A dictionary that saves nearly twice its size is worth one copy of it, not two.
	trial := func(total int64, copies int) Choice {
		o := ChooseOptions{Train: TrainOptions{MaxBytes: 4 << 10}, Sizes: []int{4 << 10}, TotalBytes: total, Copies: copies}
		c, err := Choose(t.Context(), samples, o, storing(t, 1, 1))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	first := trial(gib, 1).Trials[0]
	total := int64(1.8 * float64(first.DictBytes) * float64(first.SampleBytes) / float64(first.Without-first.With))
	if one, two := trial(total, 1), trial(total, 2); one.Dict == nil || two.Dict != nil {
		t.Errorf("one copy: %s\ntwo copies: %s", one.Reason, two.Reason)
	}
}

func TestChooseDegenerate(t *testing.T) {
	for _, c := range degenerate() {
		choice, err := Choose(t.Context(), c.samples, ChooseOptions{TotalBytes: gib}, storing(t, 1, 3))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if c.want != nil && choice.Dict != nil {
			t.Errorf("%s: %s", c.name, choice.Reason)
		}
		if want := map[bool]string{true: "none: ", false: "adopted "}[choice.Dict == nil]; !strings.HasPrefix(choice.Reason, want) {
			t.Errorf("%s: %v, reason %q", c.name, choice.Dict, choice.Reason)
		}
	}
}

// TestChooseHoldsOut: what a dictionary is judged by is not what it is made of.
func TestChooseHoldsOut(t *testing.T) {
	samples := records(rng(1), 80, 8)
	compress := storing(t, 1, 1)
	for i := range samples {
		samples[i] = append(bytes.Repeat([]byte{byte(i)}, 40), samples[i]...)
	}
	var content []byte
	for i, s := range samples {
		if i%4 == 3 {
			content = append(content, s...)
		}
	}
	calls := 0
	c, err := Choose(t.Context(), samples, ChooseOptions{Train: TrainOptions{MaxBytes: 8 << 10}, TotalBytes: gib}, func(d *Dict, s []byte) (int, error) {
		calls++
		if !bytes.Contains(content, s) || s[0]%4 != 3 {
			t.Fatal("a trial on a sample that was trained on")
		}
		return compress(d, s)
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := 20 * (1 + len(c.Trials)); calls != want {
		t.Errorf("%d calls for %d trials, want %d", calls, len(c.Trials), want)
	}

	// Samples of noise that all occur twice in the training, and never in the rest: a gain on paper only.
	noise := repeat(80, func(i int) []byte {
		if i%4 == 3 {
			return randomBytes(rng(uint64(i)), 4096)
		}
		return randomBytes(rng(uint64(1000+i/8)), 4096)
	})
	if c, err = Choose(t.Context(), noise, ChooseOptions{Train: TrainOptions{MaxBytes: 8 << 10}, TotalBytes: 1 << 40}, compress); err != nil || c.Dict != nil {
		t.Errorf("noise: %v, %s", err, c.Reason)
	}
}

// TestChooseLuck: one block of many that a dictionary happens to serve does not make it worth having.
func TestChooseLuck(t *testing.T) {
	samples := records(rng(1), 80, 8)
	calls := 0
	lucky := func(d *Dict, s []byte) (int, error) {
		if calls++; d != nil && calls%20 == 7 {
			return len(s) - 3000, nil
		}
		return len(s), nil
	}
	c, err := Choose(t.Context(), samples, ChooseOptions{Train: TrainOptions{MaxBytes: 8 << 10}, TotalBytes: 1 << 40}, lucky)
	if err != nil || c.Dict != nil || !strings.Contains(c.Reason, "luck") {
		t.Errorf("%v: %v, %s", err, c.Dict, c.Reason)
	}
	small := func(d *Dict, s []byte) (int, error) {
		if d != nil {
			return len(s) - minGainBytes + 1, nil
		}
		return len(s), nil
	}
	if c, err = Choose(t.Context(), samples, ChooseOptions{Train: TrainOptions{MaxBytes: 8 << 10}, TotalBytes: 1 << 40}, small); err != nil || c.Dict != nil || !strings.Contains(c.Reason, "less than 8 B a block") {
		t.Errorf("%v: %v, %s", err, c.Dict, c.Reason)
	}
}

func TestChooseErrors(t *testing.T) {
	samples := records(rng(1), 60, 8)
	compress := storing(t, 1, 1)
	for _, o := range []ChooseOptions{
		{Train: TrainOptions{MaxBytes: 5}}, {TotalBytes: -1}, {Copies: 3}, {Copies: -1},
		{Sizes: []int{minTrainBytes - 1}}, {Sizes: []int{defaultMaxBytes + 1}},
	} {
		if c, err := Choose(t.Context(), samples, o, compress); err == nil {
			t.Errorf("%+v: %s", o, c.Reason)
		}
	}

	broken := errors.New("no space for an encoder")
	if _, err := Choose(t.Context(), samples, ChooseOptions{}, func(*Dict, []byte) (int, error) { return 0, broken }); !errors.Is(err, broken) {
		t.Errorf("a trial without dictionary that fails: %v", err)
	}
	c, err := Choose(t.Context(), samples, ChooseOptions{TotalBytes: gib}, func(d *Dict, s []byte) (int, error) {
		if d != nil && d.Kind() == Zstd {
			return 0, broken
		}
		return compress(d, s)
	})
	if err != nil || c.Dict == nil || c.Dict.Kind() != RawContent || !strings.Contains(c.Dict.Fallback(), broken.Error()) {
		t.Errorf("no Zstd dictionary works: %v, %s", err, c.Reason)
	}
	c, err = Choose(t.Context(), samples, ChooseOptions{TotalBytes: gib}, func(d *Dict, s []byte) (int, error) {
		if d != nil {
			return 0, broken
		}
		return compress(d, s)
	})
	if err != nil || c.Dict != nil || !strings.Contains(c.Reason, broken.Error()) || len(c.Trials) == 0 || c.Trials[0].Error == "" {
		t.Errorf("no dictionary works: %v, %s, %+v", err, c.Reason, c.Trials)
	}

	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	_, err = Choose(ctx, samples, ChooseOptions{}, func(d *Dict, s []byte) (int, error) {
		if calls++; calls == 20 {
			cancel()
		}
		return compress(d, s)
	})
	if !errors.Is(err, context.Canceled) || calls != 20 {
		t.Errorf("canceled at call 20: %v after %d", err, calls)
	}
}

// TestChooseFallsBack: where no entropy tables can be built, raw content is tried at each size, and the reason is kept.
func TestChooseFallsBack(t *testing.T) {
	samples := records(rng(1), 80, 8)
	o := ChooseOptions{TotalBytes: gib, Train: TrainOptions{MaxBytes: 8 << 10}}.withDefaults(samples)
	training, test := split(samples, sampleBudget(o.Train.MaxBytes))
	content, err := bestContent(training, o.Train)
	if err != nil {
		t.Fatal(err)
	}
	c := chooser{o: o, content: content, training: training, test: test, trial: storing(t, 1, 1),
		build: func(zstd.BuildDictOptions) ([]byte, error) { panic("index out of range") }}
	choice, err := c.run(t.Context())
	if err != nil || choice.Dict == nil || choice.Dict.Kind() != RawContent {
		t.Fatalf("%v: %s", err, choice.Reason)
	}
	if !strings.Contains(choice.Reason, "panic: index out of range") || !strings.Contains(choice.Dict.Fallback(), "panic: index out of range") {
		t.Errorf("reason %q, fallback %q", choice.Reason, choice.Dict.Fallback())
	}
	if len(choice.Trials) != 2*len(o.Sizes) {
		t.Errorf("%d trials for %d sizes", len(choice.Trials), len(o.Sizes))
	}
}

func TestChooseIsDeterministic(t *testing.T) {
	samples := records(rng(1), 100, 8)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	var want Choice
	for i, procs := range []int{2, 1, 5} {
		runtime.GOMAXPROCS(procs)
		got, err := Choose(t.Context(), samples, ChooseOptions{TotalBytes: gib}, storing(t, 1, 3))
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			want = got
		}
		if got.Reason != want.Reason || !bytes.Equal(got.Dict.Bytes(), want.Dict.Bytes()) || len(got.Trials) != len(want.Trials) {
			t.Errorf("GOMAXPROCS %d: %s\nwant %s", procs, got.Reason, want.Reason)
		}
	}
}

// TestChooseGiant: a giant among the held-out counts with its size, and costs no more than its first MiB.
func TestChooseGiant(t *testing.T) {
	samples := records(rng(1), 100, 8)
	samples[51] = make([]byte, 24<<20)
	compress := storing(t, 1, 1)
	c, err := Choose(t.Context(), samples, ChooseOptions{TotalBytes: 40 << 20}, func(d *Dict, s []byte) (int, error) {
		if len(s) > maxTrialBytes {
			t.Fatalf("a trial on %d bytes", len(s))
		}
		return compress(d, s)
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Trials[0].SampleBytes; got < 24<<20 {
		t.Errorf("held-out samples of %d bytes: the giant does not count", got)
	}
}
