package dict

import "testing"

// benchSamples is 6 MiB of receipt-like blocks of about 32 KiB.
func benchSamples() (samples [][]byte, bytes int64) {
	samples = records(rng(1), 192, 77)
	for _, s := range samples {
		bytes += int64(len(s))
	}
	return samples, bytes
}

func BenchmarkTrain(b *testing.B) {
	samples, n := benchSamples()
	b.SetBytes(n)
	for b.Loop() {
		if _, err := Train(each(samples), TrainOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkChoose(b *testing.B) {
	samples, n := benchSamples()
	trial := storing(b, 1, 3)
	b.SetBytes(n)
	for b.Loop() {
		if _, err := Choose(b.Context(), samples, ChooseOptions{TotalBytes: gib, Copies: 2}, trial); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkNew is what a reader pays for a dictionary when it opens a segment.
func BenchmarkNew(b *testing.B) {
	samples, _ := benchSamples()
	d := mustTrain(b, samples, TrainOptions{})
	b.SetBytes(int64(len(d.Bytes())))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := New(d.Kind(), d.Bytes()); err != nil {
			b.Fatal(err)
		}
	}
}
