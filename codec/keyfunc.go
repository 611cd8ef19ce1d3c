package codec

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ErrNoKey is wrapped by every error of a KeyFunction's Append: the value has no
// key, for the reason that the error gives.
var ErrNoKey = errors.New("codec: the value has no key")

// KeyFunction computes the keys of an index from the values of a column, and
// says how people write these keys. All its functions are set, and are safe for
// concurrent use.
type KeyFunction struct {
	// Name is what a KeyDefinition calls it: 1 to 64 of a-z 0-9 _ -, or empty for
	// those that take the value as it is. A name never changes its meaning.
	Name string

	// Formats are the formats of the columns whose values are known by such keys
	// ("eth-tx"); none: any. Columns that name no format may have any function.
	Formats []string

	// Append appends the key of one value to dst and returns the result, or dst as
	// it was and an error that wraps ErrNoKey. It keeps neither and allocates
	// nothing where dst has room. A key depends on nothing but the value.
	Append func(dst, value []byte) ([]byte, error)

	// Parse returns the key that a text means, as explorers print it and people
	// type it; blanks around it are ignored.
	Parse func(text string) ([]byte, error)

	// Format returns the text of a key, which Parse reads. A key that no Append
	// returned gives some text.
	Format func(key []byte) string
}

// BytesKey returns the function of no name for columns of bytes: the value is
// the key. Its text is hex as ParseHex reads it, or "text:" and the key itself:
// "0x616263" and "text:abc" mean the same three bytes.
func BytesKey() KeyFunction {
	return KeyFunction{
		Append: func(dst, value []byte) ([]byte, error) { return append(dst, value...), nil },
		Parse: func(text string) ([]byte, error) {
			if literal, ok := strings.CutPrefix(strings.TrimSpace(text), "text:"); ok {
				return []byte(literal), nil
			}
			return ParseHex(text, 0)
		},
		Format: FormatHex,
	}
}

// UintKey returns the function of no name for columns of numbers: the value, 8
// bytes little-endian, is the key. Its text is the number, decimal or 0x and hex.
func UintKey() KeyFunction {
	return KeyFunction{
		Append: func(dst, value []byte) ([]byte, error) {
			if len(value) != 8 {
				return dst, fmt.Errorf("%w: %d bytes, expected the 8 of a uint", ErrNoKey, len(value))
			}
			return append(dst, value...), nil
		},
		Parse: func(text string) ([]byte, error) {
			digits, base := strings.TrimSpace(text), 10
			if rest, prefixed := cut0x(digits); prefixed {
				digits, base = rest, 16
			}
			n, err := strconv.ParseUint(digits, base, 64)
			if errors.Is(err, strconv.ErrRange) {
				return nil, fmt.Errorf("codec: key %s: more than 64 bits", quote(text))
			}
			if err != nil {
				return nil, fmt.Errorf("codec: key %s: expected a number, decimal or 0x and hex", quote(text))
			}
			return binary.LittleEndian.AppendUint64(nil, n), nil
		},
		Format: func(key []byte) string {
			if len(key) != 8 {
				return FormatHex(key)
			}
			return strconv.FormatUint(binary.LittleEndian.Uint64(key), 10)
		},
	}
}

// ParseHex reads a key from hex digits of either case, with or without 0x before
// them, blanks around them ignored. size is how many bytes the key has; 0: any,
// and "0x" is the key of none.
func ParseHex(text string, size int) ([]byte, error) {
	digits, prefixed := cut0x(strings.TrimSpace(text))
	if digits == "" && !prefixed { // nothing typed is a slip, not the key of no bytes
		return nil, errors.New("codec: key: nothing, expected hex digits")
	}
	if i := strings.IndexFunc(digits, func(r rune) bool { return !strings.ContainsRune("0123456789abcdefABCDEF", r) }); i >= 0 {
		return nil, fmt.Errorf("codec: key %s: %s is no hex digit", quote(text), quote(digits[i:]))
	}
	if size > 0 && len(digits) != 2*size {
		return nil, fmt.Errorf("codec: key %s: %d hex digits, expected %d", quote(text), len(digits), 2*size)
	}
	key, err := hex.DecodeString(digits)
	if err != nil { // only their number is left to be wrong
		return nil, fmt.Errorf("codec: key %s: %d hex digits, expected an even number", quote(text), len(digits))
	}
	return key, nil
}

// FormatHex returns 0x and the key in lower-case hex.
func FormatHex(key []byte) string { return "0x" + hex.EncodeToString(key) }

// ParseReversedHex is ParseHex for keys that are printed last byte first, as
// hashes are in Bitcoin.
func ParseReversedHex(text string, size int) ([]byte, error) {
	key, err := ParseHex(text, size)
	slices.Reverse(key)
	return key, err
}

// FormatReversedHex returns the key in lower-case hex, last byte first, nothing
// before it: a Bitcoin hash as explorers print it.
func FormatReversedHex(key []byte) string {
	key = slices.Clone(key)
	slices.Reverse(key)
	return hex.EncodeToString(key)
}

// cut0x returns s without 0x before it, and whether that was there.
func cut0x(s string) (rest string, prefixed bool) {
	if len(s) >= 2 && s[0] == '0' && s[1]|0x20 == 'x' {
		return s[2:], true
	}
	return s, false
}

// quote quotes what someone typed, cut where it is long: it goes into messages.
func quote(s string) string {
	const most = 80
	if len(s) > most {
		return strconv.QuoteToASCII(s[:most]) + "…"
	}
	return strconv.QuoteToASCII(s)
}

// KeyDefinition says what the keys of an index are: a function of a column, or a
// column. Its text is "function(column)" or "column": "keccak256(transaction)",
// "number".
type KeyDefinition struct {
	Function string // KeyFunction.Name; empty: the column's values are the keys
	Column   string // 1 to 64 of a-z 0-9 _
}

// maxKeyName is the most bytes of a function's or column's name.
const maxKeyName = 64

// ParseKeyDefinition reads the text of a KeyDefinition. Blanks around names are
// ignored.
func ParseKeyDefinition(text string) (KeyDefinition, error) {
	d, err := parseKeyDefinition(text)
	if err == nil {
		err = d.check()
	}
	if err != nil {
		return KeyDefinition{}, fmt.Errorf("codec: key definition %s: %w", quote(text), err)
	}
	return d, nil
}

func parseKeyDefinition(text string) (KeyDefinition, error) {
	function, column, ok := strings.Cut(text, "(")
	if !ok {
		if strings.Contains(text, ")") {
			return KeyDefinition{}, errors.New(`")" without "(", expected function(column) or a column`)
		}
		return KeyDefinition{Column: strings.TrimSpace(text)}, nil
	}
	function = strings.TrimSpace(function)
	if function == "" {
		return KeyDefinition{}, errors.New(`no function before "(", expected function(column) or a column`)
	}
	column, after, ok := strings.Cut(column, ")")
	if !ok {
		return KeyDefinition{}, errors.New(`no ")" after the column, expected function(column)`)
	}
	if after = strings.TrimSpace(after); after != "" {
		return KeyDefinition{}, fmt.Errorf(`%s after ")", expected function(column) alone`, quote(after))
	}
	return KeyDefinition{Function: function, Column: strings.TrimSpace(column)}, nil
}

func (d KeyDefinition) check() error {
	if d.Function != "" && !keyName(d.Function, "_-") {
		return fmt.Errorf("function %s is not 1 to %d of a-z 0-9 _ -", quote(d.Function), maxKeyName)
	}
	if !keyName(d.Column, "_") {
		return fmt.Errorf("column %s is not 1 to %d of a-z 0-9 _", quote(d.Column), maxKeyName)
	}
	return nil
}

func keyName(s, also string) bool {
	return len(s) >= 1 && len(s) <= maxKeyName && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && !strings.ContainsRune(also, r)
	})
}

// Validate checks the names.
func (d KeyDefinition) Validate() error {
	if err := d.check(); err != nil {
		return fmt.Errorf("codec: key definition: %w", err)
	}
	return nil
}

// String returns the text of the definition, which ParseKeyDefinition reads.
func (d KeyDefinition) String() string {
	if d.Function == "" {
		return d.Column
	}
	return d.Function + "(" + d.Column + ")"
}

// MarshalText returns the text of the definition.
func (d KeyDefinition) MarshalText() ([]byte, error) {
	if err := d.Validate(); err != nil {
		return nil, err
	}
	return []byte(d.String()), nil
}

// UnmarshalText reads the text of a definition.
func (d *KeyDefinition) UnmarshalText(text []byte) error {
	parsed, err := ParseKeyDefinition(string(text))
	if err != nil {
		return err
	}
	*d = parsed
	return nil
}

// Resolve returns the function of the definition: that of functions which has
// its name, or UintKey or BytesKey where it names none. kind ("bytes", "fixed"
// or "uint") and format are the column's. A function for other formats than the
// column's is an error: sha256d of a Bitcoin transaction, say, would find it by
// what is not its id.
func (d KeyDefinition) Resolve(functions []KeyFunction, kind, format string) (KeyFunction, error) {
	if d.Function == "" {
		if kind == "uint" {
			return UintKey(), nil
		}
		return BytesKey(), nil
	}
	i := slices.IndexFunc(functions, func(f KeyFunction) bool { return f.Name == d.Function })
	if i < 0 {
		return KeyFunction{}, fmt.Errorf("codec: key definition %s: unknown function, %s", d, known(functions, ""))
	}
	if f := functions[i]; format == "" || f.serves(format) {
		return f, nil
	}
	return KeyFunction{}, fmt.Errorf("codec: key definition %s: the column is %s, the function is for %s; %s",
		d, format, strings.Join(functions[i].Formats, " and "), known(functions, format))
}

func (f *KeyFunction) serves(format string) bool {
	return len(f.Formats) == 0 || slices.Contains(f.Formats, format)
}

// known names the functions that serve a format; all of them where it is empty.
func known(functions []KeyFunction, format string) string {
	var names []string
	for i := range functions {
		if f := &functions[i]; format == "" || f.serves(format) {
			names = append(names, f.Name)
		}
	}
	if len(names) == 0 {
		return "expected a column alone"
	}
	return "expected " + strings.Join(names, ", ") + ", or the column alone"
}
