package codec

import (
	"bytes"
	"errors"
	"testing"
)

// shrink is a codec that makes n bytes of anything.
type shrink int

func (n shrink) Encode(dst, src []byte) ([]byte, error) {
	if n < 0 {
		return nil, errors.New("no")
	}
	return append(dst, make([]byte, n)...), nil
}

func (n shrink) Decode(dst, _ []byte, _ int) ([]byte, error) { return dst, ErrCorrupt }

func TestEncodeBlock(t *testing.T) {
	for _, c := range []struct {
		raw, stored int
		used        ID
	}{
		{0, 0, Raw}, {0, 9, Raw}, {8, 1, Raw}, {8, 0, Zstd},
		{100, 93, Raw}, {100, 92, Zstd}, // 8 bytes
		{400, 393, Raw}, {400, 392, Zstd}, // both are 8
		{401, 393, Raw}, {401, 392, Zstd}, // 2 % are 8.02: 9
		{100_000, 98_001, Raw}, {100_000, 98_000, Zstd}, {100_000, 200_000, Raw},
	} {
		raw := noise(c.raw)
		out, used, err := EncodeBlock(shrink(c.stored), Zstd, []byte("before"), raw)
		if err != nil || used != c.used || string(out[:6]) != "before" {
			t.Errorf("%d to %d: %s, %v", c.raw, c.stored, used, err)
		}
		want := make([]byte, c.stored)
		if used == Raw {
			want = raw
		}
		if !bytes.Equal(out[6:], want) {
			t.Errorf("%d to %d: other bytes", c.raw, c.stored)
		}
	}
	if out, used, err := EncodeBlock(nil, Raw, []byte("a"), []byte("b")); string(out) != "ab" || used != Raw || err != nil {
		t.Errorf("raw: %q %s %v", out, used, err)
	}
	if out, _, err := EncodeBlock(shrink(-1), S2, []byte("a"), []byte("b")); string(out) != "a" || err == nil {
		t.Errorf("error: %q %v", out, err)
	}
}
