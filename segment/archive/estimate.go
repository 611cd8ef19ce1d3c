package archive

import (
	"context"

	"github.com/segstore/segstore/segment"
)

// estimate foretells what recompressing a segment would change.
func estimate(ctx context.Context, j *job) (*SegmentReport, error) {
	if j.o.Settled(j.r) {
		return skipped(j), nil
	}
	sr := &SegmentReport{File: j.s.File}
	for run := range j.o.Runs {
		e, err := segment.EstimateRecompress(ctx, j.r, j.o.RecompressOptions, j.o.SampleBytes)
		if err != nil {
			return nil, err
		}
		e.Before.Checksum = j.s.Checksum
		sr.Report, sr.Sampled = e.Report, e.SampledBytes
		if j.o.Runs > 1 {
			sr.Runs = append(sr.Runs, e.Report)
		}
		j.progress(StageEncode, j.s.Rows*uint64(run+1)/uint64(j.o.Runs))
	}
	return sr, nil
}
