package dict

import (
	"encoding/binary"
	"testing"
)

// numberedSample is a sample of n bytes that begins with its number.
func numberedSample(number, n int) []byte {
	return append(binary.LittleEndian.AppendUint64(nil, uint64(number)), make([]byte, n-8)...)
}

// TestKeeperIsEven: of any number of samples the budget is filled, and every part of the range is kept alike.
func TestKeeperIsEven(t *testing.T) {
	const size, budget = 1000, 200 * (1000 + sampleCost)
	for _, count := range []int{1, 2, 199, 200, 201, 399, 1000, 1024, 5000, 33333} {
		k := newKeeper(budget)
		for i := range count {
			k.add(numberedSample(i, size))
		}
		kept := k.samples()
		if want := min(count, 200); len(kept) != want {
			t.Errorf("%d samples: %d kept, want %d", count, len(kept), want)
		}
		last, widest := -1, 0
		for _, s := range kept {
			n := int(binary.LittleEndian.Uint64(s))
			if n <= last {
				t.Fatalf("%d samples: number %d after %d", count, n, last)
			}
			widest, last = max(widest, n-last), n
		}
		if fair := float64(count) / float64(len(kept)); float64(max(widest, count-last)) > 3*fair+1 {
			t.Errorf("%d samples: a gap of %d where %.1f is fair", count, widest, fair)
		}
	}
}

func TestKeeperBounds(t *testing.T) {
	k := newKeeper(1 << 20)
	giant := make([]byte, 3<<20)
	for i := range 200 {
		k.add(giant)
		k.add(numberedSample(i, 8))
		k.add(make([]byte, minSampleBytes-1))
		if k.bytes > 1<<20 {
			t.Fatalf("%d bytes kept", k.bytes)
		}
	}
	for _, s := range k.samples() {
		if len(s) > maxSampleBytes || len(s) < minSampleBytes {
			t.Fatalf("a sample of %d bytes", len(s))
		}
	}
	giant = numberedSample(7, 100)
	k = newKeeper(1 << 20)
	k.add(giant)
	giant[0] = 8
	if k.samples()[0][0] != 7 {
		t.Error("the keeper shares memory with its caller")
	}
}

func TestThin(t *testing.T) {
	length := func(s []byte) int { return len(s) }
	samples := repeat(1000, func(i int) []byte { return numberedSample(i, 100) })
	if got := thin(samples, length, 1<<30); len(got) != 1000 {
		t.Errorf("%d of 1000 within the budget", len(got))
	}
	got := thin(samples, length, 100*(100+sampleCost))
	if len(got) != 100 {
		t.Fatalf("%d kept, want 100", len(got))
	}
	for i := 1; i < len(got); i++ {
		if d := binary.LittleEndian.Uint64(got[i]) - binary.LittleEndian.Uint64(got[i-1]); d < 1 || d > 25 {
			t.Errorf("%d apart, want about 10", d)
		}
	}
	samples[0] = make([]byte, 1<<20) // does not fit: the others still do
	if got := thin(samples, length, 100*(100+sampleCost)); len(got) != 100 {
		t.Errorf("%d kept beside a giant, want 100", len(got))
	}
}
