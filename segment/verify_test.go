package segment_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/segstore/segstore/segment"
)

// largeSegment is many times what a worker reads at once.
func largeSegment(t testing.TB) []byte {
	rng := rand.New(rand.NewPCG(3, 4))
	rows := testRows(20_000, 5)
	for _, r := range rows { // incompressible, so that few rows make a large file
		r[2] = make([]byte, 150)
		for i := range r[2] {
			r[2][i] = byte(rng.Uint32())
		}
	}
	b, _ := write(t, segment.WriterOptions{FirstRow: 77, Policy: policy(t, "chunk 16384\n* group=column codec=zstd:1\n")}, rows)
	return b
}

func verify(b io.ReaderAt, n int, o segment.VerifyOptions) (found []string, err error) {
	for f, e := range segment.Verify(context.Background(), b, int64(n), o) {
		if e != nil {
			err = e
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("a flaw behind an error: %v", &f)
		}
		found = append(found, f.Error())
	}
	return found, err
}

// What is found, and in which order, does not depend on how many workers look.
func TestVerifyWorkers(t *testing.T) {
	b := largeSegment(t)
	if n := 8 * 256 << 10; len(b) < n {
		t.Fatalf("%d bytes, fewer than %d", len(b), n)
	}
	rng := rand.New(rand.NewPCG(5, 6))
	flipped := map[int]bool{}
	for len(flipped) < 40 {
		i := 1000 + rng.IntN(len(b)-100_000)
		flipped[i] = true
		b[i] ^= 0x40
	}
	for _, depth := range []segment.Depth{segment.Checksums, segment.Content} {
		var want []string
		var progress []int64
		for _, workers := range []int{1, 2, 5} {
			progress = progress[:0]
			got, err := verify(bytes.NewReader(b), len(b), segment.VerifyOptions{Depth: depth, Workers: workers, Progress: func(n int64) { progress = append(progress, n) }})
			if err != nil {
				t.Fatal(err)
			}
			if workers == 1 {
				want = got
			}
			if len(got) < 35 || !slices.Equal(got, want) {
				t.Errorf("%d workers: %d flaws, one worker found %d", workers, len(got), len(want))
			}
			if !slices.IsSorted(progress) || len(progress) < 8 || progress[len(progress)-1] > int64(len(b)) {
				t.Errorf("%d workers: progress %d", workers, progress)
			}
		}
	}
}

// brokenFile fails to read at an offset.
type brokenFile struct {
	io.ReaderAt
	at int64
}

var errDisk = errors.New("input/output error")

func (f brokenFile) ReadAt(b []byte, off int64) (int, error) {
	if off <= f.at && f.at < off+int64(len(b)) {
		return 0, errDisk
	}
	return f.ReaderAt.ReadAt(b, off)
}

// An I/O error comes last, behind every flaw before its place.
func TestVerifyIOErrorComesLast(t *testing.T) {
	b := largeSegment(t)
	for i := 10_000; i < len(b)/2; i += 100_000 {
		b[i] ^= 1
	}
	for _, workers := range []int{1, 3} {
		got, err := verify(brokenFile{bytes.NewReader(b), int64(len(b) / 2)}, len(b), segment.VerifyOptions{Workers: workers})
		if !errors.Is(err, errDisk) {
			t.Fatalf("%d workers: %v", workers, err)
		}
		if want := (len(b)/2 - 256<<10 - 10_000) / 100_000; len(got) < want {
			t.Errorf("%d workers: %d flaws before the error, at least %d are there", workers, len(got), want)
		}
	}
}

// One who stops listening, or panics, leaves no goroutine behind.
func TestVerifyStopped(t *testing.T) {
	b := largeSegment(t)
	for i := 10_000; i < len(b)-50_000; i += 20_000 {
		b[i] ^= 1
	}
	before := runtime.NumGoroutine()
	for _, workers := range []int{1, 2, 5} {
		n := 0
		for _, err := range segment.Verify(context.Background(), bytes.NewReader(b), int64(len(b)), segment.VerifyOptions{Workers: workers}) {
			if err != nil {
				t.Fatal(err)
			}
			if n++; n == 3 {
				break
			}
		}
		func() {
			defer func() {
				if recover() != "enough" {
					t.Error("another panic, or none")
				}
			}()
			for range segment.Verify(context.Background(), bytes.NewReader(b), int64(len(b)), segment.VerifyOptions{Workers: workers, Depth: segment.Content}) {
				panic("enough")
			}
		}()
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		var last error
		for _, err := range segment.Verify(ctx, bytes.NewReader(b), int64(len(b)), segment.VerifyOptions{Workers: workers}) {
			cancel()
			last = err
		}
		if !errors.Is(last, context.Canceled) {
			t.Errorf("%d workers: cancelled, and the last error is %v", workers, last)
		}
	}
	for wait := 0; runtime.NumGoroutine() > before; wait++ {
		if wait > 200 {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
