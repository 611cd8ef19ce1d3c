package segment_test

import (
	"context"
	"errors"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/segstore/segstore/segment"
	"pgregory.net/rapid"
)

// scanned is what a scan yields: rows, then the error, if any.
func scanned(ctx context.Context, r *segment.Reader, from, to uint64, o segment.ScanOptions) (rows []segment.Row, err error) {
	for row, e := range r.Scan(ctx, from, to, o) {
		if err != nil {
			return rows, errors.New("a step after the error")
		}
		if err = e; err != nil {
			continue
		}
		c := make(segment.Row, len(row))
		for i, v := range row {
			c[i] = slices.Clone(v)
		}
		rows = append(rows, c)
	}
	return rows, err
}

// wanted is what a scan of rows, of which the first is number first, should yield.
func wanted(rows []segment.Row, first, from, to uint64, o segment.ScanOptions) (want []segment.Row) {
	for _, row := range rows[from-first : to-first] {
		if o.Columns != nil {
			picked := segment.Row{}
			for _, c := range o.Columns {
				picked = append(picked, row[testSchema().Index(c)])
			}
			row = picked
		}
		want = append(want, row)
	}
	if o.Reverse {
		slices.Reverse(want)
	}
	return want
}

// noGoroutines waits until no more goroutines run than did before.
func noGoroutines(t testing.TB, before int) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			buf := make([]byte, 1<<16)
			t.Fatalf("%d goroutines, before %d\n%s", runtime.NumGoroutine(), before, buf[:runtime.Stack(buf, true)])
		}
	}
}

func scanReaders(t testing.TB) (rows []segment.Row, readers []*segment.Reader) {
	t.Helper()
	rows = testRows(3000, 8)
	for _, text := range []string{
		"chunk 1024\n* group=stream codec=s2\n",
		"chunk 65536\n* group=column codec=zstd:1\n",
		"chunk 16777216\n* group=column codec=raw\n", // one chunk
	} {
		b, _ := write(t, segment.WriterOptions{FirstRow: 500, Policy: policy(t, text)}, rows)
		readers = append(readers, open(t, b, segment.ReaderOptions{}))
	}
	return rows, readers
}

func TestScan(t *testing.T) {
	rows, readers := scanReaders(t)
	before := runtime.NumGoroutine()
	rapid.Check(t, func(t *rapid.T) {
		r := rapid.SampledFrom(readers).Draw(t, "reader")
		from := rapid.Uint64Range(500, 3500).Draw(t, "from")
		to := rapid.Uint64Range(from, 3500).Draw(t, "to")
		o := segment.ScanOptions{
			Columns: rapid.SampledFrom([][]string{nil, {"body"}, {"note", "number"}, {"hash", "body", "hash"}}).Draw(t, "columns"),
			Reverse: rapid.Bool().Draw(t, "reverse"),
			Workers: rapid.IntRange(0, 4).Draw(t, "workers"),
		}
		want := wanted(rows, 500, from, to, o)
		got, err := scanned(context.Background(), r, from, to, o)
		if err != nil || !slices.EqualFunc(got, want, equal) {
			t.Fatalf("%d rows, want %d: %v", len(got), len(want), err)
		}
		stop := rapid.IntRange(0, len(want)).Draw(t, "stop")
		n := 0
		for row, err := range r.Scan(context.Background(), from, to, o) {
			if n == stop {
				break
			}
			if err != nil || !equal(row, want[n]) {
				t.Fatalf("row %d of a scan that is left at %d: %v", n, stop, err)
			}
			n++
		}
	})
	noGoroutines(t, before)
}

func TestScanOutside(t *testing.T) {
	_, readers := scanReaders(t)
	for _, workers := range []int{1, 2} {
		for name, c := range map[string]struct {
			from, to uint64
			o        segment.ScanOptions
			want     error
		}{
			"before":    {499, 600, segment.ScanOptions{}, segment.ErrRange},
			"behind":    {500, 3501, segment.ScanOptions{}, segment.ErrRange},
			"far":       {1 << 63, ^uint64(0), segment.ScanOptions{}, segment.ErrRange},
			"crossed":   {600, 599, segment.ScanOptions{}, segment.ErrRange},
			"no column": {500, 600, segment.ScanOptions{Columns: []string{"body", "x"}}, segment.ErrColumn},
			"empty":     {3500, 3500, segment.ScanOptions{}, nil},
		} {
			c.o.Workers = workers
			if rows, err := scanned(context.Background(), readers[0], c.from, c.to, c.o); len(rows) > 0 || !errors.Is(err, c.want) {
				t.Errorf("%s: %d rows, %v", name, len(rows), err)
			}
		}
	}
	if _, err := scanned(context.Background(), readers[0], 500, 600, segment.ScanOptions{Workers: -1}); err == nil {
		t.Error("-1 workers")
	}
}

// All rows before the damage are yielded, then the error, whoever decodes.
func TestScanDamaged(t *testing.T) {
	rows := testRows(3000, 8)
	b, _ := write(t, segment.WriterOptions{Policy: policy(t, "chunk 4096\n* group=column codec=s2\n")}, rows)
	var at segment.Place
	for p := range open(t, b, segment.ReaderOptions{}).Places() {
		if p.Section == segment.SectionBlock && p.Column == "body" && p.FirstRow > 1500 && at.Length == 0 {
			at = p
		}
	}
	b[at.Offset+at.Length/2] ^= 1
	r := open(t, b, segment.ReaderOptions{})
	before := runtime.NumGoroutine()
	for _, workers := range []int{1, 2, 5} {
		for _, reverse := range []bool{false, true} {
			o := segment.ScanOptions{Reverse: reverse, Workers: workers}
			got, err := scanned(context.Background(), r, 0, 3000, o)
			want := wanted(rows, 0, 0, at.FirstRow, o)
			if reverse {
				want = wanted(rows, 0, at.FirstRow+at.Rows, 3000, o)
			}
			var ce *segment.CorruptionError
			if !errors.As(err, &ce) || ce.Place != at {
				t.Errorf("%d workers: %v, want damage at %v", workers, err, at)
			}
			if !slices.EqualFunc(got, want, equal) {
				t.Errorf("%d workers, reverse %t: %d rows before the damage, want %d", workers, reverse, len(got), len(want))
			}
			o.Columns = []string{"number", "note"} // not damaged
			if got, err := scanned(context.Background(), r, 0, 3000, o); err != nil || len(got) != 3000 {
				t.Errorf("other columns: %d rows, %v", len(got), err)
			}
		}
	}
	noGoroutines(t, before)
}

func TestScanCancelled(t *testing.T) {
	_, readers := scanReaders(t)
	before := runtime.NumGoroutine()
	for _, workers := range []int{1, 2} {
		ctx, cancel := context.WithCancel(context.Background())
		n := 0
		var last error
		for _, err := range readers[0].Scan(ctx, 500, 3500, segment.ScanOptions{Workers: workers}) {
			if n++; n == 100 {
				cancel()
			}
			last = err
		}
		if !errors.Is(last, context.Canceled) || n > 2500 {
			t.Errorf("%d workers: %v after %d rows", workers, last, n)
		}
		cancel()
	}
	noGoroutines(t, before)
}

// A panic of the loop's body passes through, and leaves no goroutine.
func TestScanPanics(t *testing.T) {
	_, readers := scanReaders(t)
	before := runtime.NumGoroutine()
	for _, workers := range []int{1, 3} {
		func() {
			defer func() {
				if recover() != "body" {
					t.Error("the panic did not pass")
				}
			}()
			for range readers[0].Scan(context.Background(), 500, 3500, segment.ScanOptions{Workers: workers}) {
				panic("body")
			}
		}()
	}
	noGoroutines(t, before)
}

// readCounter counts reads, and fails from one on.
type readCounter struct {
	r    io.ReaderAt
	n    int
	fail int
}

func (c *readCounter) ReadAt(p []byte, off int64) (int, error) {
	if c.n++; c.n == c.fail {
		return 0, errors.New("no such sector")
	}
	return c.r.ReadAt(p, off)
}

// An error of I/O comes with the file's name; a scan of few rows reads little.
func TestScanReads(t *testing.T) {
	rows := testRows(3000, 8)
	b, _ := write(t, segment.WriterOptions{Policy: policy(t, "chunk 4096\n* group=column codec=s2\n")}, rows)
	for fail := 1; ; fail++ {
		f := &readCounter{r: strings.NewReader(string(b))}
		r, err := segment.NewReader(f, int64(len(b)), segment.ReaderOptions{Name: "x.seg"})
		if err != nil {
			t.Fatal(err)
		}
		f.n, f.fail = 0, fail
		got, err := scanned(context.Background(), r, 0, 3000, segment.ScanOptions{})
		if f.n < fail {
			if fail < 3 || err != nil {
				t.Errorf("%d reads, %v", f.n, err)
			}
			return
		}
		if err == nil || !strings.Contains(err.Error(), "x.seg: ") || !strings.Contains(err.Error(), "no such sector") || len(got) == 3000 {
			t.Errorf("read %d fails: %d rows, %v", fail, len(got), err)
		}
	}
}

// Giant rows are decoded one at a time.
func TestScanGiants(t *testing.T) {
	rows := testRows(40, 1)
	for i := 0; i < 40; i += 7 {
		rows[i][2] = []byte(strings.Repeat("giant ", 1<<20))
	}
	b, _ := write(t, segment.WriterOptions{Policy: policy(t, "chunk 4096\n* group=column codec=zstd:1\n")}, rows)
	r := open(t, b, segment.ReaderOptions{})
	for _, o := range []segment.ScanOptions{{Workers: 3}, {Workers: 3, Reverse: true}, {Reverse: true}} {
		got, err := scanned(context.Background(), r, 0, 40, o)
		if want := wanted(rows, 0, 0, 40, o); err != nil || !slices.EqualFunc(got, want, equal) {
			t.Errorf("%+v: %d rows, %v", o, len(got), err)
		}
	}
}
