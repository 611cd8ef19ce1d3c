package segment_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"sync"
	"testing"

	"github.com/segstore/segstore/dict"
	"github.com/segstore/segstore/segment"
)

// Many goroutines read two files every way, through one cache that is too small
// for both.
func TestConcurrentReaders(t *testing.T) {
	files := []base{baseNamed(t, "dictionaries twice"), baseNamed(t, "long directory")}
	for _, cache := range []*segment.Cache{nil, segment.NewCache(64 << 10), segment.NewCache(1 << 20)} {
		var readers []*segment.Reader
		for _, f := range files {
			readers = append(readers, open(t, f.file, segment.ReaderOptions{Cache: cache, Concurrency: 2}))
		}
		var wg sync.WaitGroup
		for g := range 8 {
			wg.Go(func() {
				rng := rand.New(rand.NewPCG(uint64(g), 1))
				var row segment.Row
				var value []byte
				for range 150 {
					k := rng.IntN(len(files))
					r, rows := readers[k], files[k].rows
					i := rng.IntN(len(rows))
					switch rng.IntN(4) {
					case 0, 1:
						var err error
						if row, err = r.Row(row, r.FirstRow()+uint64(i)); err != nil || !equal(row, rows[i]) {
							t.Errorf("row %d: %v", i, err)
						}
					case 2:
						c, err := r.Column("body")
						if err == nil {
							value, err = c.Value(value[:0], r.FirstRow()+uint64(i))
						}
						if err != nil || !bytes.Equal(value, rows[i][2]) {
							t.Errorf("value %d: %v", i, err)
						}
					case 3:
						n := i
						for row, err := range r.Rows(r.FirstRow()+uint64(i), "note", "number") {
							if err != nil || !bytes.Equal(row[0], rows[n][3]) || !bytes.Equal(row[1], rows[n][0]) {
								t.Errorf("row %d of a scan: %v", n, err)
								return
							}
							if n++; n > i+30 {
								break
							}
						}
					}
				}
			})
		}
		wg.Wait()
		if s := cache.Stats(); cache != nil && (s.Hits == 0 || s.Misses == 0 || s.Bytes < 0 || s.Bytes > 1<<20) {
			t.Errorf("%+v", s)
		}
	}
}

// A cache holds no more than it was given, and what it holds is counted.
func TestCacheBounds(t *testing.T) {
	rows := testRows(3000, 1)
	b, _ := write(t, segment.WriterOptions{Policy: policy(t, "chunk 2048\n* group=column codec=s2\n")}, rows)
	const limit = 256 << 10
	cache := segment.NewCache(limit)
	r := open(t, b, segment.ReaderOptions{Cache: cache})
	again := open(t, b, segment.ReaderOptions{Cache: cache}) // the same file, but not the same reader
	rng := rand.New(rand.NewPCG(1, 1))
	for range 2000 {
		i := rng.IntN(len(rows))
		row, err := r.Row(nil, uint64(i))
		if err != nil || !equal(row, rows[i]) {
			t.Fatal(err)
		}
		if row, err = again.Row(row, uint64(i)); err != nil || !equal(row, rows[i]) {
			t.Fatal(err)
		}
		if s := cache.Stats(); s.Bytes > limit || s.Chunks == 0 {
			t.Fatalf("%+v", s)
		}
	}
	for i := range rows { // what is cached is read without the file
		_, _ = r.Row(nil, uint64(i))
	}
	before := cache.Stats()
	if _, err := r.Row(nil, uint64(len(rows)-1)); err != nil {
		t.Fatal(err)
	}
	if after := cache.Stats(); after.Hits != before.Hits+1 || after.Misses != before.Misses {
		t.Errorf("%+v, then %+v", before, after)
	}
	// With a key of its own a segment that is opened again finds what it left.
	key := cache.Key()
	for i := range 2 {
		r := open(t, b, segment.ReaderOptions{Cache: cache, CacheKey: key})
		before := cache.Stats()
		if row, err := r.Row(nil, 7); err != nil || !equal(row, rows[7]) {
			t.Fatal(err)
		}
		if hits := cache.Stats().Hits - before.Hits; hits != uint64(i) {
			t.Errorf("opened %d times: %d hits", i+1, hits)
		}
	}
	if segment.NewCache(0) != nil || segment.NewCache(-1) != nil {
		t.Error("a cache of nothing")
	}
	var none *segment.Cache
	if none.Stats() != (segment.CacheStats{}) {
		t.Error("stats of no cache")
	}
}

// One column is cached beside others of its chunk.
func TestCacheByColumn(t *testing.T) {
	rows := testRows(20, 1)
	b, _ := write(t, segment.WriterOptions{Policy: policy(t, "chunk 65536\n* group=column codec=s2\n")}, rows)
	cache := segment.NewCache(1 << 20)
	counted := &countingReader{r: bytes.NewReader(b)}
	r, err := segment.NewReader(counted, int64(len(b)), segment.ReaderOptions{Cache: cache})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"note", "body"} {
		c, err := r.Column(name)
		if err != nil {
			t.Fatal(err)
		}
		i := r.Schema().Index(name)
		for n := range rows {
			if v, err := c.Value(nil, uint64(n)); err != nil || !bytes.Equal(v, rows[n][i]) {
				t.Fatal(err)
			}
		}
	}
	before := counted.bytes
	for n := range rows {
		row, err := r.Row(nil, uint64(n))
		if err != nil || !equal(row, rows[n]) {
			t.Fatal(err)
		}
	}
	if got := counted.bytes - before; got == 0 || got > int64(len(b)) {
		t.Errorf("%d bytes read for the columns that were not there", got)
	}
	if s := cache.Stats(); s.Chunks != 1 {
		t.Errorf("%+v", s)
	}
}

// Reading rows and values into storage that is large enough allocates nothing:
// with and without cache, for every codec and with dictionaries.
func TestNoAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector empties pools")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // or it empties the pool
	rows := testRows(200, 4)
	for _, text := range []string{
		"chunk 4096\n* group=column codec=raw\n",
		"chunk 4096\n* group=stream codec=s2\n",
		"chunk 4096\n* group=column codec=zstd:1\n",
		"chunk 4096\n* group=stream codec=zstd:9\n",
		"chunk 4096\ncolumn:body group=column codec=zstd:1+dict else=zstd:1 dict=65536\n* group=column codec=zstd:3\n",
	} {
		o := segment.WriterOptions{Policy: policy(t, text)}
		if o.Policy.Rules[0].Spec.Dict {
			o.Dictionaries = map[string]*dict.Dict{"body": zstdDictionary(t)}
		}
		b, _ := write(t, o, rows)
		for _, cache := range []*segment.Cache{nil, segment.NewCache(16 << 20)} {
			r := open(t, b, segment.ReaderOptions{Cache: cache, Concurrency: 1})
			var row segment.Row
			var value []byte
			var err error
			c, err := r.Column("body")
			if err != nil {
				t.Fatal(err)
			}
			all := func() {
				for i := range rows {
					if row, err = r.Row(row, uint64(i)); err != nil {
						t.Fatal(err)
					}
				}
			}
			values := func() {
				for i := range rows {
					if value, err = c.Value(value[:0], uint64(i)); err != nil {
						t.Fatal(err)
					}
				}
			}
			all() // buffers grow, the cache fills
			values()
			for what, f := range map[string]func(){"Row": all, "Value": values} {
				if n := testing.AllocsPerRun(3, f); n != 0 {
					t.Errorf("%s: cache %v, %s allocates: %v for %d rows", fmt.Sprintf("%.40q", text), cache != nil, what, n, len(rows))
				}
			}
			scan := func() {
				for _, err := range r.Rows(0) {
					if err != nil {
						t.Fatal(err)
					}
				}
			}
			scan()
			if n := testing.AllocsPerRun(3, scan); n > 30 { // an iteration's own, none a row or chunk
				t.Errorf("%.40q: a scan of %d rows allocates %v times", text, len(rows), n)
			}
		}
	}
}
