package jsonl

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/segstore/segstore/segment"
)

// codec turns the JSON of one column into values and back.
type codec struct {
	Column
	field  string
	key    []byte // `"field":`, canonical
	prefix bool   // hex is written with 0x
}

func newCodecs(columns []Column) ([]codec, error) {
	codecs := make([]codec, len(columns))
	for i, c := range columns {
		key, err := appendText(nil, []byte(c.field()))
		if err != nil {
			return nil, fmt.Errorf("jsonl: column %q: field: %w", c.Name, err)
		}
		codecs[i] = codec{Column: c, field: c.field(), key: append(key, ':')}
	}
	return codecs, nil
}

// want says what is expected of the JSON.
func (c *codec) want() string {
	switch c.Kind {
	case Hex:
		return "a string of hex digits"
	case Base64:
		return "a string of base64"
	case Uint:
		return "an integer from 0 to 18446744073709551615"
	case Fixed:
		return fmt.Sprintf("a string of hex digits, %d bytes", c.Width)
	}
	return "a string"
}

var (
	errOdd     = errors.New("odd number of digits")
	errInteger = errors.New("not an integer")
	errRange   = errors.New("out of range")
	errNewline = errors.New("newline in base64")
	errNotUTF8 = errors.New("not valid UTF-8")
)

var prefix = []byte("0x")

// decodeString appends the value that a string stands for.
func (c *codec) decodeString(dst, s []byte) ([]byte, error) {
	switch c.Kind {
	case Hex, Fixed:
		s = bytes.TrimPrefix(s, prefix)
		if len(s)%2 != 0 {
			return dst, errOdd
		}
		if c.Kind == Fixed && len(s) != 2*c.Width {
			return dst, fmt.Errorf("%d bytes", len(s)/2)
		}
		return hex.AppendDecode(dst, s)
	case Base64:
		if bytes.ContainsAny(s, "\r\n") { // the decoder skips them
			return dst, errNewline
		}
		return base64.StdEncoding.Strict().AppendDecode(dst, s)
	}
	return dst, nil // Text is as it is
}

// decodeNumber appends the value of a number as JSON writes it.
func decodeNumber(dst, s []byte) ([]byte, error) {
	var v uint64
	for _, d := range s {
		if d < '0' || d > '9' {
			if s[0] == '-' && !bytes.ContainsAny(s, ".eE") {
				return dst, errRange
			}
			return dst, errInteger
		}
		if v > math.MaxUint64/10 || v == math.MaxUint64/10 && d > '5' {
			return dst, errRange
		}
		v = v*10 + uint64(d-'0')
	}
	return segment.AppendUint(dst, v), nil
}

// piece is how many bytes of a value are encoded at once. It divides by 3, as base64 wants.
const piece = 24 << 10

// spill takes the bytes of a line that there are so far and returns room for more, so that a line need not be in memory as
// a whole beside its values.
type spill func(b []byte) ([]byte, error)

// encode appends a value as canonical JSON.
func (c *codec) encode(dst, value []byte, full spill) (_ []byte, err error) {
	switch c.Kind {
	case Uint:
		return strconv.AppendUint(dst, le.Uint64(value), 10), nil
	case Text:
		if !utf8.Valid(value) {
			return dst, errNotUTF8
		}
	}
	dst = append(dst, '"')
	if c.prefix && (c.Kind == Hex || c.Kind == Fixed) {
		dst = append(dst, prefix...)
	}
	for ; len(value) > piece; value = value[piece:] {
		if dst, err = full(c.appendPiece(dst, value[:piece])); err != nil {
			return dst, err
		}
	}
	return append(c.appendPiece(dst, value), '"'), nil
}

// appendPiece appends a part of a string, without quotes.
func (c *codec) appendPiece(dst, part []byte) []byte {
	switch c.Kind {
	case Hex, Fixed:
		return hex.AppendEncode(dst, part)
	case Base64:
		return base64.StdEncoding.AppendEncode(dst, part)
	}
	return appendEscaped(dst, part)
}

// appendLine appends the canonical line of a row, without newline; full takes parts of it where it is long.
func appendLine(dst []byte, codecs []codec, row segment.Row, full spill) ([]byte, error) {
	sep := byte('{')
	for i := range codecs {
		dst = append(append(dst, sep), codecs[i].key...)
		var err error
		if dst, err = codecs[i].encode(dst, row[i], full); err != nil {
			return dst, fmt.Errorf("column %q: %w", codecs[i].Name, err)
		}
		sep = ','
	}
	return append(dst, '}'), nil
}

// appendText appends a JSON string.
func appendText(dst, s []byte) ([]byte, error) {
	if !utf8.Valid(s) {
		return dst, errNotUTF8
	}
	return append(appendEscaped(append(dst, '"'), s), '"'), nil
}

// appendEscaped appends a part of a JSON string with no more escaped than must be (RFC 8785, section 3.2.2.2). A part may
// end in the middle of a character.
func appendEscaped(dst, s []byte) []byte {
	const digits = "0123456789abcdef"
	start := 0
	for i, b := range s {
		if b >= ' ' && b != '"' && b != '\\' {
			continue
		}
		dst = append(dst, s[start:i]...)
		start = i + 1
		switch b {
		case '"', '\\':
			dst = append(dst, '\\', b)
		case '\b':
			dst = append(dst, `\b`...)
		case '\t':
			dst = append(dst, `\t`...)
		case '\n':
			dst = append(dst, `\n`...)
		case '\f':
			dst = append(dst, `\f`...)
		case '\r':
			dst = append(dst, `\r`...)
		default:
			dst = append(dst, `\u00`...)
			dst = append(dst, digits[b>>4], digits[b&15])
		}
	}
	return append(dst, s[start:]...)
}
