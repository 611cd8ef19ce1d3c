package codec

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func values(vs ...string) *Values {
	v := new(Values)
	for _, s := range vs {
		v.Append([]byte(s))
	}
	return v
}

func numbers(ns ...uint64) *Values {
	v := new(Values)
	for _, n := range ns {
		v.Append(binary.LittleEndian.AppendUint64(nil, n))
	}
	return v
}

// check splits v and joins it again, into used storage, and returns the streams.
func checkEncoding(t interface{ Fatalf(string, ...any) }, e Encoding, v *Values) [][]byte {
	streams, err := e.Split([][]byte{[]byte("used")}, v)
	if err != nil {
		t.Fatalf("%s: split: %v", e.Name(), err)
	}
	if len(streams) != len(e.Streams()) {
		t.Fatalf("%s: %d streams", e.Name(), len(streams))
	}
	got := &Values{Ends: make([]uint32, 3, 9), Buf: []byte("used")}
	if err := e.Join(got, streams, v.Len()); err != nil {
		t.Fatalf("%s: join: %v", e.Name(), err)
	}
	if !got.Equal(v) || !v.Equal(got) {
		t.Fatalf("%s: other values: %x %v, expected %x %v", e.Name(), got.Data, got.Ends, v.Data, v.Ends)
	}
	return streams
}

func TestValues(t *testing.T) {
	v := values("ab", "", "c")
	if v.Len() != 3 || string(v.At(0)) != "ab" || string(v.At(1)) != "" || string(v.At(2)) != "c" {
		t.Errorf("%+v", v)
	}
	if at := v.At(0); cap(at) != 2 {
		t.Error("appending to a value would change the next one")
	}
	if v.Equal(values("a", "b", "c")) || v.Equal(values("ab", "", "d")) || v.Equal(values("ab", "")) {
		t.Error("different values are equal")
	}
	v.Reset()
	if v.Len() != 0 || !v.Equal(&Values{}) {
		t.Error("values left")
	}
}

// The streams, byte by byte: they are what files hold.
func TestStreams(t *testing.T) {
	long := bytes.Repeat([]byte{'x'}, 0x0203)
	for _, c := range []struct {
		e       Encoding
		v       *Values
		streams []string
	}{
		{Plain(), values("ab", "", "cde"), []string{"\x02\x00\x03", "abcde"}},
		{Plain(), values("", "", ""), []string{"", ""}},
		{Plain(), values("one"), []string{"", "one"}},
		{Plain(), values("ab", "cd"), []string{"", "abcd"}},
		{Plain(), values("ab", string(long)), []string{"\x02\x03\x00\x02", "ab" + string(long)}}, // low bytes, high bytes
		{Fixed(), values("ab", "cd"), []string{"abcd"}},
		{Fixed(), values("", ""), []string{""}},
		{Uint(), numbers(0, 0, 0), []string{""}},
		{Uint(), numbers(7), []string{"\x01\x07\x00"}},
		{Uint(), numbers(7, 7, 7), []string{"\x01\x07\x00"}},
		{Uint(), numbers(300, 301, 302), []string{"\x01\xac\x02\x02"}}, // step 1 is zigzag 2
		{Uint(), numbers(9, 7, 5), []string{"\x01\x09\x03"}},           // step -2 is zigzag 3
		// Differences 20, 19, 21: smallest 19 (zigzag 38), above it 1, 0, 2 in 2 bits each: 10_00_01.
		{Uint(), numbers(1000, 1020, 1039, 1060), []string{"\x03\xe8\x07\x26\x02\x21"}},
		// 5, 0, 3, 6 as they are, in 3 bits each: 110_011_000_101, as bytes c5 0c.
		{Uint(), numbers(5, 0, 3, 6), []string{"\x02\x00\x03\xc5\x0c"}},
		{Uint(), numbers(0xd1b54a32d192ed03, 0x1f123bb5159a55e5, 1<<40), []string{"\x00\x03\xed\x92\xd1\x32\x4a\xb5\xd1\xe5\x55\x9a\x15\xb5\x3b\x12\x1f\x00\x00\x00\x00\x00\x01\x00\x00"}},
	} {
		for i, got := range checkEncoding(t, c.e, c.v) {
			if string(got) != c.streams[i] {
				t.Errorf("%s of %v: stream %s is %x, must stay %x", c.e.Name(), c.v.Ends, c.e.Streams()[i], got, c.streams[i])
			}
		}
	}
}

func drawValues(t *rapid.T) *Values {
	v := new(Values)
	longest := rapid.SampledFrom([]int{0, 1, 3, 255, 256, 700}).Draw(t, "longest")
	for range rapid.IntRange(1, 200).Draw(t, "rows") {
		v.Append(make([]byte, rapid.IntRange(0, longest).Draw(t, "length")))
	}
	for i := range v.Data {
		v.Data[i] = byte(i * i)
	}
	return v
}

func TestPlainLossless(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { checkEncoding(t, Plain(), drawValues(t)) })
	// Lengths of three and four bytes.
	for _, n := range []int{math.MaxUint16, math.MaxUint16 + 1, 1<<24 - 1, 1 << 24} {
		v := values("ab", "")
		v.Append(make([]byte, n))
		v.Append([]byte("c"))
		streams := checkEncoding(t, Plain(), v)
		if want := 4 * lengthBytes(v.Ends); len(streams[0]) != want {
			t.Errorf("%d: %d bytes of lengths, expected %d", n, len(streams[0]), want)
		}
	}
}

func TestFixedLossless(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width, rows := rapid.IntRange(0, 40).Draw(t, "width"), rapid.IntRange(1, 100).Draw(t, "rows")
		v := new(Values)
		for i := range rows {
			v.Append(bytes.Repeat([]byte{byte(i)}, width))
		}
		checkEncoding(t, Fixed(), v)
		checkEncoding(t, Plain(), v)
	})
}

func TestUintLossless(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// Runs of numbers, each near a start, stepping, or anything at all.
		v := new(Values)
		for range rapid.IntRange(1, 4).Draw(t, "runs") {
			n := rapid.Uint64().Draw(t, "start")
			step := rapid.SampledFrom([]uint64{0, 0, 1, 12, 1 << 40, math.MaxUint64}).Draw(t, "step")
			spread := rapid.IntRange(0, 64).Draw(t, "spread")
			for range rapid.IntRange(1, 150).Draw(t, "rows") {
				n += step
				x := n
				if spread > 0 {
					x += rapid.Uint64().Draw(t, "x") >> (64 - spread)
				}
				v.Append(binary.LittleEndian.AppendUint64(nil, x))
			}
		}
		streams := checkEncoding(t, Uint(), v)
		if len(streams[0]) > len(v.Data)+1 {
			t.Fatalf("%d bytes became %d", len(v.Data), len(streams[0]))
		}
	})
}

// What columns of chains hold, and how small it gets.
func TestUintSizes(t *testing.T) {
	column := func(n int, f func(i int) uint64) *Values {
		v := new(Values)
		for i := range n {
			v.Append(binary.LittleEndian.AppendUint64(nil, f(i)))
		}
		return v
	}
	small := func(i int) uint64 { return uint64(i) * 0x9e3779b97f4a7c15 >> 56 } // 0..255, irregular
	sum, random := uint64(1<<31), noise(8*8192)
	for _, c := range []struct {
		name string
		v    *Values
		most int
	}{
		{"zeros", column(8192, func(int) uint64 { return 0 }), 0},
		{"block numbers", column(8192, func(i int) uint64 { return 19_000_000 + uint64(i) }), 6},
		{"constant", column(8192, func(int) uint64 { return math.MaxUint64 }), 12},
		{"counts", column(8192, small), 8192 + 2*128 + 1},
		{"row numbers", column(8192, func(i int) uint64 { sum += small(i); return sum }), 8192 + 3*128 + 6},
		{"one outlier", column(8192, func(i int) uint64 { return uint64(i) + uint64(i/8191)<<60 }), 3*128 + 2 + 520 + 10},
		{"timestamps", column(8192, func(i int) uint64 { return 1_600_000_000 + 12*uint64(i) + uint64(i/100)*12 }), 8192/8*4 + 3*128},
		{"noise", column(8192, func(i int) uint64 { return binary.LittleEndian.Uint64(random[8*i:]) }), 8*8192 + 1},
	} {
		streams := checkEncoding(t, Uint(), c.v)
		if got := len(streams[0]); got > c.most {
			t.Errorf("%s: %d bytes, expected at most %d", c.name, got, c.most)
		}
	}
}

func TestSplitRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		e Encoding
		v *Values
	}{
		"fixed, other lengths":  {Fixed(), values("ab", "c", "def")},
		"uint of 7 bytes":       {Uint(), values("1234567")},
		"uint, second too long": {Uint(), values("12345678", "123456789")},
		"ends past data":        {Plain(), &Values{Data: []byte("ab"), Ends: []uint32{1, 3}}},
		"data past ends":        {Fixed(), &Values{Data: []byte("abc"), Ends: []uint32{1, 2}}},
		"ends descend":          {Plain(), &Values{Data: []byte("ab"), Ends: []uint32{2, 1, 2}}},
		"no ends":               {Uint(), &Values{Data: make([]byte, 8)}},
	} {
		if _, err := c.e.Split(nil, c.v); err == nil {
			t.Errorf("%s: split", name)
		}
	}
}

func TestJoinRefuses(t *testing.T) {
	for _, c := range []struct {
		name    string
		e       Encoding
		streams []string
		rows    int
	}{
		{"no rows", Plain(), []string{"", ""}, 0},
		{"rows below zero", Fixed(), []string{""}, -1},
		{"too many rows", Uint(), []string{""}, MaxRows + 1},
		{"a stream missing", Plain(), []string{""}, 1},
		{"a stream too many", Uint(), []string{"", ""}, 1},
		{"plain: equal lengths that do not divide", Plain(), []string{"", "abc"}, 2},
		{"plain: lengths of another number of rows", Plain(), []string{"\x01\x02", "abc"}, 3},
		{"plain: lengths too short", Plain(), []string{"\x01\x01", "abc"}, 2},
		{"plain: lengths too long", Plain(), []string{"\x01\x03", "abc"}, 2},
		{"plain: two bytes, too long", Plain(), []string{"\x01\x02\x01\x00", "abc"}, 2},
		{"plain: three bytes, too long", Plain(), []string{"\x01\x02\x00\x00\x01\x00", "abc"}, 2},
		{"plain: sum right modulo 2^32", Plain(), []string{"\x02\x02\xff\x00\xff\x00\xff\x00", "abc"}, 2},
		{"plain: five bytes a length", Plain(), []string{"\x03\x00\x00\x00\x00", "abc"}, 1},
		{"fixed: rows do not divide", Fixed(), []string{"abc"}, 2},
		{"uint: unknown mode", Uint(), []string{"\x04"}, 1},
		{"uint: raw, a byte short", Uint(), []string{"\x00\x01\x02\x03\x04\x05\x06\x07"}, 1},
		{"uint: raw, another row", Uint(), []string{"\x00\x01\x02\x03\x04\x05\x06\x07\x08"}, 2},
		{"uint: linear without step", Uint(), []string{"\x01\x07"}, 1},
		{"uint: linear, byte behind", Uint(), []string{"\x01\x07\x00\x00"}, 1},
		{"uint: width 65", Uint(), []string{"\x02\x00\x41" + string(make([]byte, 9))}, 1},
		{"uint: packed, cut", Uint(), []string{"\x02\x00\x08\x01"}, 2},
		{"uint: packed, byte behind", Uint(), []string{"\x02\x00\x08\x01\x02\x03"}, 2},
		{"uint: second group missing", Uint(), []string{"\x02\x00\x00"}, 65},
		{"uint: deltas without first", Uint(), []string{"\x03"}, 1},
	} {
		var streams [][]byte
		for _, s := range c.streams {
			streams = append(streams, []byte(s))
		}
		if err := c.e.Join(new(Values), streams, c.rows); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestJoinAllocatesNothing(t *testing.T) {
	v := values("ab", "cde")
	n := numbers(1, 5, 7)
	for _, c := range []struct {
		e Encoding
		v *Values
	}{{Plain(), v}, {Fixed(), n}, {Uint(), n}} {
		var streams [][]byte
		got := new(Values)
		if a := testing.AllocsPerRun(10, func() {
			var err error
			if streams, err = c.e.Split(streams, c.v); err != nil {
				t.Error(err)
			}
			if err := c.e.Join(got, streams, c.v.Len()); err != nil {
				t.Error(err)
			}
		}); a != 0 {
			t.Errorf("%s: %v allocations", c.e.Name(), a)
		}
	}
}

// fuzzJoin checks that hostile streams are joined to values, or refused.
func fuzzJoin(t *testing.T, e Encoding, streams [][]byte, rows int) {
	v := new(Values)
	err := e.Join(v, streams, rows)
	if err != nil {
		if !errors.Is(err, ErrCorrupt) {
			t.Fatal(err)
		}
		return
	}
	if v.Len() != rows {
		t.Fatalf("%d values for %d rows", v.Len(), rows)
	}
	if err := v.check(); err != nil {
		t.Fatal(err)
	}
	if e.Name() == "uint/1" && len(v.Data) != 8*rows {
		t.Fatalf("%d bytes for %d rows", len(v.Data), rows)
	}
	checkEncoding(t, e, v)
}

func FuzzPlainJoin(f *testing.F) {
	f.Add([]byte{2, 0, 3}, []byte("abcde"), 3)
	f.Add([]byte{}, []byte("abcd"), 2)
	f.Add([]byte{1, 0, 0, 1}, slices.Repeat([]byte{7}, 257), 2)
	f.Add([]byte{1, 0, 0, 0, 0, 0, 0, 1}, []byte("a"), 2)
	f.Fuzz(func(t *testing.T, lengths, data []byte, rows int) {
		fuzzJoin(t, Plain(), [][]byte{lengths, data}, min(rows, 1<<20))
	})
}

func FuzzFixedJoin(f *testing.F) {
	f.Add([]byte("abcd"), 2)
	f.Add([]byte{}, 5)
	f.Fuzz(func(t *testing.T, data []byte, rows int) {
		fuzzJoin(t, Fixed(), [][]byte{data}, min(rows, 1<<20))
	})
}

func FuzzUintJoin(f *testing.F) {
	for _, v := range []*Values{numbers(0, 0), numbers(7, 9, 11), numbers(5, 0, 3, 6), numbers(1000, 1002, 1003, 1007), numbers(1<<63, 5)} {
		streams, err := Uint().Split(nil, v)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(streams[0], v.Len())
	}
	f.Fuzz(func(t *testing.T, data []byte, rows int) {
		fuzzJoin(t, Uint(), [][]byte{data}, min(rows, 1<<20))
	})
}
