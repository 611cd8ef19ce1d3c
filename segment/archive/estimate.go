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
	e, err := segment.EstimateRecompress(ctx, j.r, j.o.RecompressOptions, j.o.SampleBytes)
	if err != nil {
		return nil, err
	}
	e.Before.Checksum = j.s.Checksum
	j.progress(StageEncode, j.s.Rows)
	return &SegmentReport{File: j.s.File, Report: e.Report, Sampled: e.SampledBytes}, nil
}
