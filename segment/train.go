package segment

import (
	"context"
	"fmt"
	"time"

	"github.com/segstore/segstore/codec"
	"github.com/segstore/segstore/dict"
)

// maxSample is the most bytes of rows that dictionaries are trained and tried on.
const maxSample = 8 << 20

// train chooses a dictionary, or none, for each block that the policy wants one
// for, on chunks spread evenly over the segment: some to train on, others to try
// it on. It depends on the rows and the policy alone.
func train(ctx context.Context, src Source, schema Schema, p codec.Policy, encodings []codec.Encoding, rep *Report) (map[int]*dict.Dict, error) {
	began := time.Now()
	chosen := map[int]*dict.Dict{}
	plan, err := planTraining(schema, p, encodings)
	if err != nil || len(plan) == 0 {
		return chosen, err
	}
	rep.trained = true
	sampled, err := sample(ctx, src, len(schema.Columns), p.ChunkBytes, plan)
	if err != nil {
		return nil, err
	}
	for _, t := range plan {
		for i := range t.blocks {
			number, samples := t.base+i, t.samples[i]
			var bytes int64
			for _, s := range samples {
				bytes += int64(len(s))
			}
			dr := DictionaryReport{Column: t.name, Block: i, Reason: "no bytes to train on"}
			if bytes > 0 {
				total := int64(float64(bytes) * float64(src.RawBytes()) / float64(max(sampled, 1)))
				w := startWatch()
				choice, err := choose(ctx, t.rule, samples, max(total, bytes), p.ChunkBytes)
				cpu, _ := w.stop()
				if err != nil {
					return nil, fmt.Errorf("segment: column %q: dictionary: %w", t.name, err)
				}
				dr.Reason, dr.Trials, dr.TrainNS = choice.Reason, choice.Trials, cpu
				if d := choice.Dict; d != nil {
					chosen[number] = d
					dr.Bytes, dr.Kind = len(d.Bytes()), d.Kind().String()
				}
			}
			rep.Dictionaries = append(rep.Dictionaries, dr)
		}
	}
	rep.TrainNS = time.Since(began)
	return chosen, nil
}

// training is a column whose policy wants dictionaries.
type training struct {
	name    string
	column  int
	base    int // number of its first block in the chunk
	rule    codec.Rule
	enc     codec.Encoding
	blocks  []int      // streams of each block
	samples [][][]byte // of each block, before compression
}

func planTraining(s Schema, p codec.Policy, encodings []codec.Encoding) (plan []*training, err error) {
	l, _, err := planLayout(s, p, encodings, nil)
	if err != nil {
		return nil, err
	}
	base := 0
	for i, c := range l.Columns {
		col := s.Columns[i]
		rule := p.Rule(col.Name, col.Kind.String(), col.Format)
		if rule.Spec.Dict {
			enc, err := findEncoding(c.Encoding, encodings)
			if err != nil {
				return nil, err
			}
			t := &training{name: col.Name, column: i, base: base, rule: rule, enc: enc, samples: make([][][]byte, len(c.Blocks))}
			for _, b := range c.Blocks {
				t.blocks = append(t.blocks, b.Streams)
			}
			plan = append(plan, t)
		}
		base += len(c.Blocks)
	}
	return plan, nil
}

// sample takes chunks as the policy would cut them, at evenly spaced rows, and
// adds their blocks to the plan. It returns the bytes of the rows taken.
func sample(ctx context.Context, src Source, columns, chunkBytes int, plan []*training) (sampled int64, err error) {
	rows := src.EndRow() - src.FirstRow()
	raw := src.RawBytes()
	n := uint64(max(maxSample/chunkBytes, 1))
	spread := raw > maxSample
	if !spread {
		n = rows // chunk after chunk, until all rows are taken
	}
	next := src.FirstRow()
	values := make([]codec.Values, columns)
	for i := range n {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		if spread {
			hi := float64(rows) * float64(i) / float64(n)
			next = max(next, src.FirstRow()+uint64(hi))
		}
		if next >= src.EndRow() {
			break
		}
		size, err := takeRun(src, values, next, chunkBytes)
		if err != nil {
			return 0, err
		}
		next += uint64(values[0].Len())
		sampled += int64(size)
		if err := split(plan, values); err != nil {
			return 0, err
		}
		if sampled > 2*maxSample { // giant rows
			break
		}
	}
	return sampled, nil
}

// split adds the blocks of one chunk to the plan's samples.
func split(plan []*training, values []codec.Values) error {
	for _, t := range plan {
		streams, err := t.enc.Split(nil, &values[t.column])
		if err != nil {
			return fmt.Errorf("segment: column %q: %w", t.name, err)
		}
		for i, n := range t.blocks {
			if b := joinStreams(nil, streams[:n]); len(b) > 0 {
				t.samples[i] = append(t.samples[i], b)
			}
			streams = streams[n:]
		}
	}
	return nil
}

// choose tries dictionaries for one block of a column.
func choose(ctx context.Context, rule codec.Rule, samples [][]byte, total int64, chunkBytes int) (dict.Choice, error) {
	o := dict.ChooseOptions{
		Train:      dict.TrainOptions{MaxBytes: rule.DictBytes, Level: rule.Spec.Level},
		TotalBytes: total,
		Copies:     1,
	}
	if int64(rule.DictBytes)*100 < total/2 { // about where the directory gets a copy
		o.Copies = 2
	}
	codecs := map[*dict.Dict]codec.Codec{}
	var buf []byte
	return dict.Choose(ctx, samples, o, func(d *dict.Dict, block []byte) (int, error) {
		c := codecs[d]
		if c == nil {
			spec := rule.Spec
			if d == nil {
				spec = rule.Fallback
			}
			var err error
			co := newCoderOptions(nil, 1, chunkBytes)
			if c, err = codec.New(spec, d, codec.Options{Concurrency: co.concurrency, Window: co.window, MaxDecoded: co.limit}); err != nil {
				return 0, err
			}
			clear(codecs) // the last one is done with: an encoder takes memory
			codecs[d] = c
		}
		out, _, err := codec.EncodeBlock(c, codec.Zstd, buf[:0], block)
		buf = out
		return len(out), err
	})
}
