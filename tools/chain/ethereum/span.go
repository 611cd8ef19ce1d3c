package ethereum

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"golang.org/x/crypto/sha3"

	"github.com/segstore/segstore/tools/chain"
)

// Span is the blocks of a source file as a first walk over it sees them.
type Span struct {
	File   string // its name, for errors
	Offset int64  // of the first block
	First  uint64 // number of the first block
	Parent []byte // hash of the block before it, as its header has it
	Blocks uint64
	Gap    *Gap // the first block whose number does not follow; nil where all are consecutive
}

// Gap is a block whose number does not follow that of the one before it.
type Gap struct {
	Offset       int64 // in the file
	Number, Want uint64
}

// Add adds the next block, which is at an offset of the file. It keeps nothing of b.
func (s *Span) Add(b *Block, offset int64) {
	switch want := s.First + s.Blocks; {
	case s.Blocks == 0:
		s.First, s.Offset, s.Parent = b.Number, offset, bytes.Clone(b.Parent)
	case b.Number != want && s.Gap == nil:
		s.Gap = &Gap{offset, b.Number, want}
	}
	s.Blocks++
}

// FirstRow returns the number of the first row of blocks: that of the first block where the blocks of all spans, one after
// another, have consecutive numbers, so that a row is found by its number; else 0.
func FirstRow(spans []Span) uint64 {
	if len(spans) == 0 {
		return 0
	}
	next := spans[0].First
	for _, s := range spans {
		if s.Gap != nil || s.First != next || s.First > math.MaxInt64-s.Blocks {
			return 0
		}
		next = s.First + s.Blocks
	}
	return spans[0].First
}

// Follow checks that blocks may go behind those of o.After, if there are any: its tables must fit together, and unless
// gaps are allowed the blocks of the spans follow its last one, by number and parent's hash, and each other. The first
// block of a table without blocks has the number of its first row. It is *chain.InputError where a block does not follow.
func Follow(o chain.ImportOptions, spans []Span) error {
	if o.After == nil {
		return nil
	}
	perTransaction := []string{TransactionsTable, ReceiptsTable}
	if !HasReceipts(o.After) {
		perTransaction = perTransaction[:1]
	}
	if err := chain.CheckBlocks(o, BlocksTable, perTransaction...); err != nil || o.AllowGap {
		return err
	}
	next, hash, err := tip(o.After)
	if err != nil {
		return err
	}
	behind := "the last one stored"
	if hash == nil {
		behind = "none yet stored"
	}
	for i, s := range spans {
		if i > 0 {
			behind = "the last one of " + spans[i-1].File
		}
		wrong := func(offset int64, want string, format string, args ...any) error {
			return &chain.InputError{File: s.File, Offset: offset, Want: want, Err: fmt.Errorf(format, args...)}
		}
		switch {
		case s.First != next:
			return wrong(s.Offset, fmt.Sprintf("block %d, behind %s", next, behind), "found block %d", s.First)
		case i == 0 && hash != nil && !bytes.Equal(s.Parent, hash):
			return wrong(s.Offset, fmt.Sprintf("block %d on top of %s, whose hash is 0x%x", next, behind, hash), "its parent is 0x%x", s.Parent)
		case s.Gap != nil:
			return wrong(s.Gap.Offset, fmt.Sprintf("block %d, behind the one before", s.Gap.Want), "found block %d", s.Gap.Number)
		}
		next += s.Blocks
	}
	return nil
}

// tip returns the number of the block that comes next, and the hash of the last one; nil where there is none.
func tip(v chain.View) (next uint64, hash []byte, err error) {
	rows := v.Rows(BlocksTable)
	next = v.FirstRow(BlocksTable) + rows
	if rows == 0 {
		return next, nil, nil
	}
	for row, err := range v.Scan(BlocksTable, next-1, "number", "header") {
		switch {
		case err != nil:
			return 0, nil, err
		case len(row) != 2 || len(row[0]) != 8:
			return 0, nil, fmt.Errorf("%w: blocks: row %d is not of the schema", ErrRows, next-1)
		}
		h := sha3.NewLegacyKeccak256()
		_, _ = h.Write(row[1]) // never fails
		return binary.LittleEndian.Uint64(row[0]) + 1, h.Sum(nil), nil
	}
	return 0, nil, errors.Join(ErrRows, fmt.Errorf("blocks: row %d is not there", next-1))
}
