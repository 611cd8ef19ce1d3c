package codec

import (
	"bytes"
	"encoding/binary"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/segstore/segstore/dict"
)

// What files hold: no value may move.
func TestDurableNumbers(t *testing.T) {
	for id, want := range map[ID]struct {
		number uint8
		name   string
	}{Raw: {0, "raw"}, S2: {1, "s2"}, Zstd: {2, "zstd"}, 3: {3, "codec(3)"}} {
		if uint8(id) != want.number || id.String() != want.name {
			t.Errorf("%s is %d, must stay %s = %d", id, id, want.name, want.number)
		}
	}
	for i, want := range []string{"plain/1", "fixed/1", "uint/1"} {
		if got := Encodings()[i].Name(); got != want {
			t.Errorf("encoding %s, must stay %s", got, want)
		}
	}
}

func TestRoundTrip(t *testing.T) {
	for _, c := range codecs(t, Options{}) {
		for shape, src := range shapes() {
			t.Run(c.name+"/"+shape, func(t *testing.T) {
				const before = "before"
				enc, err := c.Encode([]byte(before), src)
				if err != nil {
					t.Fatal(err)
				}
				if string(enc[:len(before)]) != before {
					t.Fatal("encoding overwrote what was in dst")
				}
				enc = enc[len(before):]
				for _, room := range []int{0, len(src), len(src) + 7, len(src) + 100} {
					dst := append(make([]byte, 0, len(before)+room), before...)
					out, err := c.Decode(dst, enc, len(src))
					if err != nil {
						t.Fatal(err)
					}
					if string(out[:len(before)]) != before || !bytes.Equal(out[len(before):], src) {
						t.Fatalf("room %d: other bytes", room)
					}
					if room > 0 && &out[0] != &dst[0] {
						t.Errorf("room %d: decoded into a new slice", room)
					}
				}
				for _, size := range []int{0, 1, len(src) - 1, len(src) + 1, 2 * len(src), 1 << 40, -1} {
					out, err := c.Decode([]byte(before), enc, size)
					if size != len(src) && !errors.Is(err, ErrCorrupt) {
						t.Errorf("size %d of %d: %v", size, len(src), err)
					}
					if size != len(src) && string(out) != before {
						t.Errorf("size %d: dst is not as it was", size)
					}
				}
			})
		}
	}
}

// Every zstd frame has its content size and no checksum.
func TestFrames(t *testing.T) {
	for _, c := range codecs(t, Options{Window: 256 << 10}) {
		if c.spec.ID != Zstd {
			continue
		}
		for shape, src := range shapes() {
			enc, err := c.Encode(nil, src)
			if err != nil {
				t.Fatal(err)
			}
			var h zstd.Header
			if err := h.Decode(enc); err != nil {
				t.Fatal(err)
			}
			if !h.HasFCS || h.FrameContentSize != uint64(len(src)) || h.HasCheckSum {
				t.Errorf("%s, %s: %+v", c.name, shape, h)
			}
			if want := wantDictID(c.dict, src); h.DictionaryID != want {
				t.Errorf("%s, %s: dictionary %d, expected %d", c.name, shape, h.DictionaryID, want)
			}
			// One piece up to the window, no larger one asked of a decoder.
			window := uint64(512 << 10)
			if c.dict == nil {
				window = 256 << 10
			}
			if h.SingleSegment != (uint64(len(src)) <= window) || !h.SingleSegment && h.WindowSize != window {
				t.Errorf("%s, %s: single segment %v, window %d", c.name, shape, h.SingleSegment, h.WindowSize)
			}
		}
	}
}

func wantDictID(d *dict.Dict, src []byte) uint32 {
	if d == nil || d.Kind() != dict.Zstd || len(src) == 0 {
		return 0
	}
	return 1
}

// The bytes of a block depend on nothing but the block: not on what the encoder
// has done before, nor on how many of them there are, nor on the window where the
// block fits.
func TestDeterministic(t *testing.T) {
	blocks := [][]byte{records(3000, 1), noise(500), records(200, 4), make([]byte, 9000), records(120<<10, 2), records(70<<10, 3)}
	for _, c := range codecs(t, Options{Concurrency: 1}) {
		want := make([][]byte, len(blocks))
		for i, b := range blocks {
			one, err := New(c.spec, c.dict, Options{Concurrency: 2, Window: 64 << 10})
			if err != nil {
				t.Fatal(err)
			}
			if want[i], err = one.Encode(nil, b); err != nil {
				t.Fatal(err)
			}
		}
		rounds := 600 // more than it takes for the encoder's positions to wrap around at the default window
		if raceDetector {
			rounds = 40
		}
		var out []byte
		for r := range rounds {
			i := r % 3 // mostly small ones, to be quick
			if r%20 == 0 {
				i = r / 20 % len(blocks)
			}
			var err error
			if out, err = c.Encode(out[:0], blocks[i]); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(out, want[i]) {
				t.Fatalf("%s: round %d: block %d has other bytes", c.name, r, i)
			}
		}
	}
}

func TestConcurrent(t *testing.T) {
	src := records(20<<10, 1)
	for _, c := range codecs(t, Options{Concurrency: 2}) {
		want, err := c.Encode(nil, src)
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				var enc, dec []byte
				for range 5 {
					var err error
					if enc, err = c.Encode(enc[:0], src); err != nil || !bytes.Equal(enc, want) {
						t.Errorf("%s: %v, or other bytes", c.name, err)
					}
					if dec, err = c.Decode(dec[:0], enc, len(src)); err != nil || !bytes.Equal(dec, src) {
						t.Errorf("%s: %v, or other bytes", c.name, err)
					}
				}
			})
		}
		wg.Wait()
	}
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector allocates")
	}
	src := records(20<<10, 1)
	for _, c := range codecs(t, Options{Concurrency: 1}) {
		enc, err := c.Encode(make([]byte, 0, 2*len(src)), src)
		if err != nil {
			t.Fatal(err)
		}
		out := make([]byte, 0, 2*len(src))
		if n := testing.AllocsPerRun(20, func() {
			if _, err := c.Encode(out, src); err != nil {
				t.Error(err)
			}
		}); n != 0 {
			t.Errorf("%s: encode: %v allocations", c.name, n)
		}
		dec := make([]byte, 0, len(src))
		if n := testing.AllocsPerRun(20, func() {
			if _, err := c.Decode(dec, enc, len(src)); err != nil {
				t.Error(err)
			}
		}); n != 0 {
			t.Errorf("%s: decode: %v allocations", c.name, n)
		}
	}
}

func TestNoGoroutines(t *testing.T) {
	before := runtime.NumGoroutine()
	for _, c := range codecs(t, Options{}) {
		enc, err := c.Encode(nil, make([]byte, 2<<20))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Decode(nil, enc, 2<<20); err != nil {
			t.Fatal(err)
		}
	}
	if after := runtime.NumGoroutine(); after > before {
		t.Errorf("%d goroutines before, %d after", before, after)
	}
}

// A small input that claims to be large costs little memory.
func TestHostileSize(t *testing.T) {
	const claim = 200 << 20
	var frames = map[string][]byte{}
	// A frame that says claim in its header, of compressed blocks that end in garbage.
	enc, err := zstd.NewWriter(nil, zstd.WithSingleSegment(true), zstd.WithEncoderCRC(false))
	if err != nil {
		t.Fatal(err)
	}
	good := enc.EncodeAll(make([]byte, 300<<10), nil)
	var h zstd.Header
	if err := h.Decode(good); err != nil {
		t.Fatal(err)
	}
	blocks := good[h.HeaderSize:]
	h.FrameContentSize = claim
	header, err := h.AppendTo(nil)
	if err != nil {
		t.Fatal(err)
	}
	frames["zstd: blocks of zeros, then garbage"] = append(append(bytes.Clone(header), notLast(blocks)...), bytes.Repeat([]byte{4<<3 | 2<<1, 0, 0, 1, 2, 3, 4}, 5000)...)
	frames["zstd: fewer bytes than claimed"] = append(bytes.Clone(header), blocks...)
	frames["s2: length alone"] = binary.AppendUvarint(nil, claim)
	// A literal, then a repeat of the most bytes with nothing to repeat from.
	frames["s2: elements for less"] = append(binary.AppendUvarint(nil, claim), 0, 1, 1<<2|1, 1)
	for name, frame := range frames {
		s, _, _ := strings.Cut(name, ":")
		spec, err := ParseSpec(s)
		if err != nil {
			t.Fatal(err)
		}
		c, err := New(spec, nil, Options{Concurrency: 1})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Decode(nil, frame, claim); !errors.Is(err, ErrCorrupt) { // also makes the decoder
			t.Errorf("%s: %v", name, err)
		}
		var a, b runtime.MemStats
		runtime.ReadMemStats(&a)
		if _, err := c.Decode(nil, frame, claim); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
		runtime.ReadMemStats(&b)
		if got, most := b.TotalAlloc-a.TotalAlloc, uint64(20<<20); got > most {
			t.Errorf("%s: %d bytes allocated for an input of %d", name, got, len(frame))
		}
	}
}

// notLast clears the mark of the last block.
func notLast(blocks []byte) []byte {
	out := bytes.Clone(blocks)
	for at := 0; ; {
		bh := uint32(out[at]) | uint32(out[at+1])<<8 | uint32(out[at+2])<<16
		if bh&1 != 0 {
			out[at] &^= 1
			return out
		}
		n := int(bh >> 3)
		if bh>>1&3 == 1 {
			n = 1
		}
		at += 3 + n
	}
}

func TestForeignFrames(t *testing.T) {
	c, err := New(Spec{ID: Zstd}, nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	src := records(5000, 1)
	ours, err := c.Encode(nil, src)
	if err != nil {
		t.Fatal(err)
	}
	stream := new(bytes.Buffer) // without content size, with checksum
	w, err := zstd.NewWriter(stream)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(src); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Flush(), w.Close()); err != nil {
		t.Fatal(err)
	}
	if out, err := c.Decode(nil, stream.Bytes(), len(src)); err != nil || !bytes.Equal(out, src) {
		t.Errorf("frame of a stream: %v", err)
	}
	if _, err := c.Decode(nil, stream.Bytes(), len(src)-1); !errors.Is(err, ErrCorrupt) {
		t.Errorf("frame of a stream, one byte less: %v", err)
	}
	skippable := []byte{0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 1, 2}
	empty, err := c.Encode(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, in := range map[string][]byte{
		"nothing":             {},
		"cut":                 ours[:len(ours)-1],
		"trailing byte":       append(bytes.Clone(ours), 0),
		"two frames":          append(bytes.Clone(ours), ours...),
		"empty frame behind":  append(bytes.Clone(ours), empty...),
		"skippable behind":    append(bytes.Clone(ours), skippable...),
		"skippable before":    append(bytes.Clone(skippable), ours...),
		"skippable alone":     skippable,
		"changed checksum":    flipLast(stream.Bytes()),
		"frame of dictionary": dictFrame(t, src),
	} {
		for _, size := range []int{0, len(src), 2 * len(src)} {
			if _, err := c.Decode(nil, in, size); !errors.Is(err, ErrCorrupt) {
				t.Errorf("%s, size %d: %v", name, size, err)
			}
		}
	}
}

func flipLast(b []byte) []byte {
	b = bytes.Clone(b)
	b[len(b)-1] ^= 1
	return b
}

func dictFrame(t *testing.T, src []byte) []byte {
	c, err := New(Spec{ID: Zstd, Level: 1, Dict: true}, dictionaries(t)["zstd"], Options{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := c.Encode(nil, src)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestNewRefuses(t *testing.T) {
	d := dictionaries(t)["zstd"]
	for _, c := range []struct {
		s    Spec
		d    *dict.Dict
		o    Options
		text string
	}{
		{Spec{ID: 9}, nil, Options{}, "unknown codec(9)"},
		{Spec{ID: Raw, Level: 1}, nil, Options{}, "raw has no levels"},
		{Spec{ID: S2, Dict: true}, d, Options{}, "s2 takes no dictionary"},
		{Spec{ID: Zstd, Level: 23}, nil, Options{}, "level 23 not in -7..22"},
		{Spec{ID: Zstd, Level: 1}, d, Options{}, "zstd:1 takes no dictionary"},
		{Spec{ID: Zstd, Level: 1, Dict: true}, nil, Options{}, "zstd:1+dict needs a dictionary"},
		{Spec{ID: Zstd, Level: 10, Dict: true}, d, Options{}, "no dictionary at level 10"},
		{Spec{ID: Zstd}, nil, Options{Concurrency: -1}, "Concurrency -1"},
		{Spec{ID: Zstd}, nil, Options{Window: -1}, "Window -1"},
		{Spec{ID: Zstd}, nil, Options{MaxDecoded: 2 << 30}, "MaxDecoded 2147483648"},
	} {
		if _, err := New(c.s, c.d, c.o); err == nil || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%+v %+v: %v, expected %q", c.s, c.o, err, c.text)
		}
	}
}

func TestMaxDecoded(t *testing.T) {
	src := records(5000, 1)
	for _, c := range codecs(t, Options{MaxDecoded: 4999}) {
		enc, err := c.Encode(nil, src)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Decode(nil, enc, len(src)); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
