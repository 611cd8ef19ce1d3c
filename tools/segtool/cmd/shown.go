package cmd

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// shown returns s as a terminal can show it: what is not printable, and so could move its cursor or worse, becomes an
// escape as in Go's strings. All text that is printed but by --json goes through it: names come from files.
func shown(s string) string {
	clean := true
	for _, r := range s {
		clean = clean && r != utf8.RuneError && strconv.IsPrint(r)
	}
	if clean {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case strconv.IsPrint(r):
			b.WriteString(s[:n])
		default:
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
		s = s[n:]
	}
	return b.String()
}

// text is a string that is printed as shown returns it; %q has its own way.
type text string

var _ fmt.Formatter = text("")

// Format prints the text.
func (t text) Format(s fmt.State, verb rune) {
	plain := string(t)
	if verb != 'q' {
		plain = shown(plain)
	}
	fmt.Fprintf(s, fmt.FormatString(s, verb), plain)
}

// printf prints to stdout. The format may have newlines and tabs, what it shows has none.
func (a *app) printf(format string, args ...any) {
	for i, arg := range args {
		switch v := arg.(type) {
		case string:
			args[i] = text(v)
		case error:
			args[i] = text(v.Error())
		case fmt.Stringer:
			args[i] = text(v.String())
		}
	}
	fmt.Fprintf(a.stdout, format, args...)
}

// lines prints a text of lines.
func (a *app) lines(indent, s string) {
	for line := range strings.Lines(s) {
		a.printf("%s%s\n", indent, strings.TrimRight(line, "\n"))
	}
}
