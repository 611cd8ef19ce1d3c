package segment

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/segstore/segstore/codec/wire"
)

// Kind is what the values of a column are. Part of the format: add, never change.
type Kind uint8

const (
	Bytes Kind = 1 // any length, empty included
	Fixed Kind = 2 // Column.Width bytes
	Uint  Kind = 3 // a uint64 as 8 bytes, little-endian
)

// String returns the name of the kind: "bytes", "fixed" or "uint".
func (k Kind) String() string {
	switch k {
	case Bytes:
		return "bytes"
	case Fixed:
		return "fixed"
	case Uint:
		return "uint"
	}
	return "kind(" + strconv.Itoa(int(k)) + ")"
}

// Limits of a schema and of a row.
const (
	MaxColumns    = 256       // columns of a table
	MaxNameBytes  = 64        // bytes of a table's, column's or format's name
	MaxFixedWidth = 1 << 16   // bytes of a fixed column's values
	MaxRowBytes   = 128 << 20 // bytes of a row, all columns together
)

// Column is one column of a table.
type Column struct {
	Name   string // 1 to 64 of a-z 0-9 _
	Kind   Kind
	Width  int    // bytes a value; Fixed only, 1 to 65536, else 0
	Format string // what the bytes are ("eth-tx"), or empty; 0 to 64 of a-z 0-9 _ -
}

// KindString returns the kind with its width, as ParseKind reads it: "fixed(80)".
func (c Column) KindString() string {
	if c.Kind == Fixed {
		return "fixed(" + strconv.Itoa(c.Width) + ")"
	}
	return c.Kind.String()
}

// ParseKind reads "bytes", "uint" or "fixed(N)".
func ParseKind(s string) (k Kind, width int, err error) {
	switch s {
	case "bytes":
		return Bytes, 0, nil
	case "uint":
		return Uint, 0, nil
	}
	if n, ok := strings.CutPrefix(s, "fixed("); ok {
		if n, ok = strings.CutSuffix(n, ")"); ok {
			if w, err := strconv.Atoi(n); err == nil && w >= 1 && w <= MaxFixedWidth {
				return Fixed, w, nil
			}
		}
	}
	return 0, 0, fmt.Errorf("segment: kind %q is not bytes, uint or fixed(N) with N in 1..%d", s, MaxFixedWidth)
}

// columnJSON is a column as JSON has it.
type columnJSON struct {
	Name   string `json:"name"`
	Kind   string `json:"kind"` // "bytes", "uint" or "fixed(N)"
	Format string `json:"format,omitempty"`
}

// MarshalJSON returns {"name": …, "kind": "fixed(80)", "format": …}.
func (c Column) MarshalJSON() ([]byte, error) {
	return json.Marshal(columnJSON{c.Name, c.KindString(), c.Format})
}

// UnmarshalJSON reads what MarshalJSON returns.
func (c *Column) UnmarshalJSON(b []byte) error {
	var j columnJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	k, width, err := ParseKind(j.Kind)
	*c = Column{Name: j.Name, Kind: k, Width: width, Format: j.Format}
	return err
}

// Schema is the columns of a table, in order. It never changes in the table's life.
type Schema struct {
	Columns []Column `json:"columns"`
}

// Index returns the position of a column, or -1.
func (s Schema) Index(name string) int {
	return slices.IndexFunc(s.Columns, func(c Column) bool { return c.Name == name })
}

// Equal reports whether both have the same columns in the same order.
func (s Schema) Equal(o Schema) bool { return slices.Equal(s.Columns, o.Columns) }

// Validate checks names, kinds, widths and limits.
func (s Schema) Validate() error {
	if n := len(s.Columns); n < 1 || n > MaxColumns {
		return fmt.Errorf("segment: %d columns, not in 1..%d", n, MaxColumns)
	}
	for i, c := range s.Columns {
		if err := ValidateName(c.Name); err != nil {
			return fmt.Errorf("segment: column %d: %w", i, err)
		}
		if s.Index(c.Name) != i {
			return fmt.Errorf("segment: column %q twice", c.Name)
		}
		if c.Format != "" && !validName(c.Format, "_-") {
			return fmt.Errorf("segment: column %q: format %q is not of a-z 0-9 _ -, at most %d", c.Name, c.Format, MaxNameBytes)
		}
		switch {
		case c.Kind == Fixed && c.Width >= 1 && c.Width <= MaxFixedWidth:
		case (c.Kind == Bytes || c.Kind == Uint) && c.Width == 0:
		default:
			return fmt.Errorf("segment: column %q: %s with width %d", c.Name, c.Kind, c.Width)
		}
	}
	return nil
}

// ValidateName checks the name of a table or column: 1 to 64 of a-z 0-9 _.
func ValidateName(name string) error {
	if !validName(name, "_") {
		return fmt.Errorf("name %q is not 1 to %d of a-z 0-9 _", name, MaxNameBytes)
	}
	return nil
}

func validName(s, also string) bool {
	if len(s) < 1 || len(s) > MaxNameBytes {
		return false
	}
	for _, r := range s {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && !strings.ContainsRune(also, r) {
			return false
		}
	}
	return true
}

// appendTo appends the canonical binary form: count, then name, kind, width and format a column.
func (s Schema) appendTo(dst []byte) []byte {
	dst = wire.AppendUvarint(dst, uint64(len(s.Columns)))
	for _, c := range s.Columns {
		dst = wire.AppendString(dst, c.Name)
		dst = append(dst, byte(c.Kind))
		dst = wire.AppendUvarint(dst, uint64(c.Width))
		dst = wire.AppendString(dst, c.Format)
	}
	return dst
}

func decodeSchema(b []byte) (Schema, error) {
	c := wire.NewCursor(b)
	n := c.Count(MaxColumns, 4)
	s := Schema{Columns: make([]Column, 0, n)}
	for range n {
		s.Columns = append(s.Columns, Column{
			Name:   c.String(MaxNameBytes),
			Kind:   Kind(c.Uint8()),
			Width:  int(min(c.Uvarint(), MaxFixedWidth+1)),
			Format: c.String(MaxNameBytes),
		})
	}
	if err := c.Close(); err != nil {
		return Schema{}, err
	}
	return s, s.Validate()
}

// Row is one value a column, in the order of the schema. A uint is 8 bytes, little-endian.
type Row [][]byte

// AppendUint appends the value of a uint column.
func AppendUint(dst []byte, v uint64) []byte { return binary.LittleEndian.AppendUint64(dst, v) }

// ParseUint returns the number in a value of a uint column; 0 where value is not 8 bytes.
func ParseUint(value []byte) uint64 {
	if len(value) != 8 {
		return 0
	}
	return binary.LittleEndian.Uint64(value)
}

// ErrRow is what a row that does not fit its schema returns.
var ErrRow = errors.New("segment: row does not fit the schema")

// Check returns ErrRow when row is not a row of s; raw is the bytes of its values.
func (s Schema) Check(row Row) (raw int, err error) {
	if len(row) != len(s.Columns) {
		return 0, fmt.Errorf("%w: %d values for %d columns", ErrRow, len(row), len(s.Columns))
	}
	for i := range s.Columns {
		c, n := &s.Columns[i], len(row[i])
		if c.Kind == Fixed && n != c.Width || c.Kind == Uint && n != 8 {
			return 0, fmt.Errorf("%w: column %q is %s, value has %d bytes", ErrRow, c.Name, c.KindString(), n)
		}
		raw += n
	}
	if raw > MaxRowBytes {
		return 0, fmt.Errorf("%w: %d bytes, at most %d", ErrRow, raw, MaxRowBytes)
	}
	return raw, nil
}
