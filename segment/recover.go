package segment

import (
	"context"
	"errors"
	"io"
	"iter"

	"github.com/segstore/segstore/codec"
)

// RecoverOptions says how a damaged segment is read. The zero value means defaults.
type RecoverOptions struct {
	Name      string           // put into errors, as the file's name
	Encodings []codec.Encoding // beside those of package codec

	// MaxBlockBytes is as in ReaderOptions.
	MaxBlockBytes int
}

// Damaged reads what is left of a damaged segment: one whose footer or directory
// is lost, chunk by chunk as their frames are found; else by the directory. It
// needs header or footer, and schema, layout and dictionaries in the front
// records or in the directory. One goroutine may use it.
type Damaged struct {
	a     *anatomy
	f     *front
	flaws []Flaw
	o     RecoverOptions
}

// Recover opens a damaged segment, that r holds in its first size bytes, as far as
// it can be understood. A *CorruptionError says that nothing can.
func Recover(r io.ReaderAt, size int64, o RecoverOptions) (*Damaged, error) {
	d := &Damaged{o: o}
	a, err := dissect(r, size, o.Encodings, func(f *Flaw) {
		f.File = o.Name
		d.flaws = append(d.flaws, *f)
	})
	if err != nil {
		return nil, named(err, o.Name)
	}
	d.a = a
	if a.header == nil && a.footer == nil {
		return nil, inFile(damage(SectionFile, 0, size, errors.New("neither header nor footer can be read: not a segment, or nothing left to go by")), o.Name)
	}
	if d.f, err = a.understood(); err != nil {
		return nil, inFile(damage(SectionFile, 0, size, err), o.Name)
	}
	if _, err := d.decoder(); err != nil {
		return nil, named(err, o.Name)
	}
	return d, nil
}

func (d *Damaged) decoder() (*chunkDecoder, error) {
	return newChunkDecoder(d.a, d.f, d.o.Encodings, d.o.MaxBlockBytes, 1)
}

// Flaws returns what is wrong with all but the chunks.
func (d *Damaged) Flaws() []Flaw { return d.flaws }

// Table returns the table's name.
func (d *Damaged) Table() string { return d.f.table }

// Schema returns the columns; they must not be changed.
func (d *Damaged) Schema() Schema { return d.f.schema }

// FirstRow returns the number of the segment's first row, lost or not.
func (d *Damaged) FirstRow() uint64 { return d.a.firstRow() }

// Policy returns the policy that the segment was written under, where the
// directory still says it.
func (d *Damaged) Policy() (p codec.Policy, ok bool) {
	if d.a.directory == nil {
		return p, false
	}
	p, err := codec.ParsePolicy(d.a.directory.policy)
	return p, err == nil
}

// Numbered is a row with its number.
type Numbered struct {
	N   uint64
	Row Row
}

// Rows yields every row that can be read, in order. What cannot be read is yielded
// in its place as (zero, *CorruptionError), and the iteration goes on; any other
// error (I/O, ctx) ends it. A row is valid until the next step. Where the end of
// the file is lost nothing says how many rows there were.
func (d *Damaged) Rows(ctx context.Context) iter.Seq2[Numbered, error] {
	return func(yield func(Numbered, error) bool) {
		v := &verifier{o: VerifyOptions{Name: d.o.Name}}
		v.yield = func(f Flaw, _ error) bool { return yield(Numbered{}, &f) }
		c, err := d.decoder()
		if err != nil {
			yield(Numbered{}, named(err, d.o.Name))
			return
		}
		k := &checker{a: d.a, decoder: c}
		row := make(Row, len(c.columns))
		err = d.a.walk(c.coder.blocks, v.flaw, func(p piece) (bool, error) {
			if err := ctx.Err(); err != nil {
				return false, err
			}
			if !k.decode(&p) {
				more := v.flaw(k.flaws[0])
				k.flaws = k.flaws[:0]
				return more, nil
			}
			for n := range p.frame.rows {
				for i := range row {
					row[i] = c.columns[i].values.At(n)
				}
				if !yield(Numbered{p.frame.first + uint64(n), row}, nil) {
					v.stopped = true
					return false, nil
				}
			}
			return true, nil
		})
		if err != nil && !v.stopped {
			yield(Numbered{}, named(err, d.o.Name))
		}
	}
}
