package dict

import (
	"bytes"
	"encoding/binary"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// degenerate are columns that break trainers, each with what Train must say: nil where any valid dictionary will do.
func degenerate() []struct {
	name    string
	samples [][]byte
	want    error
} {
	r := rng(9)
	text := []byte(strings.Repeat("a line that is the same everywhere, ", 200))
	return []struct {
		name    string
		samples [][]byte
		want    error
	}{
		{"none", nil, ErrTooFew},
		{"one sample", [][]byte{text}, ErrTooFew},
		{"eight samples", repeat(8, func(int) []byte { return text }), ErrTooFew},
		{"empty rows", repeat(1000, func(int) []byte { return nil }), ErrTooFew},
		{"rows of 7 bytes", repeat(1000, func(int) []byte { return []byte("7 bytes") }), ErrTooFew},
		{"all zero", repeat(30, func(int) []byte { return make([]byte, 32<<10) }), ErrNoGain},
		{"all 255", repeat(30, func(int) []byte { return bytes.Repeat([]byte{255}, 32<<10) }), ErrNoGain},
		{"zeros of any length", repeat(60, func(i int) []byte { return make([]byte, i*37) }), ErrNoGain},
		{"same 10 bytes", repeat(300, func(int) []byte { return []byte("0123456789") }), ErrNoGain},
		{"rows of 10 random bytes", repeat(2000, func(int) []byte { return randomBytes(r, 10) }), ErrNoGain},
		{"counters of 10 bytes", repeat(2000, func(i int) []byte { return binary.BigEndian.AppendUint64([]byte{0, 0}, uint64(i)) }), ErrNoGain},
		{"random blocks", repeat(40, func(int) []byte { return randomBytes(r, 8<<10) }), ErrNoGain},
		{"random megabytes", repeat(10, func(int) []byte { return randomBytes(r, 1<<20) }), ErrNoGain},
		{"enum", repeat(40, func(int) []byte {
			b := make([]byte, 4096)
			for i := range b {
				b[i] = byte(r.IntN(3))
			}
			return b
		}), nil},
		{"256 symbols, one each", repeat(40, func(i int) []byte { return bytes.Repeat([]byte{byte(i)}, 3000) }), ErrNoGain},
		{"constant record", repeat(40, func(int) []byte { return bytes.Repeat(text[:36], 100) }), nil},
		{"identical blocks", repeat(40, func(int) []byte { return randomBytes(rng(5), 32<<10) }), nil},
		{"identical megabytes", repeat(12, func(int) []byte { return randomBytes(rng(6), 1<<20) }), nil},
		{"no literals left", repeat(40, func(int) []byte { return text }), nil},
		{"one giant among records", append(records(r, 50, 10), randomBytes(r, 8<<20)), nil},
		{"records of one", records(r, 500, 1), nil},
		{"bytes below 128", repeat(40, func(int) []byte {
			b := bytes.Clone(text)
			for range 100 {
				b[r.IntN(len(b))] = byte(r.IntN(128))
			}
			return b
		}), nil},
		{"byte 255 in each", repeat(40, func(int) []byte {
			b := bytes.Clone(text)
			for range 100 {
				b[r.IntN(len(b))] = 255
			}
			return b
		}), nil},
	}
}

func TestTrainDegenerate(t *testing.T) {
	for _, c := range degenerate() {
		for _, o := range []TrainOptions{{}, {MaxBytes: minTrainBytes, Level: 7}} {
			d, err := Train(each(c.samples), o)
			switch {
			case c.want != nil && !errors.Is(err, c.want):
				t.Errorf("%s: %v, error %v, want %v", c.name, d, err, c.want)
			case c.want == nil && err != nil && !errors.Is(err, ErrNoGain):
				t.Errorf("%s: %v", c.name, err)
			case err == nil:
				if n, most := len(d.Bytes()), o.withDefaults().MaxBytes; n > most {
					t.Errorf("%s: %d bytes, want at most %d", c.name, n, most)
				}
				if _, err := selfTest(d, repeat(3, func(i int) []byte { return randomBytes(rng(uint64(i)), 1+i*5000) }), 1); err != nil {
					t.Errorf("%s: other data: %v", c.name, err)
				}
			}
		}
	}
}

func TestTrainOptions(t *testing.T) {
	for _, o := range []TrainOptions{{MaxBytes: minTrainBytes - 1}, {MaxBytes: MaxBytes + 1}, {MaxBytes: -1}, {Level: 23}, {Level: -8}} {
		if d, err := Train(each(nil), o); err == nil || errors.Is(err, ErrTooFew) {
			t.Errorf("%+v: %v, %v: want an error about the options", o, d, err)
		}
	}
	samples := records(rng(1), 60, 10)
	for _, level := range []int{-7, -1, 1, 2, 3, 6, 9, 10, 22} {
		d := mustTrain(t, samples, TrainOptions{MaxBytes: 4 << 10, Level: level})
		if d.Kind() != Zstd || d.ZstdID() != 1 || d.Fallback() != "" {
			t.Errorf("level %d: %v, id %d, fallback %q", level, d, d.ZstdID(), d.Fallback())
		}
	}
}

// TestTrainIsDeterministic: same samples, same bytes, whatever runs beside and however the samples are passed.
func TestTrainIsDeterministic(t *testing.T) {
	samples := records(rng(1), 150, 10)
	o := TrainOptions{MaxBytes: 8 << 10}
	want := mustTrain(t, samples, o)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, procs := range []int{1, 2, 7} {
		runtime.GOMAXPROCS(procs)
		if got := mustTrain(t, samples, o); !bytes.Equal(got.Bytes(), want.Bytes()) {
			t.Errorf("GOMAXPROCS %d: %v, want %v", procs, got, want)
		}
	}
	var buffer []byte // valid until the next sample only
	got, err := Train(func(yield func([]byte) bool) {
		for _, s := range samples {
			buffer = append(buffer[:0], s...)
			if !yield(buffer) {
				return
			}
			clear(buffer)
		}
	}, o)
	if err != nil || !bytes.Equal(got.Bytes(), want.Bytes()) {
		t.Errorf("from one buffer: %v, %v, want %v", got, err, want)
	}
}

// TestTrainFallsBack: whatever the builder of entropy tables does, the content is kept, and the reason.
func TestTrainFallsBack(t *testing.T) {
	samples := records(rng(1), 60, 10)
	for _, c := range []struct {
		name   string
		build  builder
		reason string
	}{
		{"panic", func(zstd.BuildDictOptions) ([]byte, error) { panic("slice bounds out of range") }, "panic: slice bounds"},
		{"error", func(zstd.BuildDictOptions) ([]byte, error) { return nil, errors.New("0 literals found") }, "0 literals found"},
		{"garbage", func(o zstd.BuildDictOptions) ([]byte, error) { return o.History, nil }, "invalid dictionary"},
		{"nothing", func(zstd.BuildDictOptions) ([]byte, error) { return nil, nil }, "invalid dictionary"},
		{"too large", func(o zstd.BuildDictOptions) ([]byte, error) { return make([]byte, MaxBytes+1), nil }, "invalid dictionary"},
		{"sound but larger than asked", func(zstd.BuildDictOptions) ([]byte, error) {
			b, err := zstd.BuildDict(zstd.BuildDictOptions{ID: 1, Contents: samples, History: bytes.Repeat(samples[0], 9), Offsets: [3]int{1, 4, 8}})
			return b, err
		}, "want at most"},
	} {
		d, err := train(samples, TrainOptions{MaxBytes: 4 << 10, Level: 1}, c.build)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if d.Kind() != RawContent || !strings.Contains(d.Fallback(), c.reason) || len(d.Bytes()) > 4<<10 {
			t.Errorf("%s: %v, fallback %q", c.name, d, d.Fallback())
		}
		if with, without := size(t, d, samples, 1), size(t, nil, samples, 1); with >= without {
			t.Errorf("%s: %d bytes with, %d without", c.name, with, without)
		}
	}
}

// TestTrainLargest: dictionary and samples of the largest sizes together, which is where zstd.BuildDict has panicked.
func TestTrainLargest(t *testing.T) {
	if testing.Short() {
		t.Skip("seconds; not with -short")
	}
	r := rng(8)
	pool := randomBytes(r, 900<<10)
	samples := repeat(40, func(int) []byte {
		var b []byte
		for len(b) < maxSampleBytes+5000 {
			p := r.IntN(len(pool) - 5000)
			b = append(b, pool[p:p+5000]...)
			b = append(b, randomBytes(r, 500)...)
		}
		return b
	})
	for _, level := range []int{1, 7} {
		d := mustTrain(t, samples, TrainOptions{MaxBytes: MaxBytes, Level: level})
		if d.Kind() != Zstd || len(d.Bytes()) < 512<<10 {
			t.Errorf("level %d: %v, fallback %q", level, d, d.Fallback())
		}
	}
}
