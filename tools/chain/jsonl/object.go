package jsonl

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/segstore/segstore/segment"
)

// object reads one line at a time into the values of a row. It reuses its memory; for one goroutine.
type object struct {
	codecs  []codec
	byField map[string]int
	first   bool // the next line is the first: it decides how hex is written

	line []byte
	at   int
	row  segment.Row // values of the last line; they are of the line or of data
	seen []int       // for each column, the number of the line that last had it
	n    int         // number of the line
	data []byte      // values that are not as the line has them
}

func newObject(columns []Column) (*object, error) {
	codecs, err := newCodecs(columns)
	if err != nil {
		return nil, err
	}
	o := &object{codecs: codecs, byField: map[string]int{}, row: make(segment.Row, len(columns)), seen: make([]int, len(columns))}
	for i, c := range codecs {
		o.byField[c.field] = i
	}
	return o, nil
}

// start begins a file.
func (o *object) start() {
	o.n, o.first = 0, true
	clear(o.seen)
	for i := range o.codecs {
		o.codecs[i].prefix = false
	}
}

// lineError is what is wrong with a line.
type lineError struct {
	at   int // bytes from the start of the line
	want string
	err  error
}

func (o *object) fail(at int, err error, want string, args ...any) *lineError {
	return &lineError{at, fmt.Sprintf(want, args...) + fmt.Sprintf(" in line %d", o.n), err}
}

// read reads a line, without its newline. The values in o.row are valid until the next call and as long as line is.
func (o *object) read(line []byte) *lineError {
	o.line, o.at, o.data = line, 0, o.data[:0]
	o.n++
	// The library checks the grammar, all of it; what follows may rely on that.
	if !json.Valid(line) {
		return o.syntax()
	}
	if !utf8.Valid(line) {
		at := 0
		for at < len(line) {
			r, n := utf8.DecodeRune(line[at:])
			if r == utf8.RuneError && n == 1 {
				break
			}
			at += n
		}
		return o.fail(at, errNotUTF8, "text in UTF-8")
	}
	if o.space(); line[o.at] != '{' {
		return o.fail(o.at, nil, "an object, { … },")
	}
	o.at++
	fields := 0
	for o.space(); line[o.at] != '}'; o.space() {
		if line[o.at] == ',' {
			o.at++
			o.space()
		}
		if err := o.member(fields); err != nil {
			return err
		}
		fields++
	}
	if fields < len(o.codecs) {
		for i, n := range o.seen {
			if n != o.n {
				return o.fail(o.at, errors.New("it is missing"), "field %q (column %q)", o.codecs[i].field, o.codecs[i].Name)
			}
		}
	}
	o.first = false
	return nil
}

// syntax returns the error of a line that is not JSON.
func (o *object) syntax() *lineError {
	var v json.RawMessage
	err := json.Unmarshal(o.line, &v)
	at := len(o.line)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		at = max(0, min(int(syntax.Offset)-1, at))
	}
	if len(o.line) == 0 {
		err = errors.New("it is empty")
	}
	return o.fail(at, err, "a JSON object")
}

func (o *object) space() {
	for o.at < len(o.line) {
		switch o.line[o.at] {
		case ' ', '\t', '\r', '\n':
			o.at++
		default:
			return
		}
	}
}

// member reads a field and its value; it is the n-th of the line.
func (o *object) member(n int) *lineError {
	start := o.at
	name, err := o.string()
	if err != nil {
		return o.fail(start, err, "a field's name")
	}
	i := n // usually they come in order
	if i >= len(o.codecs) || o.codecs[i].field != string(name) {
		var ok bool
		if i, ok = o.byField[string(name)]; !ok {
			return o.fail(start, fmt.Errorf("field %.100q", name), "no other fields than the columns'")
		}
	}
	c := &o.codecs[i]
	if o.seen[i] == o.n {
		return o.fail(start, errors.New("it is there twice"), "one field %q (column %q)", c.field, c.Name)
	}
	o.seen[i] = o.n
	o.space()
	o.at++ // colon
	o.space()
	start = o.at
	if err := o.value(c, i); err != nil {
		return o.fail(start, err, "%s as column %q", c.want(), c.Name)
	}
	return nil
}

// value reads the value of column i.
func (o *object) value(c *codec, i int) error {
	from := len(o.data)
	switch b := o.line[o.at]; {
	case b == '"' && c.Kind != Uint:
		s, err := o.string()
		if err != nil {
			return err
		}
		if c.Kind == Text {
			o.row[i] = s
			return nil
		}
		from = len(o.data)
		if o.first {
			c.prefix = len(s) >= len(prefix) && string(s[:len(prefix)]) == string(prefix)
		}
		if o.data, err = c.decodeString(o.data, s); err != nil {
			return err
		}
	case (b == '-' || b >= '0' && b <= '9') && c.Kind == Uint:
		start := o.at
		for o.at < len(o.line) && numberByte(o.line[o.at]) {
			o.at++
		}
		var err error
		if o.data, err = decodeNumber(o.data, o.line[start:o.at]); err != nil {
			return fmt.Errorf("%.40s: %w", o.line[start:o.at], err)
		}
	default:
		return fmt.Errorf("it is %s", typeName(b))
	}
	o.row[i] = o.data[from:len(o.data):len(o.data)]
	return nil
}
