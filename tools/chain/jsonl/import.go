package jsonl

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"

	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/tools/chain"
)

var le = binary.LittleEndian

// Importer reads JSON lines, also gzipped.
type Importer struct {
	// Table is the name of the table. Default "rows"; behind tables that are there, the only one beside the sources, if so.
	Table string
	// Columns are at least one; behind a table that is there, default those of its last source.
	Columns []Column
}

var _ chain.Importer = Importer{}

// Import appends a row for each line of files. o.MaxBlockBytes limits the length of a line.
func (im Importer) Import(ctx context.Context, files []chain.File, sink chain.Sink, o chain.ImportOptions) (chain.Report, error) {
	var last chain.Source
	var err error
	if o.After != nil {
		if last, err = im.behind(o.After); err != nil {
			return chain.Report{}, err
		}
	}
	table := chain.Table{Name: cmp.Or(im.Table, DefaultTable)}
	if table.Name == chain.SourcesTable {
		return chain.Report{}, fmt.Errorf("jsonl: the table's name %q is taken", table.Name)
	}
	if table.Schema, err = Schema(im.Columns); err != nil {
		return chain.Report{}, err
	}
	object, err := newObject(im.Columns)
	if err != nil {
		return chain.Report{}, err
	}
	tally := chain.NewTally(sink, o.After)
	for _, t := range []chain.Table{{Name: chain.SourcesTable, Schema: chain.SourcesSchema()}, table} {
		if err := tally.Create(t); err != nil {
			return chain.Report{}, err
		}
	}
	if err := chain.CheckSources(o, table.Name, last, nil); err != nil {
		return chain.Report{}, err
	}
	s := &scan{
		rows: tally.Next(table.Name), table: table.Name, sink: tally, object: object, meter: chain.FilesMeter(files, o.Progress),
		limit: min(cmp.Or(max(o.MaxBlockBytes, 0), chain.DefaultMaxBlockBytes), segment.MaxRowBytes),
	}
	report := chain.Report{Sources: []chain.Imported{}}
	for _, f := range files {
		source, err := s.file(ctx, f)
		if err != nil {
			return chain.Report{}, err
		}
		report.Sources = append(report.Sources, source)
		if err := tally.AppendSource(&source.Source); err != nil {
			return chain.Report{}, err
		}
	}
	s.meter.End()
	report.Tables = tally.Tables()
	return report, nil
}

// scan is an import under way.
type scan struct {
	table  string
	sink   *chain.Tally
	object *object
	meter  *chain.Meter
	limit  int
	rows   uint64 // number of the next row
	buf    []byte // of lines
	canon  canon
}

// file imports one file.
func (s *scan) file(ctx context.Context, f chain.File) (chain.Imported, error) {
	in, err := chain.OpenInput(ctx, f, chain.InputOptions{Gzip: true, Hash: true, Meter: s.meter})
	if err != nil {
		return chain.Imported{}, err
	}
	defer in.Close()
	l := &lines{in: in, limit: s.limit, buf: s.buf[:0]}
	x := extra{table: s.table, codecs: s.object.codecs}
	first := s.rows
	s.object.start()
	s.canon = canon{digest: sha256.New(), line: s.canon.line[:0]}
	for {
		line, newline, err := l.next()
		if err != nil {
			return chain.Imported{}, err
		}
		if line == nil {
			break
		}
		if bad := s.object.read(line); bad != nil {
			return chain.Imported{}, in.Fail(l.last+int64(bad.at), bad.want, bad.err)
		}
		if err := s.canon.add(s.object, line, newline); err != nil {
			return chain.Imported{}, err
		}
		if err := s.sink.Append(s.table, s.object.row); err != nil {
			return chain.Imported{}, err
		}
		if err := s.sink.Mark(); err != nil {
			return chain.Imported{}, err
		}
		s.rows++
		x.open = !newline
	}
	s.buf = l.buf
	end, err := in.End()
	if err != nil {
		return chain.Imported{}, err
	}
	x.gzip = end.Gzip
	done := chain.Imported{Restore: chain.Identical, Source: chain.Source{
		Name: chain.SourceName(f, end.Gzip), Format: Format, FirstBlock: first, Blocks: s.rows - first, Size: end.Size, SHA256: end.SHA256,
	}}
	if x.loose = s.canon.loose > 0; x.loose {
		s.canon.digest.Sum(x.digest[:0])
		done.Restore, done.Reason = chain.EqualContent, fmt.Sprintf("line %d is not in canonical form", s.canon.loose)
	} else if x.gzip {
		done.Restore, done.Reason = chain.EqualContent, reasonGzip
	}
	done.Source.Extra = x.append(nil)
	return done, nil
}

const reasonGzip = "the source was compressed by gzip"

// canon follows a file in its canonical form.
type canon struct {
	digest hash.Hash
	loose  int    // number of the first line that is not canonical, or 0
	line   []byte // a part of the line in canonical form
	rest   []byte // of the line as it is, where it was equal so far
	same   bool
}

var errInternal = errors.New("jsonl: a line that was read well cannot be written")

func (c *canon) add(o *object, line []byte, newline bool) error {
	c.rest, c.same = line, true
	var err error
	if c.line, err = appendLine(c.line[:0], o.codecs, o.row, c.take); err != nil {
		return fmt.Errorf("%w: %w", errInternal, err)
	}
	c.compare(c.line)
	if c.loose == 0 && (!c.same || len(c.rest) > 0) {
		c.loose = o.n
	}
	if newline {
		c.line = append(c.line, '\n')
	}
	c.digest.Write(c.line)
	return nil
}

// take compares and hashes a part of the line.
func (c *canon) take(b []byte) ([]byte, error) {
	c.compare(b)
	c.digest.Write(b)
	return b[:0], nil
}

func (c *canon) compare(b []byte) {
	if c.same = c.same && bytes.HasPrefix(c.rest, b); c.same {
		c.rest = c.rest[len(b):]
	}
}
