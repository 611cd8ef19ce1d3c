package codec

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
)

func TestParseKeyDefinition(t *testing.T) {
	for text, want := range map[string]KeyDefinition{
		"number":                     {"", "number"},
		" number ":                   {"", "number"},
		"keccak256(transaction)":     {"keccak256", "transaction"},
		"sha256d(header)":            {"sha256d", "header"},
		"btc-txid(transaction)":      {"btc-txid", "transaction"},
		" btc-txid ( transaction ) ": {"btc-txid", "transaction"},
		"a_b-0(c_1)":                 {"a_b-0", "c_1"},
	} {
		got, err := ParseKeyDefinition(text)
		if err != nil || got != want {
			t.Errorf("%q: %+v, %v; expected %+v", text, got, err, want)
		}
		again, err := ParseKeyDefinition(got.String())
		if err != nil || again != want {
			t.Errorf("%q again: %+v, %v", got, again, err)
		}
		if strings.ContainsRune(got.String(), ' ') {
			t.Errorf("%q: blanks in the canonical text %q", text, got)
		}
	}
}

func TestParseKeyDefinitionErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                            `column "" is not`,
		"()":                          `no function before "("`,
		"(number)":                    `no function before "("`,
		"keccak256":                   "", // a column may be called so
		"keccak256()":                 `column "" is not`,
		"keccak256(transaction":       `no ")"`,
		"keccak256(transaction))":     `")" after ")"`,
		"keccak256(transaction) desc": `"desc" after ")"`,
		"transaction)":                `")" without "("`,
		"f(g(x))":                     `")" after ")"`,
		"f(g(x)":                      `column "g(x" is not`,
		"f(a,b)":                      `column "a,b" is not`,
		"F(a)":                        `function "F" is not`,
		"f(A)":                        `column "A" is not`,
		"f-g":                         `column "f-g" is not`, // columns have no '-'
		"f(ä)":                        `column "\u00e4" is not`,
		strings.Repeat("x", 65):       "is not 1 to 64",
		strings.Repeat("x", 1<<20):    "…",
	} {
		_, err := ParseKeyDefinition(text)
		if want == "" && err == nil {
			continue
		}
		if err == nil || want == "" || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "codec: key definition ") {
			t.Errorf("%.80q: %v, expected %q", text, err, want)
		}
		if err != nil && len(err.Error()) > 400 {
			t.Errorf("%.80q: a message of %d bytes", text, len(err.Error()))
		}
	}
}

func TestKeyDefinitionText(t *testing.T) {
	var d KeyDefinition
	if err := d.UnmarshalText([]byte("sha256d(header)")); err != nil {
		t.Fatal(err)
	}
	if b, err := d.MarshalText(); err != nil || string(b) != "sha256d(header)" {
		t.Errorf("%q, %v", b, err)
	}
	kept := d
	if err := d.UnmarshalText([]byte("sha256d(")); err == nil || d != kept {
		t.Errorf("%+v, %v", d, err)
	}
	for _, bad := range []KeyDefinition{{}, {Function: "f"}, {Function: "f(", Column: "c"}, {Column: "c)"}} {
		if _, err := bad.MarshalText(); err == nil || bad.Validate() == nil {
			t.Errorf("%+v has the text %q", bad, bad)
		}
	}
}

func TestResolve(t *testing.T) {
	functions := []KeyFunction{
		{Name: "red", Formats: []string{"x-red", "x-pink"}}, {Name: "blue", Formats: []string{"x-blue"}}, {Name: "any"},
	}
	for _, c := range []struct{ text, kind, format, want, err string }{
		{"red(c)", "bytes", "x-red", "red", ""},
		{"red(c)", "bytes", "x-pink", "red", ""},
		{"red(c)", "bytes", "", "red", ""},
		{"any(c)", "bytes", "x-red", "any", ""},
		{"c", "bytes", "x-red", "", ""},
		{"red(c)", "bytes", "x-blue", "", "the column is x-blue, the function is for x-red and x-pink; expected blue, any, or"},
		{"green(c)", "bytes", "x-blue", "", "unknown function, expected red, blue, any, or the column alone"},
	} {
		d, err := ParseKeyDefinition(c.text)
		if err != nil {
			t.Fatal(err)
		}
		f, err := d.Resolve(functions, c.kind, c.format)
		switch {
		case c.err != "":
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s of %q: %v, expected %q", c.text, c.format, err, c.err)
			}
		case err != nil || f.Name != c.want:
			t.Errorf("%s of %q: %q, %v", c.text, c.format, f.Name, err)
		}
	}
	if _, err := (KeyDefinition{"f", "c"}).Resolve(nil, "bytes", ""); err == nil || !strings.Contains(err.Error(), "expected a column alone") {
		t.Error(err)
	}
	// A column alone: by its kind, seen by how a key is typed.
	for kind, want := range map[string]string{"uint": "\x12\x00\x00\x00\x00\x00\x00\x00", "bytes": "\x18", "fixed": "\x18"} {
		f, err := KeyDefinition{Column: "c"}.Resolve(functions, kind, "x-blue")
		if err != nil {
			t.Fatal(err)
		}
		text := "18"
		if key, err := f.Parse(text); err != nil || string(key) != want {
			t.Errorf("%s: %x, %v", kind, key, err)
		}
	}
}

func TestBytesKey(t *testing.T) {
	f := BytesKey()
	for text, want := range map[string]string{
		"0x616263": "abc", "616263": "abc", "0X6a6B": "jk", "6A6b": "jk", "0x": "", " 0x61\n": "a",
		"text:abc": "abc", "text:": "", "text:0x61": "0x61", "text:a b ": "a b",
	} {
		if key, err := f.Parse(text); err != nil || string(key) != want {
			t.Errorf("%q: %q, %v", text, key, err)
		}
	}
	for text, want := range map[string]string{
		"": "expected hex digits", " ": "expected hex digits",
		"0x6": "1 hex digits, expected an even number", "0xfg": `"g" is no hex digit`, "abc ": "3 hex digits",
		"0x0x61": `"x61" is no hex digit`, "häh": "is no hex digit", "+1": "is no hex digit", "6 1": "is no hex digit",
	} {
		if key, err := f.Parse(text); err == nil || key != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %q, %v; expected %q", text, key, err, want)
		}
	}
	for _, value := range []string{"", "abc", strings.Repeat("\x00\xff", 1000)} {
		key, err := f.Append([]byte("before "), []byte(value))
		if err != nil || string(key) != "before "+value {
			t.Errorf("%q, %v", key, err)
		}
		if back, err := f.Parse(f.Format([]byte(value))); err != nil || string(back) != value {
			t.Errorf("%q, %v", back, err)
		}
	}
}

func TestUintKey(t *testing.T) {
	f := UintKey()
	for text, want := range map[string]uint64{
		"0": 0, "46147": 46147, " 7 ": 7, "007": 7, "0xb443": 46147, "0XB443": 46147,
		"18446744073709551615": math.MaxUint64, "0xffffffffffffffff": math.MaxUint64, "0x00000000000000000001": 1,
	} {
		key, err := f.Parse(text)
		if err != nil || !bytes.Equal(key, binary.LittleEndian.AppendUint64(nil, want)) {
			t.Errorf("%q: %x, %v", text, key, err)
			continue
		}
		if got := f.Format(key); got != fmt.Sprint(want) {
			t.Errorf("%q: printed %q", text, got)
		}
		if got, err := f.Append([]byte("before "), key); err != nil || string(got) != "before "+string(key) {
			t.Errorf("%q, %v", got, err)
		}
	}
	for text, want := range map[string]string{
		"": "expected a number", "0x": "expected a number", "-1": "expected a number", "+1": "expected a number", "1_000": "expected a number",
		"b443": "expected a number", "0b1": "expected a number", "1e3": "expected a number",
		"18446744073709551616": "more than 64 bits", "0x10000000000000000": "more than 64 bits", strings.Repeat("9", 1<<20): "more than 64 bits",
	} {
		if key, err := f.Parse(text); err == nil || key != nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 400 {
			t.Errorf("%.80q: %x, %v; expected %q", text, key, err, want)
		}
	}
	for _, value := range []string{"", "1234567", "123456789"} {
		if got, err := f.Append([]byte("before"), []byte(value)); !errors.Is(err, ErrNoKey) || string(got) != "before" {
			t.Errorf("%q: %q, %v", value, got, err)
		}
	}
	if got := f.Format([]byte("abc")); got != "0x616263" {
		t.Error(got)
	}
}

func TestReversedHex(t *testing.T) {
	key := []byte{1, 2, 0xab}
	if got := FormatReversedHex(key); got != "ab0201" || key[0] != 1 {
		t.Errorf("%q, key now %x", got, key)
	}
	for _, text := range []string{"ab0201", "0xAB0201"} {
		if got, err := ParseReversedHex(text, 3); err != nil || !bytes.Equal(got, key) {
			t.Errorf("%q: %x, %v", text, got, err)
		}
	}
	for _, text := range []string{"ab02", "0xab020", "ab020100", "gb0201"} {
		if got, err := ParseReversedHex(text, 3); err == nil || got != nil {
			t.Errorf("%q: %x, %v", text, got, err)
		}
	}
}

func FuzzKeyDefinition(f *testing.F) {
	for _, s := range []string{"number", "keccak256(transaction)", " a ( b ) ", "f(g(x))", "((", "))", "a)b("} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := ParseKeyDefinition(text)
		if err != nil {
			return
		}
		if err := d.Validate(); err != nil {
			t.Fatal(err)
		}
		again, err := ParseKeyDefinition(d.String())
		if err != nil || again != d {
			t.Fatalf("%q: %+v, then %+v, %v", text, d, again, err)
		}
	})
}

func FuzzKeyText(f *testing.F) {
	for _, s := range []string{"0x00ff", "00FF", "123", "0x", "text:x", " 7", "18446744073709551616"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, k := range []KeyFunction{BytesKey(), UintKey()} {
			key, err := k.Parse(text)
			if err != nil {
				continue
			}
			if len(key) > len(text) && len(key) != 8 {
				t.Fatalf("%q: key of %d bytes", text, len(key))
			}
			if again, err := k.Parse(k.Format(key)); err != nil || !bytes.Equal(again, key) {
				t.Fatalf("%q: %x, then %x, %v", text, key, again, err)
			}
		}
		forward, err := ParseHex(text, 0)
		backward, err2 := ParseReversedHex(text, 0)
		if (err == nil) != (err2 == nil) || FormatHex(forward) != "0x"+FormatReversedHex(reversed(forward)) || !bytes.Equal(reversed(forward), backward) {
			t.Fatalf("%q: %x %v, %x %v", text, forward, err, backward, err2)
		}
	})
}

func reversed(b []byte) []byte {
	var r []byte
	for _, x := range b {
		r = append([]byte{x}, r...)
	}
	return r
}

func ExampleParseKeyDefinition() {
	d, err := ParseKeyDefinition("number")
	if err != nil {
		fmt.Println(err)
		return
	}
	f, err := d.Resolve(nil, "uint", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	key, err := f.Parse("0xb443")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s: %x, printed %s\n", d, key, f.Format(key))
	// Output: number: 43b4000000000000, printed 46147
}
