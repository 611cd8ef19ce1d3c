package chain_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/segstore/segstore/tools/chain"
	"github.com/segstore/segstore/tools/chain/chaintest"
)

func noise(n int) []byte {
	b, r := make([]byte, n), rand.New(rand.NewPCG(1, 2))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// Reading, skipping and looking ahead in any mix give the file's bytes and offsets, whether it can seek, is hashed, is
// compressed, has a known size, or not.
func TestInput(t *testing.T) {
	data := noise(3 << 20)
	gz := chaintest.Gzip(data)
	for name, tc := range map[string]struct {
		file chain.File
		o    chain.InputOptions
	}{
		"seeks":           {chaintest.BytesFile("f", data), chain.InputOptions{}},
		"hashed":          {chaintest.BytesFile("f", data), chain.InputOptions{Hash: true}},
		"maybe gzip":      {chaintest.BytesFile("f", data), chain.InputOptions{Hash: true, Gzip: true}},
		"stream":          {chaintest.StreamFile("f", data), chain.InputOptions{}},
		"gzip":            {chaintest.BytesFile("f", gz), chain.InputOptions{Hash: true, Gzip: true}},
		"gzip and stream": {chaintest.StreamFile("f", gz), chain.InputOptions{Gzip: true}},
	} {
		for seed := range uint64(20) {
			r := rand.New(rand.NewPCG(seed, 3))
			in, err := chain.OpenInput(t.Context(), tc.file, tc.o)
			if err != nil {
				t.Fatal(err)
			}
			var buf []byte
			for at := 0; at < len(data); {
				if in.Offset() != int64(at) || in.Left() >= 0 && in.Left() != int64(len(data)-at) {
					t.Fatalf("%s: at %d, left %d, not at %d", name, in.Offset(), in.Left(), at)
				}
				n := min(r.IntN(1<<r.IntN(21)+1), len(data)-at)
				switch r.IntN(3) {
				case 0:
					if buf, err = in.ReadN(buf, n, "data"); err != nil || !bytes.Equal(buf, data[at:at+n]) {
						t.Fatalf("%s: %d bytes at %d: %v", name, n, at, err)
					}
					at += n
				case 1:
					if err := in.Skip(int64(n), "data"); err != nil {
						t.Fatalf("%s: %d bytes at %d: %v", name, n, at, err)
					}
					at += n
				case 2:
					want := data[at:min(at+n, at+chain.InputBuffer)]
					if b, err := in.Peek(n); err != nil || !bytes.Equal(b, want) {
						t.Fatalf("%s: look at %d bytes at %d: %v", name, n, at, err)
					}
				}
			}
			end, err := in.End()
			if err != nil || end.Size != uint64(len(data)) || end.Gzip != (tc.o.Gzip && tc.file.Size != int64(len(data))) {
				t.Errorf("%s: %+v, %v", name, end, err)
			}
			if tc.o.Hash && (end.SHA256 != sha256.Sum256(data) || end.Gzip && (end.GzSHA256 != sha256.Sum256(gz) || end.GzSize != uint64(len(gz)))) {
				t.Errorf("%s: %+v", name, end)
			}
			if err := in.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// What a pipe has is seen before there is more.
func TestPeekSome(t *testing.T) {
	r, w := io.Pipe()
	in, err := chain.OpenInput(t.Context(), chain.File{Name: "f", Size: -1, Open: func() (io.ReadCloser, error) { return r, nil }}, chain.InputOptions{})
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = w.Write([]byte("some")) }() // and nothing more
	if b, err := in.PeekSome(); err != nil || string(b) != "some" {
		t.Fatalf("%q, %v", b, err)
	}
	if err := in.Skip(4, "what is there"); err != nil {
		t.Fatal(err)
	}
	go w.Close()
	if b, err := in.PeekSome(); err != nil || len(b) != 0 {
		t.Fatalf("%q, %v", b, err)
	}
}

// What is not there is an error with place, and costs no memory.
func TestInputShort(t *testing.T) {
	data := noise(1000)
	for _, f := range []chain.File{chaintest.BytesFile("f", data), chaintest.StreamFile("f", data)} {
		in, err := chain.OpenInput(t.Context(), f, chain.InputOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if err := in.Skip(10, "head"); err != nil {
			t.Fatal(err)
		}
		if _, err := in.End(); !errors.Is(err, chain.ErrInput) {
			t.Errorf("the end in the middle: %v", err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err = in.ReadN(nil, 1<<30, "body")
		runtime.ReadMemStats(&after)
		var e *chain.InputError
		if !errors.As(err, &e) || e.Offset != 10 || !errors.Is(err, chain.ErrTruncated) {
			t.Errorf("1 GiB of 1000 bytes: %v", err)
		}
		if got := after.TotalAlloc - before.TotalAlloc; got > 2<<20 {
			t.Errorf("%d bytes allocated", got)
		}
	}
	in, err := chain.OpenInput(t.Context(), chaintest.StreamFile("f", data), chain.InputOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := in.Skip(1001, "all"); !errors.Is(err, chain.ErrTruncated) {
		t.Errorf("1001 of 1000 bytes: %v", err)
	}
	broken := errors.New("no such file today")
	f := chain.File{Name: "f", Open: func() (io.ReadCloser, error) { return nil, broken }}
	if _, err := chain.OpenInput(t.Context(), f, chain.InputOptions{}); !errors.Is(err, broken) {
		t.Error(err)
	}
}

func TestMeter(t *testing.T) {
	var done, total int64
	calls := 0
	m := chain.FilesMeter([]chain.File{{Size: 1 << 20}, {Size: 4 << 20}}, func(d, n int64) { calls, done, total = calls+1, d, n })
	for range 5 << 10 {
		m.Add(1 << 10)
	}
	if m.End(); calls != 6 || done != 5<<20 || total != 5<<20 {
		t.Errorf("%d calls, %d of %d", calls, done, total)
	}
	chain.FilesMeter([]chain.File{{Size: 1}, {Size: -1}}, func(d, n int64) { total = n }).End()
	if total != -1 {
		t.Errorf("total %d where one size is not known", total)
	}
	chain.NewMeter(5, nil).Add(1) // no function, no effect
}

// Bytes behind the gzip data are an error that says where they are, in the file as it lies, and what to do.
func TestGzipTrailing(t *testing.T) {
	data := noise(200_000)
	one := chaintest.Gzip(data)
	two := append(bytes.Clone(one), chaintest.Gzip(data[:10])...)
	for name, tc := range map[string]struct {
		gz   []byte
		at   int64 // of the decompressed bytes
		want string
	}{
		"text":             {append(bytes.Clone(one), "garbage"...), 200_000, fmt.Sprintf("end at byte %d of the compressed file, and 7 more bytes follow that are not gzip; to leave them out, cut the file there (truncate -s %d)", len(one), len(one))},
		"one byte":         {append(bytes.Clone(one), 0x1f), 200_000, fmt.Sprintf("truncate -s %d)", len(one))},
		"zeros":            {append(bytes.Clone(two), make([]byte, 100_000)...), 200_010, fmt.Sprintf("truncate -s %d)", len(two))},
		"a broken member":  {append(bytes.Clone(one), 0x1f, 0x8b, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0), 200_000, fmt.Sprintf("in the member at byte %d", len(one))},
		"a wrong checksum": {append(bytes.Clone(one[:len(one)-8]), make([]byte, 8)...), 0, fmt.Sprintf("near byte %d as it lies", len(one))},
	} {
		for _, f := range []chain.File{chaintest.BytesFile("f.gz", tc.gz), chaintest.StreamFile("f.gz", tc.gz)} {
			in, err := chain.OpenInput(t.Context(), f, chain.InputOptions{Gzip: true})
			if err == nil {
				err = in.Skip(1<<30, "all")
			}
			want := tc.want
			if f.Size < 0 {
				want = want[strings.LastIndex(want, "follow")+1:]
			}
			var e *chain.InputError
			if !errors.As(err, &e) || tc.at > 0 && e.Offset != tc.at || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
