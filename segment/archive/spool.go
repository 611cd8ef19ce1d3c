package archive

import (
	"context"
	"errors"
	"slices"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/segstore/segstore/codec"
	"github.com/segstore/segstore/segment"
)

// spoolPolicy is what rows wait under until all of a segment are there and
// dictionaries can be trained on them: fast, and forgotten afterwards.
const spoolPolicy = "chunk 262144\n* group=column codec=s2\n"

// writerMemory is about how much the Writer of one table may hold.
const writerMemory = 64 << 20

// tableBuilder writes one table's segments, one after another. Where the policy
// wants dictionaries, rows go into a spool first: a segment that is recompressed
// under the policy when it is full.
type tableBuilder struct {
	b     *Builder
	n     int // number of the table
	spec  TableSpec
	spool bool

	next uint64 // row number
	raw  int64  // bytes of values in the current segment
	w    *segment.Writer
	d    *draft
}

func newTableBuilder(b *Builder, n int, t TableSpec) *tableBuilder {
	return &tableBuilder{
		b: b, n: n, spec: t, next: t.FirstRow,
		spool: slices.ContainsFunc(t.Policy.Rules, func(r codec.Rule) bool { return r.Spec.Dict }),
	}
}

func (t *tableBuilder) append(row segment.Row) error {
	if t.w == nil {
		if err := t.start(); err != nil {
			return t.b.die(err)
		}
	}
	if err := t.w.Append(row); err != nil {
		return err // of the row, or of the Writer, which is dead then and says so again
	}
	t.next++
	for _, v := range row {
		t.raw += int64(len(v))
	}
	if t.raw < t.b.o.SegmentBytes {
		return nil
	}
	if err := t.seal(t.b.o.Context); err != nil {
		return t.b.die(err)
	}
	return nil
}

// start begins a segment, or a spool.
func (t *tableBuilder) start() error {
	d, err := t.b.s.draft(t.spec.Name)
	if err != nil {
		return err
	}
	p := t.spec.Policy
	if t.spool {
		if p, err = codec.ParsePolicy(spoolPolicy); err != nil {
			return errors.Join(err, d.discard())
		}
	}
	w, err := segment.NewWriter(d, segment.WriterOptions{
		Table: t.spec.Name, Schema: t.spec.Schema, FirstRow: t.next, Policy: p,
		Encodings: t.b.o.Encodings, Workers: writers(t.b.o.Workers, p.ChunkBytes), Context: t.b.o.Context,
	})
	if err != nil {
		return errors.Join(err, d.discard())
	}
	t.w, t.d, t.raw = w, d, 0
	return nil
}

// writers returns how many goroutines may encode chunks of so many bytes, of
// which a Writer holds up to two for each, in five forms.
func writers(most, chunk int) int { return max(1, min(most, writerMemory/(10*chunk))) }

// seal ends the segment and publishes it; nothing where it has no rows.
func (t *tableBuilder) seal(ctx context.Context) error {
	if t.w == nil || t.w.Rows() == 0 {
		return t.abort()
	}
	info, err := t.w.Finish()
	if err != nil {
		return err
	}
	t.w = nil
	if t.spool {
		if info, err = t.respool(ctx, info); err != nil {
			return err
		}
	}
	t.progress(Progress{Stage: StageVerify, Rows: info.Rows, SegmentRows: info.Rows})
	if err := t.b.s.add(ctx, t.n, t.d, info, nil); err != nil {
		return err
	}
	t.d = nil
	t.b.o.Logger.Debug("segment sealed", "table", t.spec.Name, "first_row", info.FirstRow, "rows", info.Rows, "stored_bytes", info.StoredBytes)
	return nil
}

// respool recompresses the spool under the table's policy into another draft,
// which takes its place.
func (t *tableBuilder) respool(ctx context.Context, spooled segment.Info) (info segment.Info, err error) {
	spool := t.d
	err = ioError("closing", spool.path, spool.f.Close())
	spool.f = nil
	if err != nil {
		return info, err
	}
	f, size, err := openRead(t.b.s.fs, spool.path)
	if err != nil {
		return info, err
	}
	d, info, err := t.recompress(ctx, f, size, spooled)
	if err = errors.Join(err, ioError("closing", spool.path, f.Close())); err != nil {
		if d != nil {
			err = errors.Join(err, d.discard())
		}
		return info, err
	}
	t.d = d
	return info, spool.discard()
}

func (t *tableBuilder) recompress(ctx context.Context, f vfs.File, size int64, spooled segment.Info) (*draft, segment.Info, error) {
	o := segment.RecompressOptions{
		Policy: t.spec.Policy, Encodings: t.b.o.Encodings, Workers: writers(t.b.o.Workers, t.spec.Policy.ChunkBytes),
		Progress: func(rows uint64) {
			t.progress(Progress{Stage: StageEncode, Rows: rows, SegmentRows: spooled.Rows})
		},
	}
	r, err := segment.NewReader(f, size, segment.ReaderOptions{Name: t.d.path, Encodings: o.Encodings, Concurrency: o.Workers})
	if err != nil {
		return nil, segment.Info{}, err
	}
	d, err := t.b.s.draft(t.spec.Name)
	if err != nil {
		return nil, segment.Info{}, err
	}
	rep, err := segment.Recompress(ctx, d, r, o)
	if err != nil {
		return d, segment.Info{}, err
	}
	return d, written(rep, t.spec.Schema), nil
}

// written returns what a report says of the segment that was written.
func written(rep *segment.Report, s segment.Schema) segment.Info {
	return segment.Info{
		Table: rep.Table, Schema: s, FirstRow: rep.FirstRow, Rows: rep.Rows, Chunks: rep.After.Chunks, RawBytes: rep.RawBytes,
		StoredBytes: rep.After.StoredBytes, ID: rep.After.ID, ContentRoot: rep.ContentRoot, Checksum: rep.After.Checksum,
		Policy: rep.After.Policy, Encoder: rep.After.Encoder,
	}
}

func (t *tableBuilder) progress(p Progress) {
	if t.b.o.Progress == nil {
		return
	}
	p.Table = t.spec.Name
	t.b.o.Progress(p)
}

// abort ends the Writer and closes the file. It removes it, too.
func (t *tableBuilder) abort() error {
	if t.w != nil {
		t.w.Abort()
		t.w = nil
	}
	if t.d == nil {
		return nil
	}
	d := t.d
	t.d = nil
	return d.discard()
}
