package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/segstore/segstore/codec"
	"github.com/segstore/segstore/segment"
)

// TableSpec is a table to be made.
type TableSpec struct {
	Name     string
	Schema   segment.Schema
	FirstRow uint64       // number of its first row
	Policy   codec.Policy // default CreateOptions.Policy
}

// CreateOptions says how an archive is built. The zero value means defaults.
type CreateOptions struct {
	// Policy is that of tables which bring none. Default: the profile "balanced".
	Policy codec.Policy

	// Encodings are encodings beside those of package codec.
	Encodings []codec.Encoding

	// Workers is how many goroutines encode. The files do not depend on it. Default
	// GOMAXPROCS.
	Workers int

	// SegmentBytes is how many bytes of values a segment gets before the next one
	// begins. Default 512 MiB.
	SegmentBytes int64

	// Logger is told what happens beside the calls' results. Default: nobody.
	Logger *slog.Logger

	// ChainID is free text for the manifest: what the rows are of. At most 256 bytes.
	ChainID string

	// Context ends the work early; default context.Background().
	Context context.Context

	// Progress, if not nil, is called now and then while a segment is sealed, from
	// one goroutine.
	Progress func(Progress)
}

const (
	defaultSegmentBytes = 512 << 20
	maxSegmentTarget    = 1 << 40
)

func (o CreateOptions) withDefaults() CreateOptions {
	if len(o.Policy.Rules) == 0 {
		o.Policy, _ = codec.Profile(codec.DefaultProfile) // the name is a constant of codec
	}
	o.Workers = cmp.Or(o.Workers, runtime.GOMAXPROCS(0))
	o.SegmentBytes = cmp.Or(o.SegmentBytes, defaultSegmentBytes)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	if o.Context == nil {
		o.Context = context.Background()
	}
	return o
}

func (o CreateOptions) validate() error {
	switch {
	case o.Workers < 1 || o.Workers > maxWorkers:
		return fmt.Errorf("archive: Workers %d not in 1..%d", o.Workers, maxWorkers)
	case o.SegmentBytes < 1 || o.SegmentBytes > maxSegmentTarget:
		return fmt.Errorf("archive: SegmentBytes %d not in 1..%d", o.SegmentBytes, int64(maxSegmentTarget))
	case len(o.ChainID) > maxChainID:
		return fmt.Errorf("archive: ChainID of %d bytes, at most %d", len(o.ChainID), maxChainID)
	}
	return o.Policy.Validate()
}

// Builder builds a whole archive in bulk. One goroutine may use it. After the
// first error, but for a table or row that is refused, it is dead: every call
// returns that error.
//
// Memory is what segment.Writer takes for each table that gets rows at the same
// time, and what segment.Recompress takes for one.
type Builder struct {
	o      CreateOptions
	s      *staging
	tables []*tableBuilder
	err    error
}

// Create starts an archive that will be dir. Everything is written beside dir,
// into a directory that Finish renames: until then there is no dir, whatever
// happens. What killed builders of the same dir have left is removed.
//
// Call Finish or Abort. ErrExists where dir exists, as whatever it may be, also a
// link that leads nowhere; Finish returns it where another process has made dir
// meanwhile. Only an empty directory that is made in the instant in which Finish
// gives its own the name is replaced.
func Create(fs vfs.FS, dir string, o CreateOptions) (*Builder, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	s, err := stage(fs, dir, o.Logger, o.Encodings)
	if err != nil {
		return nil, err
	}
	s.m.chainID = o.ChainID
	return &Builder{o: o, s: s}, nil
}

// Create makes a table, which may stay without rows.
func (b *Builder) Create(t TableSpec) error {
	if b.err != nil {
		return b.err
	}
	if len(t.Policy.Rules) == 0 {
		t.Policy = b.o.Policy
	}
	e, err := t.entry()
	if err != nil {
		return err
	}
	for _, have := range b.tables {
		if have.spec.Name == t.Name {
			return fmt.Errorf("%w: table %q", ErrExists, t.Name)
		}
	}
	n, err := b.s.addTable(e)
	if err != nil {
		return b.die(err)
	}
	b.tables = append(b.tables, newTableBuilder(b, n, t))
	return nil
}

// Append adds the next row of a table. The values are copied. A row that does not
// fit the schema, or an unknown table, is an error that leaves the Builder alive.
func (b *Builder) Append(table string, row segment.Row) error {
	if b.err != nil {
		return b.err
	}
	for _, t := range b.tables { // a handful
		if t.spec.Name == table {
			return t.append(row)
		}
	}
	return fmt.Errorf("%w: %q", ErrNoTable, table)
}

func (b *Builder) die(err error) error {
	b.err = err
	return err
}

// Finish seals what is left and gives the archive its name. When it returns
// without an error, all of it is durable.
func (b *Builder) Finish(ctx context.Context) (Info, error) {
	if b.err != nil {
		return Info{}, b.err
	}
	for _, t := range b.tables {
		if err := t.seal(ctx); err != nil {
			return Info{}, b.die(err)
		}
	}
	if err := ctx.Err(); err != nil {
		return Info{}, b.die(err)
	}
	i, err := b.s.finish()
	if err != nil {
		return Info{}, b.die(err)
	}
	b.err = ErrClosed
	return i, nil
}

// Abort ends the Builder and removes what it has written. After Finish without an
// error it does nothing.
func (b *Builder) Abort() error {
	if b.s.done {
		return nil
	}
	var err error
	for _, t := range b.tables {
		err = errors.Join(err, t.abort())
	}
	if b.err == nil {
		b.err = ErrClosed
	}
	return errors.Join(err, b.s.abort())
}
