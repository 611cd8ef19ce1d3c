package codec

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/segstore/segstore/dict"
)

// fuzzDecode feeds foreign bytes to a codec: no panic, exactly size bytes or
// ErrCorrupt, and dst as it was; and the same with room in dst as without.
func fuzzDecode(f *testing.F, c Codec, seeds ...[]byte) {
	for _, src := range seeds {
		enc, err := c.Encode(nil, src)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(enc, len(src))
		f.Add(enc[:len(enc)/2], len(src))
		f.Add(append(bytes.Clone(enc), enc...), 2*len(src))
	}
	f.Fuzz(func(t *testing.T, enc []byte, size int) {
		size = min(size, 8<<20)
		const before = "before"
		out, err := c.Decode([]byte(before), enc, size)
		if string(out[:len(before)]) != before {
			t.Fatal("dst was changed")
		}
		if err != nil {
			if !errors.Is(err, ErrCorrupt) || len(out) != len(before) {
				t.Fatalf("%d bytes with %v", len(out)-len(before), err)
			}
			return
		}
		if len(out)-len(before) != size {
			t.Fatalf("%d bytes, asked for %d", len(out)-len(before), size)
		}
		again, err := c.Decode(make([]byte, 0, size+decodeSlack), enc, size)
		if err != nil || !bytes.Equal(again, out[len(before):]) {
			t.Fatalf("with room in dst: %v, or other bytes", err)
		}
	})
}

func fuzzSeeds() [][]byte {
	return [][]byte{{}, {1}, records(300, 1), noise(200), make([]byte, 2<<20), records(70<<10, 2)}
}

func fuzzCodec(f *testing.F, text string) Codec {
	s, err := ParseSpec(text)
	if err != nil {
		f.Fatal(err)
	}
	c, err := New(s, nil, Options{MaxDecoded: 8 << 20})
	if err != nil {
		f.Fatal(err)
	}
	return c
}

func FuzzRawDecode(f *testing.F)  { fuzzDecode(f, fuzzCodec(f, "raw"), fuzzSeeds()...) }
func FuzzS2Decode(f *testing.F)   { fuzzDecode(f, fuzzCodec(f, "s2"), fuzzSeeds()...) }
func FuzzZstdDecode(f *testing.F) { fuzzDecode(f, fuzzCodec(f, "zstd:1"), fuzzSeeds()...) }

func FuzzZstdDictDecode(f *testing.F) {
	c, err := New(Spec{ID: Zstd, Level: 1, Dict: true}, dictionaries(f)["zstd"], Options{MaxDecoded: 8 << 20})
	if err != nil {
		f.Fatal(err)
	}
	fuzzDecode(f, c, fuzzSeeds()...)
}

func FuzzZstdRawDictDecode(f *testing.F) {
	c, err := New(Spec{ID: Zstd, Level: 1, Dict: true}, dictionaries(f)["raw content"], Options{MaxDecoded: 8 << 20})
	if err != nil {
		f.Fatal(err)
	}
	fuzzDecode(f, c, fuzzSeeds()...)
}

// FuzzRoundTrip gives every codec the same block.
func FuzzRoundTrip(f *testing.F) {
	all := codecs(f, Options{Concurrency: 1, Window: 128 << 10})
	for _, src := range [][]byte{{}, {1}, records(300, 1), noise(200), records(3000, 2)} {
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		for _, c := range all {
			if len(src) > 64<<10 || c.spec.Level == 19 || c.spec.Level > 1 && c.spec.Dict {
				continue // slow: their tables alone are megabytes
			}
			out, used, err := EncodeBlock(c, c.spec.ID, []byte("before"), src)
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			enc := out[len("before"):]
			if used == Raw {
				if !bytes.Equal(enc, src) {
					t.Fatalf("%s: raw block has other bytes", c.name)
				}
				continue
			}
			if got, err := c.Decode(nil, enc, len(src)); err != nil || !bytes.Equal(got, src) {
				t.Fatalf("%s: %v, or other bytes", c.name, err)
			}
		}
	})
}

// s2Len must agree with the decoder on every block that decodes.
func FuzzS2Len(f *testing.F) {
	c := fuzzCodec(f, "s2")
	for _, src := range append(fuzzSeeds(), bytes.Repeat([]byte("abcdefghij"), 30000)) {
		enc, err := c.Encode(nil, src)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(enc)
	}
	f.Fuzz(func(t *testing.T, enc []byte) {
		size, _ := binary.Uvarint(enc)
		if size > 8<<20 {
			return
		}
		if _, err := c.Decode(make([]byte, 0, size), enc, int(size)); err == nil && s2Len(enc) != size {
			t.Fatalf("decodes to %d bytes, s2Len says %d", size, s2Len(enc))
		}
	})
}

// FuzzDictionary makes codecs of foreign dictionaries: where one is accepted,
// blocks come back as they were, or there is an error; never a panic.
func FuzzDictionary(f *testing.F) {
	for _, d := range dictionaries(f) {
		f.Add(d.Bytes(), records(2000, 9))
	}
	f.Fuzz(func(t *testing.T, b, src []byte) {
		d, err := dict.Parse(b)
		if err != nil || len(src) > 64<<10 {
			return
		}
		c, err := New(Spec{ID: Zstd, Level: 1, Dict: true}, d, Options{Concurrency: 1, Window: 64 << 10})
		if err != nil {
			return
		}
		enc, err := c.Encode(nil, src)
		if err != nil {
			t.Skip(err)
		}
		if got, err := c.Decode(nil, enc, len(src)); err != nil || !bytes.Equal(got, src) {
			t.Fatalf("%s: %v, or other bytes", d, err)
		}
	})
}
