package segment

import (
	"context"
	"fmt"
	"io"
	"iter"

	"github.com/segstore/segstore/codec"
)

// Source is rows that can be read more than once. A Reader is one.
type Source interface {
	FirstRow() uint64 // number of the first row
	EndRow() uint64   // one past the number of the last row

	// RawBytes returns the bytes of all values.
	RawBytes() uint64

	// Rows yields the rows from number from to the last, as Reader.Rows does.
	Rows(from uint64, columns ...string) iter.Seq2[Row, error]
}

var _ Source = (*Reader)(nil)

// Write writes all rows of src to w as a segment. Unlike a Writer, which sees rows
// once, it trains dictionaries on them first, where the policy wants them and
// Dictionaries brings none; the second result says what came of that. FirstRow is
// that of src. The bytes are those that Recompress makes of the same rows under the
// same policy. Memory is that of a Writer; and up to 16 MiB and the trainer's while
// dictionaries are trained.
func Write(ctx context.Context, w io.Writer, src Source, o WriterOptions) (Info, []DictionaryReport, error) {
	o.FirstRow, o.Context = src.FirstRow(), ctx
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return Info{}, nil, err
	}
	chosen, err := o.byBlock()
	if err != nil {
		return Info{}, nil, err
	}
	rep := &Report{}
	if len(chosen) == 0 {
		if chosen, err = train(ctx, src, o.Schema, o.Policy, o.Encodings, rep); err != nil {
			return Info{}, nil, err
		}
	}
	wr, err := newWriter(w, o, chosen, rep.trials())
	if err != nil {
		return Info{}, nil, err
	}
	defer wr.Abort()
	for row, err := range src.Rows(o.FirstRow) {
		if err == nil {
			err = wr.Append(row)
		}
		if err != nil {
			return Info{}, nil, err
		}
	}
	if want := src.EndRow() - o.FirstRow; wr.Rows() != want {
		return Info{}, nil, fmt.Errorf("segment: source gave %d rows from %d, it has %d", wr.Rows(), o.FirstRow, want)
	}
	info, err := wr.Finish()
	return info, rep.Dictionaries, err
}

// takeRun reads rows from number from on until they hold target bytes.
func takeRun(src Source, values []codec.Values, from uint64, target int) (size int, err error) {
	for i := range values {
		values[i].Reset()
	}
	for row, err := range src.Rows(from) {
		if err != nil {
			return size, err
		}
		for i, v := range row {
			values[i].Append(v)
			size += len(v)
		}
		if size >= target || values[0].Len() == chunkRows(len(values)) {
			break
		}
	}
	return size, nil
}
