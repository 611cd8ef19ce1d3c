package cmd

import (
	"context"

	"github.com/segstore/segstore/codec"
	"github.com/segstore/segstore/segment/archive"
	"github.com/spf13/cobra"
)

// archiveFlags are the flags that say how an archive is made.
type archiveFlags struct {
	policyFlags
	segment uint64 // bytes
	workers int
	chainID string
}

func (o *archiveFlags) add(c *cobra.Command) {
	o.policyFlags.add(c)
	bytesFlag(c, &o.segment, "segment-bytes", "512MiB", 1, 1<<40, "raw bytes at which a table's segment is cut")
	workersFlag(c, &o.workers, "goroutines that compress")
	textFlag(c, &o.chainID, "chain-id", "name of the chain, kept in the manifest: UTF-8, at most 256 bytes", chainID)
}

// options returns the options to make an archive with.
func (o *archiveFlags) options(ctx context.Context, a *app) (archive.CreateOptions, error) {
	co := archive.CreateOptions{Workers: o.workers, ChainID: o.chainID, Logger: a.logger(), Context: ctx}
	co.SegmentBytes = int64(o.segment)
	p, err := o.policy(a)
	if err == nil && len(p.Rules) == 0 {
		p, err = codec.Profile(codec.DefaultProfile)
	}
	if err != nil {
		return co, err
	}
	if o.encoding != "" {
		p = p.WithEncoding(o.encoding)
	}
	if err := p.Validate(); err != nil {
		return co, usage(err)
	}
	co.Policy = p
	return co, nil
}
