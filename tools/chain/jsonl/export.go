package jsonl

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"

	"github.com/segstore/segstore/tools/chain"
)

// Exporter writes the files back that an Importer has read, as canonical JSON lines.
type Exporter struct{}

var _ chain.Exporter = Exporter{}

// Export writes a file for each source that o selects. A source of another format is an error.
func (Exporter) Export(ctx context.Context, v chain.View, out chain.Output, o chain.ExportOptions) (chain.ExportReport, error) {
	tables := v.Tables()
	return chain.ExportSources(ctx, v, out, o, func(s chain.Source) (chain.Job, error) {
		if s.Format != Format {
			return chain.Job{}, fmt.Errorf("export of %s: %w: it is of format %q, not JSON lines", s.Name, chain.ErrCannotExport, s.Format)
		}
		x, err := parseExtra(s.Extra, tables)
		if err != nil {
			return chain.Job{}, fmt.Errorf("export of %s: %w", s.Name, err)
		}
		return chain.Job{Format: Format, Name: s.Name, Write: func(_ context.Context, w io.Writer) (chain.Outcome, error) {
			return x.write(w, v, s)
		}}, nil
	})
}

// write writes the rows of one source.
func (x *extra) write(w io.Writer, v chain.View, s chain.Source) (chain.Outcome, error) {
	digest := sha256.New()
	if x.loose {
		w = io.MultiWriter(w, digest)
	}
	names := make([]string, len(x.codecs))
	for i, c := range x.codecs {
		names[i] = c.Name
	}
	if err := x.rows(w, v, s, names); err != nil {
		return chain.Outcome{}, err
	}
	outcome := chain.Outcome{Recoded: x.gzip}
	if x.loose {
		outcome.Equal = chain.Sum(digest.Sum(nil)) == x.digest
		outcome.Reason = "the source was not in canonical form"
	} else if x.gzip {
		outcome.Reason = reasonGzip
	}
	return outcome, nil
}

func (x *extra) rows(w io.Writer, v chain.View, s chain.Source, names []string) error {
	left := s.Blocks
	if left == 0 {
		return nil
	}
	var line []byte
	full := func(b []byte) ([]byte, error) {
		_, err := w.Write(b)
		return b[:0], err
	}
	for row, err := range v.Scan(x.table, s.FirstBlock, names...) {
		if err != nil {
			return err
		}
		if line, err = appendLine(line[:0], x.codecs, row, full); err != nil {
			return fmt.Errorf("jsonl: row %d: %w", s.FirstBlock+s.Blocks-left, err)
		}
		if left--; left > 0 || !x.open {
			line = append(line, '\n')
		}
		if _, err := w.Write(line); err != nil {
			return err
		}
		if left == 0 {
			return nil
		}
	}
	return fmt.Errorf("jsonl: the table %s ends %d rows before the source does", x.table, left)
}
