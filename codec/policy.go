package codec

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/segstore/segstore/dict"
)

// Limits of a policy and of its text.
const (
	MinChunkBytes  = 1 << 10
	MaxChunkBytes  = 16 << 20
	MinDictBytes   = 1 << 10
	MaxDictBytes   = dict.MaxBytes
	MaxRules       = 1024
	MaxPolicyBytes = 64 << 10 // of the text
)

// How the streams of one column of one chunk become blocks.
const (
	GroupColumn = "column" // all in one: fewer bytes where chunks are small
	GroupStream = "stream" // each in its own: can be read alone
)

// Policy says how one table is laid out in segments: where chunks end, and how
// each column is encoded and compressed. It is a value: its methods return
// changed copies and never share rules with the receiver.
type Policy struct {
	ChunkBytes int    // raw bytes of all columns at which a chunk ends: MinChunkBytes..MaxChunkBytes
	Rules      []Rule // the first that matches a column serves it; the last, and only it, matches all
}

// Rule is a policy for the columns it matches.
type Rule struct {
	Match     string // "*", "column:NAME", "format:NAME", "kind:bytes", "kind:fixed" or "kind:uint"
	Encoding  string // its name, with or without version; empty: by kind, plain, fixed or uint
	Group     string // GroupColumn or GroupStream
	Spec      Spec   // what blocks are written with; if Spec.Dict, where a dictionary is adopted …
	Fallback  Spec   // … and this, without dictionary, where none is; else the zero Spec
	DictBytes int    // if Spec.Dict, the largest dictionary tried: MinDictBytes..MaxDictBytes; else 0
}

// Without returns what blocks are written with where no dictionary is adopted:
// Fallback, or Spec where that wants none.
func (r Rule) Without() Spec {
	if r.Spec.Dict {
		return r.Fallback
	}
	return r.Spec
}

// Rule returns the rule for a column by its name, its kind ("bytes", "fixed" or
// "uint") and its format, which may be empty. The policy is a valid one; without
// any match the zero Rule is returned, which is not valid.
func (p Policy) Rule(column, kind, format string) Rule {
	for _, r := range p.Rules {
		what, name, _ := strings.Cut(r.Match, ":")
		switch {
		case what == "*",
			what == "column" && name == column,
			what == "format" && name == format,
			what == "kind" && name == kind:
			return r
		}
	}
	return Rule{}
}

// WithLevel returns the policy with every zstd spec at level n, where 0 means
// DefaultLevel; chunks, encodings and all else stay. From level 10 on rules lose
// their dictionaries (see New).
func (p Policy) WithLevel(n int) Policy {
	p.Rules = slices.Clone(p.Rules)
	for i := range p.Rules {
		r := &p.Rules[i]
		r.Spec, r.Fallback = r.Spec.WithLevel(n), r.Fallback.WithLevel(n)
		if r.Spec.Dict && !r.Spec.TakesDict() {
			r.Spec.Dict, r.Fallback, r.DictBytes = false, Spec{}, 0
		}
	}
	return p
}

// WithEncoding returns the policy with the encoding name for every column of
// kind bytes, and for those that a rule matches by name or format. An empty name
// sets the default of the kind everywhere.
func (p Policy) WithEncoding(name string) Policy {
	rules := make([]Rule, 0, len(p.Rules)+1)
	bytesServed := false
	for _, r := range p.Rules {
		switch {
		case name == "" || strings.HasPrefix(r.Match, "column:") || strings.HasPrefix(r.Match, "format:"):
			r.Encoding = name
		case r.Match == "kind:bytes":
			r.Encoding, bytesServed = name, true
		case r.Match == "*" && !bytesServed: // leave columns of numbers theirs
			b := r
			b.Match, b.Encoding = "kind:bytes", name
			rules = append(rules, b)
		}
		rules = append(rules, r)
	}
	p.Rules = rules
	return p
}

// Validate checks the limits and that every rule can be reached and means
// something.
func (p Policy) Validate() error {
	if p.ChunkBytes < MinChunkBytes || p.ChunkBytes > MaxChunkBytes {
		return fmt.Errorf("codec: policy: chunk %d not in %d..%d", p.ChunkBytes, MinChunkBytes, MaxChunkBytes)
	}
	if len(p.Rules) < 1 || len(p.Rules) > MaxRules {
		return fmt.Errorf("codec: policy: %d rules, not in 1..%d", len(p.Rules), MaxRules)
	}
	seen := make(map[string]bool, len(p.Rules))
	for i, r := range p.Rules {
		err := r.check()
		switch last := i == len(p.Rules)-1; {
		case err != nil:
		case seen[r.Match]:
			err = fmt.Errorf("%s twice", r.Match)
		case r.Match == "*" && !last:
			err = errors.New("* is not the last rule: those after it are never used")
		case r.Match != "*" && last:
			err = fmt.Errorf("the last rule is %s, expected *", r.Match)
		}
		if err != nil {
			return fmt.Errorf("codec: policy: rule %d: %w", i+1, err)
		}
		seen[r.Match] = true
	}
	if n := len(p.String()); n > MaxPolicyBytes {
		return fmt.Errorf("codec: policy: text of %d bytes, at most %d", n, MaxPolicyBytes)
	}
	return nil
}

// Validate checks one rule by itself.
func (r Rule) Validate() error {
	if err := r.check(); err != nil {
		return fmt.Errorf("codec: rule: %w", err)
	}
	return nil
}

func (r Rule) check() error {
	if !validMatch(r.Match) {
		return fmt.Errorf("match %q: expected *, column:NAME, format:NAME, kind:bytes, kind:fixed or kind:uint", r.Match)
	}
	if r.Encoding != "" && !validEncoding(r.Encoding) {
		return fmt.Errorf("encoding %q: expected NAME or NAME/VERSION, a name of 1..64 of a-z 0-9 - _", r.Encoding)
	}
	if r.Group != GroupColumn && r.Group != GroupStream {
		return fmt.Errorf("group %q: expected %s or %s", r.Group, GroupColumn, GroupStream)
	}
	if err := r.Spec.check(); err != nil {
		return err
	}
	if err := r.Fallback.check(); err != nil {
		return fmt.Errorf("fallback: %w", err)
	}
	if r.Spec != r.Spec.normal() || r.Fallback != r.Fallback.normal() {
		return fmt.Errorf("zstd level 0: expected %d", DefaultLevel)
	}
	if !r.Spec.Dict {
		if r.Fallback != (Spec{}) || r.DictBytes != 0 {
			return fmt.Errorf("codec %s takes no dictionary, so neither fallback (%s) nor dictionary size (%d)", r.Spec, r.Fallback, r.DictBytes)
		}
		return nil
	}
	switch {
	case !r.Spec.TakesDict():
		return fmt.Errorf("codec %s: no dictionary at level %d and above", r.Spec, minBestLevel)
	case r.Fallback.Dict:
		return fmt.Errorf("fallback %s: expected one without dictionary", r.Fallback)
	case r.DictBytes < MinDictBytes || r.DictBytes > MaxDictBytes:
		return fmt.Errorf("dictionary of %d bytes, not in %d..%d", r.DictBytes, MinDictBytes, MaxDictBytes)
	}
	return nil
}

func validMatch(s string) bool {
	switch what, name, _ := strings.Cut(s, ":"); what {
	case "*":
		return s == "*"
	case "column":
		return validName(name, "_")
	case "format":
		return validName(name, "_-")
	case "kind":
		return name == "bytes" || name == "fixed" || name == "uint"
	}
	return false
}

func validEncoding(s string) bool {
	name, version, has := strings.Cut(s, "/")
	if has && (len(version) < 1 || len(version) > 4 || version[0] == '0' || strings.Trim(version, "0123456789") != "") {
		return false
	}
	return validName(name, "_-")
}

// validName accepts the names of columns, formats and encodings.
func validName(s, also string) bool {
	if len(s) < 1 || len(s) > 64 {
		return false
	}
	for _, c := range []byte(s) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && !strings.ContainsRune(also, rune(c)) {
			return false
		}
	}
	return true
}
