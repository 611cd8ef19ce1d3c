package codec

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// Levels of zstd, by zstd's own numbers.
const (
	MinLevel     = -7
	MaxLevel     = 22
	DefaultLevel = 3
)

// minBestLevel is the lowest level whose encoder is "best", which takes no dictionary.
const minBestLevel = 10

// Spec says what a block is written with. Its text is "raw", "s2", "zstd:N" or
// "zstd:N+dict" with N in MinLevel..MaxLevel.
type Spec struct {
	ID    ID
	Level int  // zstd only: MinLevel..MaxLevel; 0 means DefaultLevel. Else 0
	Dict  bool // zstd only: with a dictionary
}

// ParseSpec reads the text of a Spec. "zstd" and "zstd:0" mean "zstd:3".
func ParseSpec(text string) (Spec, error) {
	s, err := parseSpec(text)
	if err != nil {
		return Spec{}, fmt.Errorf("codec: %w", err)
	}
	return s, nil
}

func parseSpec(text string) (Spec, error) {
	name, withDict := strings.CutSuffix(text, "+dict")
	name, number, hasLevel := strings.Cut(name, ":")
	s := Spec{Dict: withDict}
	switch name {
	case "raw":
		s.ID = Raw
	case "s2":
		s.ID = S2
	case "zstd":
		s.ID = Zstd
	default:
		return Spec{}, fmt.Errorf("spec %q: expected raw, s2, zstd:N or zstd:N+dict", text)
	}
	if hasLevel {
		n, err := strconv.Atoi(number)
		if s.ID != Zstd {
			return Spec{}, fmt.Errorf("spec %q: %s has no levels", text, s.ID)
		}
		if err != nil || strconv.Itoa(n) != number { // one text a level: neither "+3" nor "03"
			return Spec{}, fmt.Errorf("spec %q: level %q is not a number in %d..%d", text, number, MinLevel, MaxLevel)
		}
		s.Level = n
	}
	s = s.normal()
	return s, s.check()
}

func (s Spec) normal() Spec {
	if s.ID == Zstd && s.Level == 0 {
		s.Level = DefaultLevel
	}
	return s
}

// Validate checks that the spec means something.
func (s Spec) Validate() error {
	if err := s.check(); err != nil {
		return fmt.Errorf("codec: %w", err)
	}
	return nil
}

// check is Validate without the package's name, for messages that have it already.
func (s Spec) check() error {
	switch {
	case s.ID > Zstd:
		return fmt.Errorf("unknown %s", s.ID)
	case s.ID != Zstd && s.Level != 0:
		return fmt.Errorf("%s has no levels, got %d", s.ID, s.Level)
	case s.ID != Zstd && s.Dict:
		return fmt.Errorf("%s takes no dictionary", s.ID)
	case s.ID == Zstd && (s.Level < MinLevel || s.Level > MaxLevel):
		return fmt.Errorf("zstd level %d not in %d..%d", s.Level, MinLevel, MaxLevel)
	}
	return nil
}

// String returns the text of the spec, which ParseSpec reads.
func (s Spec) String() string {
	s = s.normal()
	text := s.ID.String()
	if s.ID == Zstd {
		text += ":" + strconv.Itoa(s.Level)
	}
	if s.Dict {
		text += "+dict"
	}
	return text
}

// MarshalText returns the text of the spec.
func (s Spec) MarshalText() ([]byte, error) {
	if err := s.normal().Validate(); err != nil {
		return nil, err
	}
	return []byte(s.String()), nil
}

// UnmarshalText reads the text of a spec.
func (s *Spec) UnmarshalText(text []byte) error {
	p, err := ParseSpec(string(text))
	if err != nil {
		return err
	}
	*s = p
	return nil
}

// WithLevel returns the spec at another level, where 0 means DefaultLevel; raw
// and s2 have no level and are returned as they are.
func (s Spec) WithLevel(n int) Spec {
	if s.ID == Zstd {
		s.Level = n
	}
	return s.normal()
}

// Encoder returns the level of the encoder that the spec gets: "fastest",
// "default", "better" or "best" for zstd, "s2" for s2, empty for raw.
func (s Spec) Encoder() string {
	switch s.ID {
	case Zstd:
		return zstd.EncoderLevelFromZstd(s.normal().Level).String()
	case S2:
		return "s2"
	}
	return ""
}

// TakesDict reports whether the spec's encoder can use a dictionary in
// reasonable time: zstd below level 10. New refuses a dictionary otherwise.
func (s Spec) TakesDict() bool { return s.ID == Zstd && s.Level < minBestLevel }
