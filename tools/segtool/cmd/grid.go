package cmd

import (
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dustin/go-humanize"
)

// grid is a table of text. A head that starts with ">" makes its column flush
// right.
type grid struct {
	heads    []string
	headNote string // a line below the heads
	rows     []gridRow
}

// gridRow is cells, or a line of its own, or a rule.
type gridRow struct {
	cells []string
	note  string
}

func newGrid(heads ...string) *grid { return &grid{heads: heads} }

func (g *grid) add(cells ...string) {
	for i, c := range cells {
		cells[i] = shown(c) // before its width counts
	}
	g.rows = append(g.rows, gridRow{cells: cells})
}

// note adds a line that is not cut into columns.
func (g *grid) note(text string) { g.rows = append(g.rows, gridRow{note: text}) }

// rule adds a line, above a total.
func (g *grid) rule() { g.rows = append(g.rows, gridRow{}) }

// print prints the grid, each line after indent. A column that nothing is in is
// left out.
func (g *grid) print(a *app, indent string) {
	heads := make([]string, len(g.heads))
	for i, h := range g.heads {
		heads[i] = strings.TrimPrefix(h, ">")
	}
	width := g.widths(heads)
	total := -len(gap)
	for _, w := range width {
		if w > 0 {
			total += w + len(gap)
		}
	}
	if strings.Join(heads, "") != "" {
		a.printf("%s\n", g.line(indent, heads, width))
	}
	if g.headNote != "" {
		a.printf("%s%s\n", indent, g.headNote)
	}
	for _, r := range g.rows {
		switch {
		case r.note != "":
			a.printf("%s%s\n", indent, r.note)
		case r.cells == nil:
			a.printf("%s%s\n", indent, strings.Repeat("─", max(total, 0)))
		default:
			a.printf("%s\n", g.line(indent, r.cells, width))
		}
	}
}

const gap = "  "

func (g *grid) widths(heads []string) []int {
	width := make([]int, len(heads))
	for _, r := range g.rows {
		for i, c := range r.cells {
			if c != "" {
				width[i] = max(width[i], utf8.RuneCountInString(c), utf8.RuneCountInString(heads[i]))
			}
		}
	}
	return width
}

func (g *grid) line(indent string, cells []string, width []int) string {
	var b strings.Builder
	b.WriteString(indent)
	for i, c := range cells {
		if width[i] == 0 {
			continue
		}
		if b.Len() > len(indent) {
			b.WriteString(gap)
		}
		pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(c))
		if strings.HasPrefix(g.heads[i], ">") {
			b.WriteString(pad + c)
		} else {
			b.WriteString(c + pad)
		}
	}
	return strings.TrimRight(b.String(), " ")
}

// fields prints lines of a name and what it is, if anything.
func (a *app) fields(pairs ...string) {
	g := newGrid("", "")
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			g.add(pairs[i], pairs[i+1])
		}
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
func exact[T integer](n T) string {
	bytes := count(n) + " B"
	if short := size(n); short != bytes {
		return bytes + " (" + short + ")"
	}
	return bytes
}

// percent shows part of whole: 61.3 %; nothing where there is no whole.
func percent(part, whole float64) string {
	if whole == 0 {
		return ""
	}
	p := 100 * part / whole
	if math.Abs(p) < 0.05 {
		p = 0
	}
	if math.Abs(p) >= 1000 {
		return humanize.FormatFloat("#,###.", p) + " %"
	}
	return humanize.FormatFloat("#.#", p) + " %"
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
