package cmd

import (
	"strings"

	"github.com/segstore/segstore/segment/archive"
)

const barWidth = 30

// bars prints a line a column: what is stored as a part of a bar that stands for the
// raw bytes. Small columns, whose heads and checksums are all there is to see, are
// left out.
func (a *app) bars(list []archive.TableStats) {
	g := newGrid("table", "column", ">raw", ">stored", ">% of raw", "")
	small := 0
	for _, t := range list {
		name := t.Table
		for _, c := range t.Columns {
			if c.RawBytes < 1<<10 {
				small++
				continue
			}
			part := float64(c.StoredBytes) / float64(c.RawBytes)
			g.add(name, c.Column, size(c.RawBytes), size(c.StoredBytes), percent(part, 1), bar(part))
			name = ""
		}
	}
	g.print(a, "")
	if small > 0 {
		a.printf("and %s of less than 1 KiB\n", plural(small, "column"))
	}
}

// bar shows a part of one; more than one fills it.
func bar(part float64) string {
	n := min(int(part*barWidth+0.5), barWidth)
	return strings.Repeat("█", n) + strings.Repeat("░", barWidth-n)
}
