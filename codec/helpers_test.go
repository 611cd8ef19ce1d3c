package codec

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/segstore/segstore/dict"
)

// realData returns a file of the folder of real chain data.
func realData(tb testing.TB, name string) []byte {
	tb.Helper()
	dir := os.Getenv("SEGSTORE_DATA")
	if dir == "" {
		at, err := os.Getwd()
		if err != nil {
			tb.Fatal(err)
		}
		for ; dir == "" && at != filepath.Dir(at); at = filepath.Dir(at) {
			if beside := filepath.Join(filepath.Dir(at), "shared", "data"); isDir(beside) {
				dir = beside
			}
		}
	}
	b, err := os.ReadFile(filepath.Join(dir, name))
	switch {
	case err == nil:
		return b
	case os.Getenv("REALDATA") == "required":
		tb.Fatalf("real data is required: %v", err)
	}
	tb.Skipf("no real data (SEGSTORE_DATA): %v", err)
	return nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// record appends bytes that look like rows: constants, a counter, skewed small
// fields, some of it random.
func record(dst []byte, rng *rand.Rand, i int) []byte {
	dst = append(dst, "\xf8\x6c\x82transfer(address,uint256)"...)
	dst = binary.BigEndian.AppendUint32(dst, uint32(i))
	for range 3 {
		dst = append(dst, byte(rng.ExpFloat64()*20), 0, 0)
	}
	for range rng.IntN(12) {
		dst = append(dst, byte(rng.Uint32()))
	}
	return append(dst, "0x000000000000000000000000"...)
}

// records returns n bytes of them; the same for the same n and seed.
func records(n int, seed uint64) []byte {
	rng := rand.New(rand.NewPCG(seed, 1))
	var b []byte
	for i := 0; len(b) < n; i++ {
		b = record(b, rng, i)
	}
	return b[:n]
}

func noise(n int) []byte {
	b := make([]byte, n)
	rng := rand.NewChaCha8([32]byte{1})
	_, _ = rng.Read(b) // never fails
	return b
}

// shapes returns blocks that compress well, badly, or are special by size.
func shapes() map[string][]byte {
	return map[string][]byte{
		"empty":          {},
		"one byte":       {7},
		"255":            records(255, 1),
		"256":            records(256, 1),
		"1024":           records(1024, 1),
		"1025":           records(1025, 1),
		"4 KiB":          records(4<<10, 1),
		"65791":          records(65791, 1), // the last size of 2 bytes
		"65792":          records(65792, 1),
		"200 KiB":        records(200<<10, 1),
		"zeros":          make([]byte, 1<<20+1),
		"noise":          noise(70 << 10),
		"noise short":    noise(100),
		"noise repeated": bytes.Repeat(noise(150<<10), 2),
	}
}

// dictionaries returns one of each kind for records.
func dictionaries(tb testing.TB) map[string]*dict.Dict {
	tb.Helper()
	var samples [][]byte
	for i := range 64 {
		samples = append(samples, records(600, 1000+uint64(i)))
	}
	history := records(8<<10, 2000)
	b, err := zstd.BuildDict(zstd.BuildDictOptions{
		ID: 1, Contents: samples, History: history, Offsets: [3]int{1, 4, 8}, Level: zstd.SpeedFastest,
	})
	if err != nil {
		tb.Fatal(err)
	}
	formatted, err := dict.New(dict.Zstd, b)
	if err != nil {
		tb.Fatal(err)
	}
	raw, err := dict.New(dict.RawContent, history)
	if err != nil {
		tb.Fatal(err)
	}
	return map[string]*dict.Dict{"zstd": formatted, "raw content": raw}
}

// namedCodec is a codec with what it was made of.
type namedCodec struct {
	name string
	spec Spec
	dict *dict.Dict
	Codec
}

// codecs returns every codec at every level of the encoder, with and without
// dictionaries.
func codecs(tb testing.TB, o Options) []namedCodec {
	tb.Helper()
	var all []namedCodec
	add := func(name, text string, d *dict.Dict) {
		s, err := ParseSpec(text)
		if err != nil {
			tb.Fatal(err)
		}
		c, err := New(s, d, o)
		if err != nil {
			tb.Fatal(err)
		}
		all = append(all, namedCodec{text + name, s, d, c})
	}
	for _, text := range []string{"raw", "s2", "zstd:1", "zstd:3", "zstd:7", "zstd:19"} {
		add("", text, nil)
	}
	for kind, d := range dictionaries(tb) {
		for _, text := range []string{"zstd:1+dict", "zstd:3+dict", "zstd:7+dict"} {
			add(" "+kind, text, d)
		}
	}
	return all
}
