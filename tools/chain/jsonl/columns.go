package jsonl

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/segstore/segstore/segment"
)

// Kind is how JSON shows a column's values.
type Kind uint8

// Kinds.
const (
	Text   Kind = iota // a string; the value is its UTF-8
	Hex                // a string of hex digits, with or without 0x
	Base64             // a string of base64, standard alphabet with padding
	Uint               // a number from 0 to 2^64-1
	Fixed              // like Hex, always of Column.Width bytes
)

// kinds are the names of kinds in a list of columns, and the format that tells them apart in a schema.
var kinds = [...]struct {
	name, format string
	kind         segment.Kind
}{
	Text:   {"bytes", "text", segment.Bytes},
	Hex:    {"hex", "hex", segment.Bytes},
	Base64: {"base64", "base64", segment.Bytes},
	Uint:   {"uint", "", segment.Uint},
	Fixed:  {"fixed", "hex", segment.Fixed},
}

// Column is a field of the lines and the column that it goes to.
type Column struct {
	Name  string // of the column
	Field string // in JSON; empty where it is Name
	Kind  Kind
	Width int // bytes, of Fixed only
}

// MaxFieldBytes is the longest name of a field.
const MaxFieldBytes = 1024

// String returns the column as ParseColumns reads it.
func (c Column) String() string {
	s := c.Name
	if f := c.field(); f != c.Name {
		s += "=" + f
	}
	if c.Kind == Fixed {
		return fmt.Sprintf("%s:fixed(%d)", s, c.Width)
	}
	return s + ":" + kinds[c.Kind].name
}

func (c Column) field() string { return cmp.Or(c.Field, c.Name) }

// ParseColumns reads a list such as "number:uint,hash=blockHash:fixed(32),data:hex": the name of each column, the field's
// where it is another, and the kind: bytes (text), hex, base64, uint or fixed(N).
func ParseColumns(list string) ([]Column, error) {
	var columns []Column
	for _, item := range strings.Split(list, ",") {
		i := strings.LastIndexByte(item, ':') // a field may hold colons
		if i < 0 {
			return nil, fmt.Errorf("jsonl: column %q is not name:kind", item)
		}
		kind, width, err := parseKind(item[i+1:])
		if err != nil {
			return nil, fmt.Errorf("jsonl: column %q: %w", item, err)
		}
		name, field, renamed := strings.Cut(item[:i], "=")
		if renamed && field == "" {
			return nil, fmt.Errorf("jsonl: column %q: empty name of a field", item)
		}
		columns = append(columns, Column{Name: name, Field: field, Kind: kind, Width: width})
	}
	if _, err := Schema(columns); err != nil {
		return nil, err
	}
	return columns, nil
}

func parseKind(s string) (Kind, int, error) {
	for k, d := range kinds {
		if d.name == s && Kind(k) != Fixed {
			return Kind(k), 0, nil
		}
	}
	if k, width, err := segment.ParseKind(s); err == nil && k == segment.Fixed {
		return Fixed, width, nil
	}
	return 0, 0, fmt.Errorf("kind %q is not bytes, hex, base64, uint or fixed(N) with N in 1..%d", s, segment.MaxFixedWidth)
}

// Schema returns the schema of a table of these columns, or an error where they cannot be one.
func Schema(columns []Column) (segment.Schema, error) {
	var s segment.Schema
	fields := map[string]bool{}
	for _, c := range columns {
		if int(c.Kind) >= len(kinds) {
			return s, fmt.Errorf("jsonl: column %q: unknown kind %d", c.Name, c.Kind)
		}
		f := c.field()
		if len(f) > MaxFieldBytes || !utf8.ValidString(f) {
			return s, fmt.Errorf("jsonl: column %q: field %.100q is not at most %d bytes of UTF-8", c.Name, f, MaxFieldBytes)
		}
		if fields[f] {
			return s, fmt.Errorf("jsonl: field %q twice", f)
		}
		fields[f] = true
		d := kinds[c.Kind]
		s.Columns = append(s.Columns, segment.Column{Name: c.Name, Kind: d.kind, Width: c.Width, Format: d.format})
	}
	if err := s.Validate(); err != nil {
		return s, fmt.Errorf("jsonl: %w", err)
	}
	return s, nil
}

// columnsOf returns the columns of a schema made by Schema, with fields.
func columnsOf(s segment.Schema, fields []string) ([]Column, error) {
	if len(fields) != len(s.Columns) {
		return nil, fmt.Errorf("%d fields for %d columns", len(fields), len(s.Columns))
	}
	columns := make([]Column, len(fields))
next:
	for i, c := range s.Columns {
		for k, d := range kinds {
			if d.kind == c.Kind && d.format == c.Format {
				columns[i] = Column{Name: c.Name, Field: fields[i], Kind: Kind(k), Width: c.Width}
				continue next
			}
		}
		return nil, fmt.Errorf("column %q of %s and format %q", c.Name, c.KindString(), c.Format)
	}
	return columns, nil
}
