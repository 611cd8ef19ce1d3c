package jsonl

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// string reads the string at o.at. The result is of the line or of o.data.
func (o *object) string() ([]byte, error) {
	rest := o.line[o.at+1:]
	s := rest[:bytes.IndexByte(rest, '"')]
	if bytes.IndexByte(s, '\\') < 0 {
		o.at += len(s) + 2
		return s, nil
	}
	from := len(o.data)
	o.data = slices.Grow(o.data, stringLen(rest)) // once, whatever the length
	for {
		i := bytes.IndexAny(rest, `"\`)
		o.data = append(o.data, rest[:i]...)
		if rest[i] == '"' {
			o.at = len(o.line) - len(rest) + i + 1
			return o.data[from:len(o.data):len(o.data)], nil
		}
		var err error
		if rest, err = o.escape(rest[i+1:]); err != nil {
			return nil, err
		}
	}
}

// stringLen returns how many bytes a string that b begins with takes in JSON, without the quote at its end.
func stringLen(b []byte) int {
	at := 0
	for {
		i := bytes.IndexAny(b[at:], `"\`)
		if at += i; b[at] == '"' {
			return at
		}
		at += 2
	}
}

// escape appends what the escape after a backslash stands for and returns what follows it. The grammar was checked.
func (o *object) escape(b []byte) (rest []byte, err error) {
	c := b[0]
	switch c {
	case 'b':
		c = '\b'
	case 'f':
		c = '\f'
	case 'n':
		c = '\n'
	case 'r':
		c = '\r'
	case 't':
		c = '\t'
	case 'u':
		r := unit(b[1:])
		b = b[5:]
		if utf16.IsSurrogate(r) {
			// Decoders put U+FFFD for a half; then the text would not come back.
			low := rune(-1)
			if bytes.HasPrefix(b, []byte(`\u`)) {
				low = unit(b[2:])
			}
			pair := utf16.DecodeRune(r, low)
			if pair == utf8.RuneError {
				return nil, fmt.Errorf(`half a surrogate pair, \u%04x`, r)
			}
			r, b = pair, b[6:]
		}
		o.data = utf8.AppendRune(o.data, r)
		return b, nil
	}
	o.data = append(o.data, c)
	return b[1:], nil
}

// unit reads four hex digits.
func unit(b []byte) rune {
	v, err := strconv.ParseUint(string(b[:4]), 16, 16)
	if err != nil {
		return utf8.RuneError // not after the check of the grammar
	}
	return rune(v)
}

// numberByte reports whether a JSON number may hold b.
func numberByte(b byte) bool {
	return b >= '0' && b <= '9' || b == '-' || b == '+' || b == '.' || b == 'e' || b == 'E'
}

// typeName returns what a JSON value is that begins with b.
func typeName(b byte) string {
	switch b {
	case '"':
		return "a string"
	case '{':
		return "an object"
	case '[':
		return "an array"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}
