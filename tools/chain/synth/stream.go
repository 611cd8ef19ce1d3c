package synth

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"

	"github.com/segstore/segstore/tools/chain"
	"github.com/segstore/segstore/tools/chain/ethereum"
)

// Limit says how long a chain is: it ends with the block that reaches either. Zero is no limit.
type Limit struct {
	Blocks uint64
	Bytes  uint64 // as a stream
}

var errNoLimit = errors.New("synth: neither a number of blocks nor of bytes is given")

func (l Limit) check() error {
	if l == (Limit{}) {
		return errNoLimit
	}
	return nil
}

func (l Limit) reached(s Stats) bool {
	return l.Blocks > 0 && s.Blocks >= l.Blocks || l.Bytes > 0 && s.Bytes >= l.Bytes
}

// Stats counts what was made.
type Stats struct {
	Blocks       uint64 `json:"blocks"`
	Transactions uint64 `json:"transactions"` // and as many receipts
	Bytes        uint64 `json:"bytes"`        // as a stream
}

func (s *Stats) add(b *ethereum.Block, bytes int) {
	s.Blocks++
	s.Transactions += uint64(len(b.Transactions))
	s.Bytes += uint64(bytes)
}

// Write writes the next blocks to w as a stream of RLP lists [header, body, receipts].
func (g *Generator) Write(ctx context.Context, w io.Writer, l Limit) (Stats, error) {
	var s Stats
	if err := l.check(); err != nil {
		return s, err
	}
	var buf []byte
	for !l.reached(s) {
		if err := ctx.Err(); err != nil {
			return s, err
		}
		b := g.Next()
		buf = b.AppendRLPS(buf[:0])
		if _, err := w.Write(buf); err != nil {
			return s, err
		}
		s.add(b, len(buf))
	}
	return s, nil
}

// Fill creates the tables of Ethereum in sink and appends the next blocks: what an import of the stream that Write writes
// would. name is what the table sources calls that stream.
func (g *Generator) Fill(ctx context.Context, sink chain.Sink, name string, l Limit) (chain.Report, error) {
	if err := l.check(); err != nil {
		return chain.Report{}, err
	}
	tally := chain.NewTally(sink, nil)
	w, err := ethereum.NewWriter(tally, g.number, true)
	if err != nil {
		return chain.Report{}, err
	}
	s, hash, first := Stats{}, sha256.New(), g.number
	var buf []byte
	for !l.reached(s) {
		if err := ctx.Err(); err != nil {
			return chain.Report{}, err
		}
		b := g.Next()
		if err := w.Append(b); err != nil {
			return chain.Report{}, err
		}
		buf = b.AppendRLPS(buf[:0])
		hash.Write(buf) // never fails
		s.add(b, len(buf))
	}
	source := chain.Source{Name: name, Format: ethereum.RLPS.String(), FirstBlock: first, Blocks: s.Blocks, Size: s.Bytes, Extra: []byte{1, 0}} // as package rlp writes it: not compressed
	hash.Sum(source.SHA256[:0])
	if err := w.AppendSource(&source); err != nil {
		return chain.Report{}, err
	}
	return chain.Report{
		Sources: []chain.Imported{{Source: source, Restore: chain.Identical}},
		Tables:  tally.Tables(),
	}, nil
}

// File returns the chain of a seed as a file of that name to import, made while it is read. Its size is not known ahead.
func File(name string, seed uint64, l Limit) chain.File {
	return chain.File{Name: name, Size: -1, Open: func() (io.ReadCloser, error) {
		if err := l.check(); err != nil {
			return nil, err
		}
		return &reader{g: New(seed), limit: l}, nil
	}}
}

// reader is the stream of a generator.
type reader struct {
	g     *Generator
	limit Limit
	stats Stats
	buf   []byte
	rest  bytes.Reader
}

func (r *reader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if r.rest.Len() == 0 {
		if r.limit.reached(r.stats) {
			return 0, io.EOF
		}
		b := r.g.Next()
		r.buf = b.AppendRLPS(r.buf[:0])
		r.stats.add(b, len(r.buf))
		r.rest.Reset(r.buf)
	}
	return r.rest.Read(p)
}

// Close has nothing to do.
func (r *reader) Close() error { return nil }
