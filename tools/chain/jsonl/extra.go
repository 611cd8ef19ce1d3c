package jsonl

import (
	"fmt"

	"github.com/segstore/segstore/codec/wire"
	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/tools/chain"
)

const (
	flagGzip  = 1
	flagOpen  = 2
	flagLoose = 4

	stylePrefix = 1
)

// extra is the source's extra record; see the package comment.
type extra struct {
	table  string
	gzip   bool
	open   bool // no newline after the last line
	loose  bool // not canonical
	digest chain.Sum
	codecs []codec // only field and prefix are in the record
}

func (x *extra) append(dst []byte) []byte {
	dst = wire.AppendString(dst, x.table)
	flags := bit(x.gzip, flagGzip) | bit(x.open, flagOpen) | bit(x.loose, flagLoose)
	if dst = append(dst, flags); x.loose {
		dst = append(dst, x.digest[:]...)
	}
	dst = wire.AppendUvarint(dst, uint64(len(x.codecs)))
	for _, c := range x.codecs {
		dst = wire.AppendString(dst, c.field)
		dst = append(dst, bit(c.prefix, stylePrefix))
	}
	return dst
}

func bit(on bool, b byte) byte {
	if on {
		return b
	}
	return 0
}

// parseExtra reads a record; the columns come from the schema of the table that it names.
func parseExtra(record []byte, tables []chain.Table) (extra, error) {
	var x extra
	c := wire.NewCursor(record)
	x.table = c.String(segment.MaxNameBytes)
	flags := c.Uint8()
	x.gzip, x.open, x.loose = flags&flagGzip != 0, flags&flagOpen != 0, flags&flagLoose != 0
	if x.loose {
		copy(x.digest[:], c.Raw(len(x.digest)))
	}
	n := c.Count(segment.MaxColumns, 2)
	fields, styles := make([]string, n), make([]byte, n)
	for i := range n {
		fields[i], styles[i] = c.String(MaxFieldBytes), c.Uint8()
	}
	if err := c.Close(); err != nil {
		return extra{}, fmt.Errorf("jsonl: extra record: %w", err)
	}
	for _, t := range tables {
		if t.Name != x.table {
			continue
		}
		columns, err := columnsOf(t.Schema, fields)
		if err != nil {
			return extra{}, fmt.Errorf("%w: table %q: %w", chain.ErrCannotExport, x.table, err)
		}
		x.codecs, err = newCodecs(columns)
		for i := range x.codecs {
			x.codecs[i].prefix = styles[i]&stylePrefix != 0
		}
		return x, err
	}
	return extra{}, fmt.Errorf("%w: there is no table %q", chain.ErrCannotExport, x.table)
}
