package dict

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
)

func TestKindNumbers(t *testing.T) {
	for kind, want := range map[Kind]struct {
		number uint8
		name   string
	}{Zstd: {1, "zstd"}, RawContent: {2, "raw"}} {
		if uint8(kind) != want.number || kind.String() != want.name {
			t.Errorf("%v is %d, want %q, %d: part of the format", kind, kind, want.name, want.number)
		}
		text, err := json.Marshal(kind)
		var back Kind
		if err != nil || json.Unmarshal(text, &back) != nil || back != kind {
			t.Errorf("%v: JSON %s (%v) reads back as %v", kind, text, err, back)
		}
	}
	if got := Kind(9).String(); got != "kind(9)" {
		t.Errorf("unknown kind: %q", got)
	}
}

func TestNew(t *testing.T) {
	trained := mustTrain(t, records(rng(1), 100, 10), TrainOptions{MaxBytes: 8 << 10}).Bytes()
	id0 := bytes.Clone(trained)
	binary.LittleEndian.PutUint32(id0[4:], 0)
	headless := trained[len(trained)-1000:]
	for _, c := range []struct {
		name string
		kind Kind
		b    []byte
		ok   bool
	}{
		{"nil", RawContent, nil, false},
		{"7 bytes", RawContent, []byte("seven b"), false},
		{"8 bytes", RawContent, []byte("8 bytes!"), true},
		{"1 MiB", RawContent, make([]byte, MaxBytes), true},
		{"1 MiB and 1", RawContent, make([]byte, MaxBytes+1), false},
		{"raw with magic", RawContent, trained, false},
		{"unknown kind", 3, []byte("8 bytes!"), false},
		{"kind 0", 0, []byte("8 bytes!"), false},
		{"trained", Zstd, trained, true},
		{"no magic", Zstd, headless, false},
		{"id 0", Zstd, id0, false},
		{"magic alone", Zstd, trained[:8], false},
		{"cut in its tables", Zstd, trained[:60], false},
		{"zeros after the magic", Zstd, append(bytes.Clone(trained[:8]), make([]byte, 4096)...), false},
		{"ones after the magic", Zstd, append(bytes.Clone(trained[:8]), bytes.Repeat([]byte{0xFF}, 4096)...), false},
	} {
		d, err := New(c.kind, c.b)
		switch {
		case c.ok && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case !c.ok && !errors.Is(err, ErrInvalid):
			t.Errorf("%s: error %v, want ErrInvalid", c.name, err)
		case c.ok && (d.Kind() != c.kind || !bytes.Equal(d.Bytes(), c.b) || d.ID() != sha256.Sum256(c.b)):
			t.Errorf("%s: %v with ID %x", c.name, d, d.ID())
		}
	}
}

func TestParse(t *testing.T) {
	trained := mustTrain(t, records(rng(1), 100, 10), TrainOptions{MaxBytes: 8 << 10})
	d, err := Parse(trained.Bytes())
	if err != nil || d.Kind() != Zstd || d.ZstdID() != 1 {
		t.Errorf("trained: %v, id %d, %v", d, d.ZstdID(), err)
	}
	imported := bytes.Clone(trained.Bytes())
	binary.LittleEndian.PutUint32(imported[4:], 0xCAFE0001)
	if d, err = Parse(imported); err != nil || d.ZstdID() != 0xCAFE0001 {
		t.Errorf("imported: %v, %v: want its own id", d, err)
	}
	if d, err = Parse(imported[1:]); err != nil || d.Kind() != RawContent || d.ZstdID() != 0 {
		t.Errorf("without magic: %v, %v: want raw", d, err)
	}
	if d, err = Parse(imported[:40]); !errors.Is(err, ErrInvalid) {
		t.Errorf("cut: %v, %v: want ErrInvalid, as it has the magic", d, err)
	}
}

func TestString(t *testing.T) {
	b := []byte("any eight bytes and more")
	d, err := New(RawContent, b)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := d.String(), fmt.Sprintf("raw 24 B %.8s…", fmt.Sprintf("%x", sha256.Sum256(b))); got != want {
		t.Errorf("String %q, want %q", got, want)
	}
}

// TestConcurrentUse is for the race detector.
func TestConcurrentUse(t *testing.T) {
	samples := records(rng(1), 50, 10)
	d := mustTrain(t, samples, TrainOptions{MaxBytes: 4 << 10})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if _, err := selfTest(d, samples, 1); err != nil {
				t.Error(err)
			}
			_ = d.String()
		})
	}
	wg.Wait()
}
