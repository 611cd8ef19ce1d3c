package archive

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// shape says which members the objects at one place of the manifest have, by their
// exact names. The JSON package takes "Tables" for "tables", the last of two, and
// null for nothing: another reader would see another archive.
type shape struct {
	what     string   // "a segment"
	members  []string // that must be there
	optional []string
	inner    map[string]*shape // of members that are objects or lists of them; the others are scalars
}

func manifestShape() *shape {
	column := &shape{what: "a column", members: []string{"name", "kind"}, optional: []string{"format"}}
	schema := &shape{what: "a schema", members: []string{"columns"}, inner: map[string]*shape{"columns": column}}
	replaced := &shape{what: "a replaced file", members: []string{"checksum", "stored_bytes"}}
	seg := &shape{
		what:     "a segment",
		members:  []string{"first_row", "rows", "file", "raw_bytes", "stored_bytes", "checksum", "content_root", "id"},
		optional: []string{"replaced"}, inner: map[string]*shape{"replaced": replaced},
	}
	table := &shape{
		what: "a table", members: []string{"table", "schema", "first_row", "policy", "segments"}, optional: []string{"log_end", "rewinds", "indexes"},
		inner: map[string]*shape{"schema": schema, "segments": seg, "indexes": {what: "an index", members: []string{"index", "key"}}},
	}
	log := &shape{what: "the log", members: []string{"first", "sequence", "open"}}
	return &shape{
		what: "the manifest", members: []string{"format", "version", "tables", "checksum"}, optional: []string{"chain_id", "log", "dropped"},
		inner: map[string]*shape{"tables": table, "log": log, "dropped": {what: "a dropped file", members: []string{"file"}}},
	}
}

var errJSON = errors.New("not the JSON of a manifest")

// checkMembers holds the names of all members against the shape. It knows as much
// of JSON as it must: what else is wrong the JSON package finds. The error is
// ErrVersion for a name that no spelling of a known one explains.
func checkMembers(b []byte, s *shape) error {
	m := members{b: b}
	if err := m.object(s); err != nil {
		return fmt.Errorf("at byte %d: %w", m.i, err)
	}
	if m.peek() != 0 {
		return fmt.Errorf("at byte %d: more than one JSON value", m.i)
	}
	return nil
}

// members reads JSON from i on.
type members struct {
	b []byte
	i int
}

// peek returns the next byte that is no white space; 0 at the end.
func (m *members) peek() byte {
	for m.i < len(m.b) {
		switch c := m.b[m.i]; c {
		case ' ', '\t', '\r', '\n':
			m.i++
		default:
			return c
		}
	}
	return 0
}

// take takes one byte, if it is the next one.
func (m *members) take(c byte) bool {
	ok := m.peek() == c
	if ok {
		m.i++
	}
	return ok
}

func (m *members) object(s *shape) error {
	if !m.take('{') {
		return fmt.Errorf("%w: %s is no object", errJSON, s.what)
	}
	seen := make([]string, 0, len(s.members)+len(s.optional))
	for !m.take('}') {
		if len(seen) > 0 && !m.take(',') {
			return errJSON
		}
		name, err := m.name()
		if err != nil {
			return err
		}
		if err := s.check(name, seen); err != nil {
			return err
		}
		seen = append(seen, name)
		if !m.take(':') {
			return errJSON
		}
		if err := m.member(name, s.inner[name]); err != nil {
			return err
		}
	}
	for _, name := range s.members {
		if !slices.Contains(seen, name) {
			return fmt.Errorf("%s without the member %q", s.what, name)
		}
	}
	return nil
}

func (s *shape) check(name string, seen []string) error {
	if slices.Contains(seen, name) {
		return fmt.Errorf("%s has the member %q twice", s.what, name)
	}
	if slices.Contains(s.members, name) || slices.Contains(s.optional, name) {
		return nil
	}
	for _, known := range append(slices.Clone(s.members), s.optional...) {
		if strings.EqualFold(name, known) {
			return fmt.Errorf("%s has the member %.80q, which is written %q", s.what, name, known)
		}
	}
	return fmt.Errorf("%w: manifest: %s with an unknown member %.80q", ErrVersion, s.what, name)
}

// member reads the value of a member: an object, or a list of such, of the shape
// inner; a scalar where that is nil.
func (m *members) member(name string, inner *shape) error {
	c := m.peek()
	switch {
	case bytes.HasPrefix(m.b[m.i:], []byte("null")):
		return fmt.Errorf("the member %q is null", name)
	case inner == nil && c != '{' && c != '[':
		return m.scalar()
	case inner == nil:
		return fmt.Errorf("%w: the member %q is a list or an object", errJSON, name)
	case c == '{':
		return m.object(inner)
	case !m.take('['):
		return fmt.Errorf("%w: the member %q is no list or object", errJSON, name)
	}
	for n := 0; !m.take(']'); n++ {
		if n > 0 && !m.take(',') {
			return errJSON
		}
		if err := m.object(inner); err != nil {
			return err
		}
	}
	return nil
}

// name reads a string.
func (m *members) name() (name string, err error) {
	m.peek()
	from := m.i
	if err := m.text(); err != nil {
		return "", err
	}
	text := m.b[from:m.i]
	if !bytes.ContainsRune(text, '\\') {
		return string(text[1 : len(text)-1]), nil
	}
	err = json.Unmarshal(text, &name) // the same name can be spelled with escapes
	return name, err
}

// text passes over a string.
func (m *members) text() error {
	if !m.take('"') {
		return errJSON
	}
	for m.i < len(m.b) {
		c := m.b[m.i]
		m.i++
		switch c {
		case '"':
			return nil
		case '\\':
			m.i++
		}
	}
	m.i = min(m.i, len(m.b))
	return errJSON
}

// scalar passes over a string, a number, or a word.
func (m *members) scalar() error {
	if m.peek() == '"' {
		return m.text()
	}
	from := m.i
	for m.i < len(m.b) && !bytes.ContainsRune([]byte(",]}: \t\r\n"), rune(m.b[m.i])) {
		m.i++
	}
	if m.i == from {
		return errJSON
	}
	return nil
}
