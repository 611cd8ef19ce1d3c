package cmd

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dustin/go-humanize"
)

// grid is a table of text. A head that starts with ">" makes its column flush
// right.
type grid struct {
	heads []string
	rows  [][]string
}

func newGrid(heads ...string) *grid { return &grid{heads: heads} }

func (g *grid) add(cells ...string) { g.rows = append(g.rows, cells) }

// rule adds a line, above a total.
func (g *grid) rule() { g.rows = append(g.rows, nil) }

// print prints the grid, each line after indent.
func (g *grid) print(a *app, indent string) {
	width := make([]int, len(g.heads))
	heads := make([]string, len(g.heads))
	for i, h := range g.heads {
		heads[i] = strings.TrimPrefix(h, ">")
		width[i] = utf8.RuneCountInString(heads[i])
	}
	for _, r := range g.rows {
		for i, c := range r {
			width[i] = max(width[i], utf8.RuneCountInString(c))
		}
	}
	total := 0
	for i, w := range width {
		if w > 0 {
			total += w
			if i > 0 {
				total += 2
			}
		}
	}
	line := func(cells []string) {
		var b strings.Builder
		for i, c := range cells {
			if width[i] == 0 {
				continue // a column that nothing is in
			}
			if b.Len() > 0 {
				b.WriteString("  ")
			}
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(c))
			if strings.HasPrefix(g.heads[i], ">") {
				b.WriteString(pad + c)
			} else {
				b.WriteString(c + pad)
			}
		}
		a.printf("%s\n", strings.TrimRight(indent+b.String(), " "))
	}
	if strings.Join(heads, "") != "" {
		line(heads)
	}
	for _, r := range g.rows {
		if r == nil {
			a.printf("%s%s\n", indent, strings.Repeat("─", total))
			continue
		}
		line(r)
	}
}

// fields prints lines of a name and what it is.
func (a *app) fields(pairs ...string) {
	g := newGrid("", "")
	for i := 0; i+1 < len(pairs); i += 2 {
		g.add(pairs[i], pairs[i+1])
	}
	g.print(a, "")
}

type integer interface {
	~int | ~int64 | ~uint64
}

// count shows a number: 1,234,567.
func count[T integer](n T) string { return humanize.Comma(int64(n)) }

// size shows a number of bytes: 1.2 MiB.
func size[T integer](n T) string { return humanize.IBytes(uint64(max(n, 0))) }

// exact shows a number of bytes both ways.
func exact[T integer](n T) string { return count(n) + " B (" + size(n) + ")" }

// percent shows part of whole: 61.3 %.
func percent(part, whole float64) string {
	if whole == 0 {
		return ""
	}
	return humanize.FormatFloat("#.#", 100*part/whole) + " %"
}

// signed shows a difference: +1,234, -1,234, or 0.
func signed(n int64) string {
	if n > 0 {
		return "+" + count(n)
	}
	return count(n)
}

// seconds shows a time in three digits: 1.23 s, 45.6 ms.
func seconds(d time.Duration) string {
	switch {
	case d >= time.Minute:
		return d.Round(time.Second).String()
	case d >= time.Second:
		return digits(d.Seconds()) + " s"
	case d >= time.Millisecond:
		return digits(d.Seconds()*1e3) + " ms"
	}
	return digits(d.Seconds()*1e6) + " µs"
}

// digits shows three digits of a number below a thousand.
func digits(v float64) string {
	switch {
	case v == 0:
		return "0"
	case v >= 99.95:
		return humanize.FormatFloat("#,###.", v)
	case v >= 9.995:
		return humanize.FormatFloat("#.#", v)
	}
	return humanize.FormatFloat("#.##", v)
}

// rate shows a speed in MB/s (10⁶ bytes), or nothing where none was measured.
func rate[T integer](bytes T, d time.Duration) string {
	if bytes <= 0 || d <= 0 {
		return ""
	}
	return digits(float64(bytes)/1e6/d.Seconds()) + " MB/s"
}
