package dict

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"
)

// FuzzNew: any bytes as a dictionary are an error, or a dictionary that encoder and decoder can use at every level. Memory
// is bounded as New looks at no more than MaxBytes and the decoder by its own limit.
func FuzzNew(f *testing.F) {
	small := mustTrain(f, records(rng(1), 60, 10), TrainOptions{MaxBytes: 2 << 10}).Bytes()
	text := mustTrain(f, repeat(50, func(i int) []byte {
		return bytes.Repeat(append([]byte("the same words, in "), randomBytes(rng(uint64(i)), 9)...), 20)
	}), TrainOptions{MaxBytes: 1 << 10, Level: 7}).Bytes()
	for _, b := range [][]byte{small, text} {
		f.Add(b)
		for _, n := range []int{7, 8, 20, 60, 100, 150, len(b) / 2, len(b) - 1} {
			f.Add(b[:min(n, len(b))])
		}
		for p := 4; p < 160; p += 13 {
			broken := bytes.Clone(b)
			broken[p%len(b)] ^= 0xFF
			f.Add(broken)
		}
	}
	f.Add([]byte("raw content, no magic"))
	samples := fuzzSamples()
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, level := range []int{1, 3, 7} {
			useDict(t, b, level, samples)
		}
	})
}

func fuzzSamples() [][]byte {
	return [][]byte{nil, {0}, bytes.Repeat([]byte("the same words, "), 50), records(rng(5), 1, 5)[0], randomBytes(rng(6), 300)}
}

// useDict parses b, which may be anything, and if it is taken for a dictionary compresses and restores samples with it.
func useDict(t *testing.T, b []byte, level int, samples [][]byte) (valid bool) {
	d, err := Parse(b)
	if err != nil {
		if !errors.Is(err, ErrInvalid) {
			t.Fatal(err)
		}
		return false
	}
	if !bytes.Equal(d.Bytes(), b) {
		t.Fatal("a dictionary of other bytes")
	}
	enc, dec, err := coders(d, level)
	if err != nil {
		t.Fatalf("New takes it, level %d does not: %v", level, err)
	}
	defer enc.Close()
	defer dec.Close()
	for i, s := range samples {
		packed := enc.EncodeAll(s, nil)
		back, err := dec.DecodeAll(packed, nil)
		if err != nil || !bytes.Equal(back, s) {
			t.Fatalf("level %d, sample %d: %d bytes for %d, %v", level, i, len(back), len(s), err)
		}
		if len(packed) > 20 { // a broken frame with a hostile dictionary: anything but a panic
			packed[len(packed)/2] ^= b[len(b)/2] | 1
			if back, err = dec.DecodeAll(packed, nil); err == nil && len(back) > testWindow {
				t.Fatalf("%d bytes decoded", len(back))
			}
		}
	}
	return true
}

// TestBrokenTables: every bit of the entropy tables of a good dictionary flipped, and random tables: an error, or usable.
func TestBrokenTables(t *testing.T) {
	good := mustTrain(t, records(rng(1), 60, 10), TrainOptions{MaxBytes: 2 << 10}).Bytes()
	samples := fuzzSamples()
	valid, step, random := 0, 1, 600
	if testing.Short() {
		step, random = 11, 50
	}
	for bit := 8 * 8; bit < 8*160; bit += step {
		b := bytes.Clone(good)
		b[bit/8] ^= 1 << (bit % 8)
		if useDict(t, b, []int{1, 3, 7}[bit%3], samples) {
			valid++
		}
	}
	r := rng(7)
	for i := range random {
		b := append(bytes.Clone(good[:8]), randomBytes(r, 100+r.IntN(100))...)
		b[8] = byte(r.IntN(80)) // the length of the literal table, most often refused as random
		b = append(b, good...)
		if useDict(t, b, []int{1, 3, 7}[i%3], samples) {
			valid++
		}
	}
	t.Logf("%d of the broken dictionaries are valid others", valid)
}

// FuzzTrain: any samples give a valid dictionary within its size, the same twice, or one of the two findings.
func FuzzTrain(f *testing.F) {
	f.Add([]byte("a line, a line, a line, a line, a line, a line, a line, a line, a line, a line"), uint16(8), byte(1))
	f.Add(bytes.Repeat([]byte{0}, 4000), uint16(100), byte(3))
	f.Add(bytes.Join(records(rng(1), 12, 3), nil), uint16(1300), byte(1))
	f.Add(randomBytes(rng(2), 5000), uint16(256), byte(7))
	f.Add(bytes.Repeat(binary.BigEndian.AppendUint64(nil, 255), 500), uint16(10), byte(22))
	f.Fuzz(func(t *testing.T, data []byte, step uint16, level byte) {
		var samples [][]byte
		for at := data[:min(len(data), 64<<10)]; len(at) > 0; {
			n := min(len(at), 1+int(step))
			samples, at = append(samples, at[:n]), at[n:]
		}
		o := TrainOptions{MaxBytes: minTrainBytes, Level: int(level % 23)}
		d, err := Train(each(samples), o)
		if err != nil {
			if !errors.Is(err, ErrTooFew) && !errors.Is(err, ErrNoGain) {
				t.Fatal(err)
			}
			return
		}
		if len(d.Bytes()) > o.MaxBytes {
			t.Fatalf("%v, want at most %d bytes", d, o.MaxBytes)
		}
		if _, err := selfTest(d, samples, o.Level); err != nil {
			t.Fatal(err)
		}
		again, err := Train(each(samples), o)
		if err != nil || !bytes.Equal(again.Bytes(), d.Bytes()) || again.Kind() != d.Kind() {
			t.Fatalf("%v, then %v, %v", d, again, err)
		}
	})
}
