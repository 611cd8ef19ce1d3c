package bitcoin

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/segstore/segstore/codec"
)

const (
	input       = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" + "00000000" + "00" + "ffffffff"
	output      = "0100000000000000" + "00"
	version     = "02000000"
	lock        = "00000000"
	oneAndOne   = "01" + input + "01" + output
	withWitness = version + "0001" + oneAndOne + "01" + "02" + "abcd" + lock
)

func TestSyntax(t *testing.T) {
	f := function(t, "btc-txid")
	for name, c := range map[string]struct {
		tx     string
		offset int
		err    error
		want   string
	}{
		"empty":               {"", 0, ErrShort, "a version"},
		"version cut":         {"020000", 0, ErrShort, "a version"},
		"nothing after":       {version, 4, ErrShort, "the number of inputs"},
		"too many inputs":     {version + "02" + input + "01" + output + lock, 4, ErrShort, "the number of inputs"},
		"input cut":           {version + "01" + input[:80], 4, ErrShort, "the number of inputs"},
		"script too long":     {version + "01" + strings.Replace(input, "0000000000ffffffff", "0000000005ffffffff", 1), 41, ErrShort, "the length of an input's script"},
		"outputs cut":         {version + "01" + input, 46, ErrShort, "the number of outputs"},
		"too many outputs":    {version + "01" + input + "fd0001" + output + lock, 46, ErrShort, "the number of outputs"},
		"output script long":  {version + "01" + input + "01" + "0100000000000000" + "05" + lock, 55, ErrShort, "the length of an output's script"},
		"lock time cut":       {version + oneAndOne + "000000", 56, ErrShort, "a lock time"},
		"trailing":            {version + oneAndOne + lock + "00", 60, ErrTrailing, "the end of the transaction"},
		"inputs overlong":     {version + "fd0100" + input + "01" + output + lock, 4, ErrOverlong, "the number of inputs"},
		"overlong of 4":       {version + "fe01000000" + input + "01" + output + lock, 4, ErrOverlong, "the number of inputs"},
		"overlong of 8":       {version + "ff0100000000000000" + input + "01" + output + lock, 4, ErrOverlong, "the number of inputs"},
		"huge count":          {version + "ffffffffffffffffff" + input + lock, 4, ErrShort, "the number of inputs"},
		"size cut at 2":       {version + "fd01", 4, ErrShort, "the number of inputs"},
		"size cut at 8":       {version + "ff01010101010101", 4, ErrShort, "the number of inputs"},
		"flag 02":             {version + "0002" + oneAndOne + lock, 5, ErrFlag, "the flag 01"},
		"marker alone":        {version + "00", 5, ErrShort, "the number of outputs"},
		"no witness":          {version + "0001" + oneAndOne + "00" + lock, 4, ErrFlag, "no marker and flag"},
		"no inputs, flag":     {version + "0001" + "00" + "01" + output + lock, 4, ErrFlag, "no marker and flag"},
		"witness cut":         {version + "0001" + oneAndOne, 58, ErrShort, "the number of an input's witness items"},
		"witness item long":   {version + "0001" + oneAndOne + "01" + "09" + lock, 59, ErrShort, "the length of a witness item"},
		"too many items":      {version + "0001" + oneAndOne + "05" + lock, 58, ErrShort, "the number of an input's witness items"},
		"trailing witness":    {withWitness + "00", 66, ErrTrailing, "the end of the transaction"},
		"two transactions":    {version + oneAndOne + lock + version + oneAndOne + lock, 60, ErrTrailing, "the end of the transaction"},
		"whole block's magic": {"f9beb4d9", 4, ErrShort, "the number of inputs"},
	} {
		key, err := f.Append([]byte("before"), unhex(t, c.tx))
		var at *SyntaxError
		if !errors.Is(err, codec.ErrNoKey) || !errors.Is(err, c.err) || !errors.As(err, &at) || string(key) != "before" {
			t.Errorf("%s: %q, %v; expected %v", name, key, err, c.err)
			continue
		}
		if at.Offset != c.offset || at.Want != c.want {
			t.Errorf("%s: %v; expected %q at %d", name, err, c.want, c.offset)
		}
	}
}

// TestParts checks what is left out, for the shapes that Core takes.
func TestParts(t *testing.T) {
	long := strings.Repeat("ab", 300)
	for name, c := range map[string]struct{ tx, bare string }{
		"plain":                 {version + oneAndOne + lock, version + oneAndOne + lock},
		"witness":               {withWitness, version + oneAndOne + lock},
		"neither in nor out":    {version + "0000" + lock, version + "0000" + lock},
		"no outputs":            {version + "01" + input + "00" + lock, version + "01" + input + "00" + lock},
		"witness of one of two": {version + "0001" + "02" + input + input + "00" + "00" + "0100" + lock, version + "02" + input + input + "00" + lock},
		"long item":             {version + "0001" + oneAndOne + "01" + "fd2c01" + long + lock, version + oneAndOne + lock},
	} {
		for _, f := range []struct{ name, of string }{{"btc-txid", c.bare}, {"btc-wtxid", c.tx}} {
			key, err := function(t, f.name).Append(nil, unhex(t, c.tx))
			if want := double(unhex(t, f.of)); err != nil || !bytes.Equal(key, want) {
				t.Errorf("%s: %s %x, %v; expected %x", name, f.name, key, err, want)
			}
		}
	}
}

func double(b []byte) []byte {
	once := sha256.Sum256(b)
	twice := sha256.Sum256(once[:])
	return twice[:]
}

// naive reads a transaction as the Bitcoin protocol documentation has it, field
// by field from a reader, and writes it again without witness. It is the oracle.
func naive(b []byte) (bare []byte, ok bool) {
	r := &reader{Reader: *bytes.NewReader(b)}
	var out []byte
	version := r.take(4)
	ins := r.size()
	segwit := false
	if ins == 0 {
		flag := r.take(1)
		if r.bad || flag[0] > 1 {
			return nil, false
		}
		if flag[0] == 1 {
			segwit = true
			ins = r.size()
		} else {
			_ = r.UnreadByte() // it was read
		}
	}
	out = appendSize(append(out, version...), ins)
	for i := uint64(0); i < ins && !r.bad; i++ {
		out = append(out, r.take(36)...)
		script := r.take(r.size())
		out = append(appendSize(out, uint64(len(script))), script...)
		out = append(out, r.take(4)...)
	}
	outs := r.size()
	out = appendSize(out, outs)
	for i := uint64(0); i < outs && !r.bad; i++ {
		out = append(out, r.take(8)...)
		script := r.take(r.size())
		out = append(appendSize(out, uint64(len(script))), script...)
	}
	items := uint64(0)
	for i := uint64(0); segwit && i < ins && !r.bad; i++ {
		n := r.size()
		items += n
		for j := uint64(0); j < n && !r.bad; j++ {
			r.take(r.size())
		}
	}
	out = append(out, r.take(4)...)
	return out, !r.bad && r.Len() == 0 && (!segwit || items > 0)
}

type reader struct {
	bytes.Reader
	bad bool
}

func (r *reader) take(n uint64) []byte {
	if n > uint64(r.Len()) {
		r.bad = true
		return nil
	}
	b := make([]byte, n)
	_, err := io.ReadFull(r, b)
	r.bad = r.bad || err != nil
	return b
}

func (r *reader) size() uint64 {
	var v uint64
	first := r.take(1)
	if r.bad {
		return 0
	}
	switch first[0] {
	default:
		return uint64(first[0])
	case 0xfd:
		v = uint64(binary.LittleEndian.Uint16(append(r.take(2), 0, 0)))
	case 0xfe:
		v = uint64(binary.LittleEndian.Uint32(append(r.take(4), 0, 0, 0, 0)))
	case 0xff:
		v = binary.LittleEndian.Uint64(append(r.take(8), 0, 0, 0, 0, 0, 0, 0, 0))
	}
	if len(appendSize(nil, v)) != 1+1<<(first[0]-0xfc) {
		r.bad = true
	}
	return v
}

func appendSize(dst []byte, v uint64) []byte {
	switch {
	case v < 0xfd:
		return append(dst, byte(v))
	case v <= 0xffff:
		return binary.LittleEndian.AppendUint16(append(dst, 0xfd), uint16(v))
	case v <= 0xffffffff:
		return binary.LittleEndian.AppendUint32(append(dst, 0xfe), uint32(v))
	}
	return binary.LittleEndian.AppendUint64(append(dst, 0xff), v)
}

// FuzzTransaction holds the key function against the naive reader.
func FuzzTransaction(f *testing.F) {
	for _, tx := range []string{genesisTx, segwitTx, withWitness, version + oneAndOne + lock, version + "0000" + lock, version + "0002"} {
		b := unhex(f, tx)
		f.Add(b)
		f.Add(b[:len(b)/2])
		f.Add(append(b, 0))
	}
	id, wid := function(f, "btc-txid"), function(f, "btc-wtxid")
	f.Fuzz(func(t *testing.T, tx []byte) {
		key, err := id.Append(nil, tx)
		bare, ok := naive(tx)
		if ok != (err == nil) {
			t.Fatalf("%x: %v, the oracle says %v", tx, err, ok)
		}
		if err != nil {
			if !errors.Is(err, codec.ErrNoKey) || key != nil {
				t.Fatalf("%x: %x, %v", tx, key, err)
			}
			return
		}
		if !bytes.Equal(key, double(bare)) {
			t.Fatalf("%x: %x, expected %x", tx, key, double(bare))
		}
		if whole, err := wid.Append(nil, tx); err != nil || !bytes.Equal(whole, double(tx)) {
			t.Fatalf("%x: %x, %v", tx, whole, err)
		}
	})
}
