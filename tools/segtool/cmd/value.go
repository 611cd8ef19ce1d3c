package cmd

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"unicode/utf8"

	"github.com/segstore/segstore/segment"
)

// textFormat is the format of columns that hold UTF-8.
const textFormat = "text"

// value shows a value of a column: a number, text quoted where it would not show,
// or bytes in hex.
func value(c segment.Column, v []byte) string {
	switch {
	case c.Kind == segment.Uint:
		return strconv.FormatUint(segment.ParseUint(v), 10)
	case c.Format == textFormat && printable(v):
		return string(v)
	case c.Format == textFormat:
		return strconv.Quote(string(v))
	}
	return hex.EncodeToString(v)
}

func printable(v []byte) bool {
	return utf8.Valid(v) && !bytes.ContainsFunc(v, func(r rune) bool { return !strconv.IsPrint(r) })
}

// rowJSON is a row as get and cat print it.
type rowJSON struct {
	Table  string    `json:"table"`
	Row    uint64    `json:"row"`
	Values rowValues `json:"values"`
}

// rowValues are the values of a row, a column each.
type rowValues struct {
	columns []segment.Column
	row     segment.Row
}

var _ json.Marshaler = rowValues{}

// MarshalJSON returns an object with a member a column: a number, text (or an
// object {"hex": …} where it is not UTF-8), or bytes in hex.
func (r rowValues) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, c := range r.columns {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(strconv.AppendQuote(b, c.Name), ':') // a name is of a-z 0-9 _
		v := r.row[i]
		switch {
		case c.Kind == segment.Uint:
			b = strconv.AppendUint(b, segment.ParseUint(v), 10)
		case c.Format == textFormat && utf8.Valid(v):
			var text bytes.Buffer
			e := json.NewEncoder(&text)
			e.SetEscapeHTML(false)
			if err := e.Encode(string(v)); err != nil {
				return nil, err
			}
			b = append(b, bytes.TrimSuffix(text.Bytes(), []byte("\n"))...)
		case c.Format == textFormat:
			b = append(hex.AppendEncode(append(b, `{"hex":"`...), v), `"}`...)
		default:
			b = append(hex.AppendEncode(append(b, '"'), v), '"')
		}
	}
	return append(b, '}'), nil
}

// pickColumns returns the columns of these names, or all.
func pickColumns(s segment.Schema, names []string) []segment.Column {
	if len(names) == 0 {
		return s.Columns
	}
	var list []segment.Column
	for _, n := range names {
		if i := s.Index(n); i >= 0 { // else reading says so
			list = append(list, s.Columns[i])
		}
	}
	return list
}
