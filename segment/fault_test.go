package segment_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/segstore/segstore/segment"
)

var errInjected = errors.New("injected")

// faultyReader fails at call number fail, from 0, by its way.
type faultyReader struct {
	b    []byte
	fail int64
	way  func(b []byte, n int) (int, error)
	call atomic.Int64
	hit  atomic.Bool
}

func (f *faultyReader) ReadAt(b []byte, off int64) (int, error) {
	n, err := bytes.NewReader(f.b).ReadAt(b, off)
	if f.call.Add(1)-1 == f.fail {
		f.hit.Store(true)
		return f.way(b, n)
	}
	return n, err
}

// readFaults are ways in which a read goes wrong.
var readFaults = map[string]func(b []byte, n int) (int, error){
	"error":          func([]byte, int) (int, error) { return 0, errInjected },
	"error and half": func(_ []byte, n int) (int, error) { return n / 2, errInjected },
	"short and EOF":  func(b []byte, n int) (int, error) { clear(b[max(n-1, 0):]); return max(n-1, 0), io.EOF },
	"nothing at all": func(b []byte, n int) (int, error) { clear(b); return 0, io.EOF },
	"short, silent":  func(b []byte, n int) (int, error) { clear(b[max(n-1, 0):]); return max(n-1, 0), nil },
}

// TestReadFaults fails every read in turn, in every way: somebody hears of it, as
// an I/O error and nothing else, and all that was yielded before is right.
func TestReadFaults(t *testing.T) {
	files := []base{baseNamed(t, "dictionaries"), baseNamed(t, "long directory")}
	if testing.Short() {
		files = files[:1]
	}
	for _, base := range files {
		size := int64(len(base.file))
		opened := func(r io.ReaderAt, use func(r *segment.Reader) error) error {
			rd, err := segment.NewReader(r, size, segment.ReaderOptions{Name: "x.seg"})
			if err != nil {
				return err
			}
			return use(rd)
		}
		ops := map[string]func(r io.ReaderAt) error{
			"row": func(r io.ReaderAt) error {
				return opened(r, func(r *segment.Reader) error {
					for i := range base.rows {
						row, err := r.Row(nil, r.FirstRow()+uint64(i))
						if err != nil {
							return err
						}
						if !equal(row, base.rows[i]) {
							t.Fatalf("row %d has wrong bytes", i)
						}
					}
					return nil
				})
			},
			"rows": func(r io.ReaderAt) error {
				return opened(r, func(r *segment.Reader) error { return scan(t, r, base.rows) })
			},
			"one column": func(r io.ReaderAt) error {
				return opened(r, func(r *segment.Reader) error {
					c, err := r.Column("body")
					if err != nil {
						return err
					}
					i := 0
					for v, err := range c.Values(r.FirstRow()) {
						if err != nil {
							return err
						}
						if !bytes.Equal(v, base.rows[i][2]) {
							t.Fatalf("value %d has wrong bytes", i)
						}
						i++
					}
					return nil
				})
			},
			"verify": func(r io.ReaderAt) error {
				for f, err := range segment.Verify(context.Background(), r, size, segment.VerifyOptions{Name: "x.seg", Depth: segment.Content}) {
					if err == nil {
						t.Errorf("an I/O error is a flaw: %v", &f)
						continue
					}
					return err
				}
				return nil
			},
			"recover": func(r io.ReaderAt) error {
				d, err := segment.Recover(r, size-1, segment.RecoverOptions{Name: "x.seg"})
				if err != nil {
					return err
				}
				for n, err := range d.Rows(context.Background()) {
					if err != nil {
						return err
					}
					if !equal(n.Row, base.rows[n.N-d.FirstRow()]) {
						t.Fatalf("row %d has wrong bytes", n.N)
					}
				}
				return nil
			},
			"recompress": func(r io.ReaderAt) error {
				return opened(r, func(r *segment.Reader) error {
					_, err := segment.Recompress(context.Background(), io.Discard, r, segment.RecompressOptions{Workers: 2})
					return err
				})
			},
			"recompress into other chunks": func(r io.ReaderAt) error {
				return opened(r, func(r *segment.Reader) error {
					_, err := segment.Recompress(context.Background(), io.Discard, r, segment.RecompressOptions{Workers: 2, Policy: policy(t, "chunk 2048\n* group=column codec=s2\n")})
					return err
				})
			},
		}
		for way, fault := range readFaults {
			for op, do := range ops {
				t.Run(fmt.Sprintf("%s/%s/%s", base.name, op, way), func(t *testing.T) {
					before := runtime.NumGoroutine()
					for k := int64(0); ; k++ {
						r := &faultyReader{b: base.file, fail: k, way: fault}
						err := do(r)
						if !r.hit.Load() {
							if err != nil {
								t.Fatalf("no fault, and %v", err)
							}
							if k == 0 {
								t.Fatal("nothing is read")
							}
							break
						}
						want := io.ErrUnexpectedEOF
						if way == "error" || way == "error and half" {
							want = errInjected
						}
						if !errors.Is(err, want) || errors.Is(err, segment.ErrCorrupt) || errors.Is(err, segment.ErrRange) || errors.Is(err, segment.ErrVersion) {
							t.Fatalf("call %d: %v", k, err)
						}
					}
					wantGoroutines(t, before)
				})
			}
		}
	}
}

// scan reads all rows and returns the error it ends with.
func scan(t *testing.T, r *segment.Reader, want []segment.Row) error {
	t.Helper()
	i := 0
	for row, err := range r.Rows(r.FirstRow()) {
		if err != nil {
			if row != nil {
				t.Error("a row beside an error")
			}
			return err
		}
		if !equal(row, want[i]) {
			t.Fatalf("row %d has wrong bytes", i)
		}
		i++
	}
	if i != len(want) {
		t.Fatalf("%d rows and no error", i)
	}
	return nil
}

// wantGoroutines waits until there are no more goroutines than before.
func wantGoroutines(t *testing.T, before int) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			b := make([]byte, 1<<20)
			t.Fatalf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, b[:runtime.Stack(b, true)])
		}
	}
}

// faultyWriter fails at call number fail, from 0.
type faultyWriter struct {
	fail  int
	short bool // writes less and says nothing
	call  int
	hit   bool
}

func (f *faultyWriter) Write(b []byte) (int, error) {
	if f.call++; f.call-1 != f.fail {
		return len(b), nil
	}
	f.hit = true
	if f.short {
		return len(b) / 2, nil
	}
	return len(b) / 2, errInjected
}

// bigRows are rows of 8 MiB together, which take several writes.
func bigRows() []segment.Row {
	rows := make([]segment.Row, 64)
	for i := range rows {
		rows[i] = segment.Row{segment.AppendUint(nil, uint64(i)), make([]byte, 32), bytes.Repeat([]byte{byte(i)}, 128<<10), nil}
	}
	return rows
}

// TestWriteFaults fails every write in turn: the Writer returns the error, from
// then on too, and its goroutines end.
func TestWriteFaults(t *testing.T) {
	rows := bigRows()
	for _, workers := range []int{1, 3} {
		for _, short := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d workers, short %v", workers, short), func(t *testing.T) {
				before := runtime.NumGoroutine()
				for k := 0; ; k++ {
					f := &faultyWriter{fail: k, short: short}
					err := writeAll(t, f, workers, rows)
					if !f.hit {
						if err != nil || k < 4 {
							t.Fatalf("%d writes, no fault, and %v", k, err)
						}
						break
					}
					want := errInjected
					if short {
						want = io.ErrShortWrite
					}
					if !errors.Is(err, want) || errors.Is(err, segment.ErrCorrupt) {
						t.Fatalf("write %d: %v", k, err)
					}
					wantGoroutines(t, before)
				}
				wantGoroutines(t, before)
			})
		}
	}
}

func writeAll(t *testing.T, out io.Writer, workers int, rows []segment.Row) error {
	t.Helper()
	w, err := segment.NewWriter(out, segment.WriterOptions{
		Table: "test", Schema: testSchema(), Workers: workers, Policy: policy(t, "chunk 65536\n* group=column codec=raw\n"),
	})
	if err != nil {
		return err
	}
	for _, row := range rows {
		if err = w.Append(row); err != nil {
			break
		}
	}
	if err == nil {
		_, err = w.Finish()
	}
	if err != nil { // dead
		if again := w.Append(rows[0]); again != err {
			t.Fatalf("after %v Append returns %v", err, again)
		}
		if _, again := w.Finish(); again != err {
			t.Fatalf("after %v Finish returns %v", err, again)
		}
	}
	w.Abort()
	w.Abort()
	return err
}

func TestRecompressWriteFaults(t *testing.T) {
	src, _ := write(t, segment.WriterOptions{Policy: policy(t, "chunk 65536\n* group=column codec=s2\n")}, bigRows())
	r := open(t, src, segment.ReaderOptions{})
	for _, o := range []segment.RecompressOptions{
		{Workers: 3, Policy: policy(t, "chunk 65536\n* group=column codec=raw\n")},
		{Workers: 3, Policy: policy(t, "chunk 131072\n* group=column codec=raw\n")},
	} {
		before := runtime.NumGoroutine()
		for k := 0; ; k++ {
			f := &faultyWriter{fail: k}
			_, err := segment.Recompress(context.Background(), f, r, o)
			wantGoroutines(t, before)
			if !f.hit {
				if err != nil || k < 4 {
					t.Fatalf("%d writes, no fault, and %v", k, err)
				}
				break
			}
			if !errors.Is(err, errInjected) {
				t.Fatalf("write %d: %v", k, err)
			}
		}
	}
}

// An aborted Writer, one never used, and iterations that are left half-way: none
// leaves a goroutine.
func TestNothingIsLeft(t *testing.T) {
	before := runtime.NumGoroutine()
	rows := bigRows()
	for _, n := range []int{0, 1, len(rows)} {
		w, err := segment.NewWriter(io.Discard, segment.WriterOptions{Table: "test", Schema: testSchema(), Workers: 4})
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows[:n] {
			if err := w.Append(row); err != nil {
				t.Fatal(err)
			}
		}
		w.Abort()
		if err := w.Append(rows[0]); !errors.Is(err, segment.ErrClosed) {
			t.Errorf("append after abort: %v", err)
		}
		if _, err := w.Finish(); !errors.Is(err, segment.ErrClosed) {
			t.Errorf("finish after abort: %v", err)
		}
	}
	b, _ := write(t, segment.WriterOptions{Policy: policy(t, "chunk 65536\n* group=column codec=raw\n")}, rows)
	r := open(t, b, segment.ReaderOptions{})
	for range r.Rows(0) {
		break
	}
	func() {
		defer func() { _ = recover() }()
		for range r.Rows(0, "body") {
			panic("in the loop")
		}
	}()
	for range segment.Verify(context.Background(), bytes.NewReader(b[:len(b)-1]), int64(len(b)-1), segment.VerifyOptions{}) {
		break
	}
	d, err := segment.Recover(bytes.NewReader(b), int64(len(b)), segment.RecoverOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for range d.Rows(context.Background()) {
		break
	}
	wantGoroutines(t, before)
	wantRows(t, r, rows) // and the Reader can be used on
}

// TestCancelled ends each piece of work from outside, half-way.
func TestCancelled(t *testing.T) {
	rows := bigRows()
	b, _ := write(t, segment.WriterOptions{Policy: policy(t, "chunk 65536\n* group=column codec=raw\n")}, rows)
	r := open(t, b, segment.ReaderOptions{})
	before := runtime.NumGoroutine()
	for name, f := range map[string]func(ctx context.Context, cancel func()) error{
		"write": func(ctx context.Context, cancel func()) error {
			w, err := segment.NewWriter(io.Discard, segment.WriterOptions{Table: "test", Schema: testSchema(), Context: ctx, Workers: 2})
			if err != nil {
				return err
			}
			defer w.Abort()
			for i, row := range rows {
				if i == len(rows)/2 {
					cancel()
				}
				if err := w.Append(row); err != nil {
					return err
				}
			}
			_, err = w.Finish()
			return err
		},
		"recompress": func(ctx context.Context, cancel func()) error {
			_, err := segment.Recompress(ctx, io.Discard, r, segment.RecompressOptions{
				Policy: policy(t, "chunk 65536\n* group=column codec=s2\n"), Progress: func(uint64) { cancel() },
			})
			return err
		},
		"recompress into other chunks": func(ctx context.Context, cancel func()) error {
			_, err := segment.Recompress(ctx, io.Discard, r, segment.RecompressOptions{
				Policy: policy(t, "chunk 131072\n* group=column codec=s2\n"), Progress: func(uint64) { cancel() },
			})
			return err
		},
		"verify": func(ctx context.Context, cancel func()) error {
			for _, err := range segment.Verify(ctx, bytes.NewReader(b), int64(len(b)), segment.VerifyOptions{Progress: func(int64) { cancel() }}) {
				return err
			}
			return nil
		},
		"recover": func(ctx context.Context, cancel func()) error {
			d, err := segment.Recover(bytes.NewReader(b), int64(len(b)), segment.RecoverOptions{})
			if err != nil {
				return err
			}
			for _, err := range d.Rows(ctx) {
				if err != nil {
					return err
				}
				cancel()
			}
			return nil
		},
	} {
		ctx, cancel := context.WithCancel(context.Background())
		if err := f(ctx, cancel); !errors.Is(err, context.Canceled) || errors.Is(err, segment.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
		cancel()
		if err := f(ctx, cancel); !errors.Is(err, context.Canceled) {
			t.Errorf("%s, cancelled before: %v", name, err)
		}
		wantGoroutines(t, before)
	}
}
