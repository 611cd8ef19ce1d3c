package codec

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// The text of a policy, line by line:
//
//	chunk 32768
//	column:number group=column codec=zstd:3
//	* encoding=plain/1 group=column codec=zstd:1+dict else=zstd:3 dict=65536
//
// The first line gives ChunkBytes, each other one a rule: what it matches, then
// key=value fields. The canonical text, which String writes and segments record,
// has the fields in this order, single spaces, and no field of zero value;
// ParsePolicy also takes them in any order, blank lines, and comments from # on.

// String returns the canonical text of the policy.
func (p Policy) String() string {
	b := append(make([]byte, 0, 128), "chunk "...)
	b = append(strconv.AppendInt(b, int64(p.ChunkBytes), 10), '\n')
	for _, r := range p.Rules {
		b = append(r.appendTo(b), '\n')
	}
	return string(b)
}

// String returns the rule's line of the policy's text.
func (r Rule) String() string { return string(r.appendTo(nil)) }

func (r Rule) appendTo(b []byte) []byte {
	b = append(b, r.Match...)
	if r.Encoding != "" {
		b = append(append(b, " encoding="...), r.Encoding...)
	}
	b = append(append(b, " group="...), r.Group...)
	b = append(append(b, " codec="...), r.Spec.String()...)
	if r.Spec.Dict {
		b = append(append(b, " else="...), r.Fallback.String()...)
		b = strconv.AppendInt(append(b, " dict="...), int64(r.DictBytes), 10)
	}
	return b
}

// ParsePolicy reads the text of a policy. Unknown words and keys, repeated and
// missing ones are errors that give the line.
func ParsePolicy(text string) (Policy, error) {
	if len(text) > MaxPolicyBytes {
		return Policy{}, fmt.Errorf("codec: policy: text of %d bytes, at most %d", len(text), MaxPolicyBytes)
	}
	var p Policy
	n := 0
	for line := range strings.Lines(text) {
		n++
		line, _, _ = strings.Cut(line, "#")
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		if err := p.parseLine(fields); err != nil {
			return Policy{}, fmt.Errorf("codec: policy: line %d: %w", n, err)
		}
	}
	if p.ChunkBytes == 0 {
		return Policy{}, fmt.Errorf("codec: policy: line %d: the text ends, expected \"chunk BYTES\"", n+1)
	}
	if err := p.Validate(); err != nil {
		return Policy{}, err
	}
	return p, nil
}

func (p *Policy) parseLine(fields []string) error {
	if p.ChunkBytes == 0 {
		if len(fields) != 2 || fields[0] != "chunk" {
			return fmt.Errorf("%q, expected \"chunk BYTES\"", strings.Join(fields, " "))
		}
		n, err := parseBytes(fields[1], MinChunkBytes, MaxChunkBytes)
		if err != nil {
			return fmt.Errorf("chunk: %w", err)
		}
		p.ChunkBytes = n
		return nil
	}
	if len(p.Rules) == MaxRules {
		return fmt.Errorf("more than %d rules", MaxRules)
	}
	r, err := parseRule(fields)
	if err != nil {
		return err
	}
	p.Rules = append(p.Rules, r)
	return nil
}

func parseRule(fields []string) (Rule, error) {
	r := Rule{Match: fields[0]}
	if strings.Contains(r.Match, "=") {
		return r, fmt.Errorf("%q, expected what the rule matches first", r.Match)
	}
	seen := make(map[string]bool, len(fields))
	for _, f := range fields[1:] {
		key, value, ok := strings.Cut(f, "=")
		if !ok || value == "" {
			return r, fmt.Errorf("%q, expected key=value", f)
		}
		if seen[key] {
			return r, fmt.Errorf("%s twice", key)
		}
		seen[key] = true
		var err error
		switch key {
		case "encoding":
			r.Encoding = value
		case "group":
			r.Group = value
		case "codec":
			r.Spec, err = parseSpec(value)
		case "else":
			r.Fallback, err = parseSpec(value)
		case "dict":
			r.DictBytes, err = parseBytes(value, MinDictBytes, MaxDictBytes)
		default:
			err = errors.New("unknown key, expected encoding, group, codec, else or dict")
		}
		if err != nil {
			return r, fmt.Errorf("%s: %w", key, err)
		}
	}
	want := []string{"group", "codec"}
	if r.Spec.Dict {
		want = append(want, "else", "dict")
	} else if seen["else"] || seen["dict"] {
		return r, fmt.Errorf("codec=%s takes no dictionary, so neither else= nor dict=", r.Spec)
	}
	for _, key := range want {
		if !seen[key] {
			return r, fmt.Errorf("%s= is missing", key)
		}
	}
	return r, r.check()
}

// parseBytes reads a plain decimal number in least..most.
func parseBytes(s string, least, most int) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < least || n > most || strconv.Itoa(n) != s {
		return 0, fmt.Errorf("%q, expected a number of bytes in %d..%d", s, least, most)
	}
	return n, nil
}
