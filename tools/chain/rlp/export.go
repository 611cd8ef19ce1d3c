package rlp

import (
	"context"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/segstore/segstore/tools/chain"
	"github.com/segstore/segstore/tools/chain/ethereum"
)

// Exporter writes streams of blocks. With the form Auto, each source in its own form, and one of another format (era1) with
// its receipts.
type Exporter struct {
	Form ethereum.Form
}

var _ chain.Exporter = Exporter{}

// Export writes a stream for each source of Ethereum blocks. A source of another form than the one asked for gets the name of
// the source with the extension .rlp or .rlps. From geth's form, which has no receipts, rlps cannot be written.
func (ex Exporter) Export(ctx context.Context, v chain.View, out chain.Output, o chain.ExportOptions) (chain.ExportReport, error) {
	hasReceipts := ethereum.HasReceipts(v)
	return chain.ExportSources(ctx, v, out, o, func(s chain.Source) (chain.Job, error) {
		var x extra
		own, err := sourceForm(s, &x)
		if err != nil {
			return chain.Job{}, err
		}
		form := ex.Form
		if form == ethereum.Auto {
			form = own
		}
		if form == ethereum.RLPS && (own == ethereum.Geth || !hasReceipts) {
			return chain.Job{}, fmt.Errorf("%w: rlps: %s has no receipts", chain.ErrCannotExport, s.Name)
		}
		job := chain.Job{Format: form.String(), Name: s.Name}
		if s.Format != job.Format {
			job.Name = strings.TrimSuffix(s.Name, path.Ext(s.Name)) + extension(form)
		}
		job.Write = func(ctx context.Context, w io.Writer) (chain.Outcome, error) {
			err := write(v, s, form, w)
			if x.gzip {
				return chain.Outcome{Recoded: true, Reason: x.reason()}, err
			}
			return chain.Outcome{}, err
		}
		return job, nil
	})
}

func extension(f ethereum.Form) string {
	if f == ethereum.RLPS {
		return ".rlps"
	}
	return ".rlp"
}

// sourceForm returns the form that a source has, or would have with all that is known of it.
func sourceForm(s chain.Source, x *extra) (ethereum.Form, error) {
	switch s.Format {
	case ethereum.Geth.String():
		return ethereum.Geth, x.parse(s.Extra)
	case ethereum.RLPS.String():
		return ethereum.RLPS, x.parse(s.Extra)
	case ethereum.FormatEra1:
		return ethereum.RLPS, nil
	}
	return 0, fmt.Errorf("%w: rlp: %s is %s, not a file of Ethereum blocks", chain.ErrCannotExport, s.Name, s.Format)
}

func write(v chain.View, s chain.Source, form ethereum.Form, w io.Writer) error {
	var buf []byte
	for b, err := range ethereum.Blocks(v, s.FirstBlock, s.Blocks, form == ethereum.RLPS) {
		if err != nil {
			return err
		}
		if form == ethereum.RLPS {
			buf = b.AppendRLPS(buf[:0])
		} else {
			buf = b.AppendGeth(buf[:0])
		}
		if _, err := w.Write(buf); err != nil {
			return err
		}
	}
	return nil
}
