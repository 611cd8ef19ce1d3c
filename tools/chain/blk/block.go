package blk

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
)

// parser reads blocks and checks their roots. It reuses its memory; for one goroutine.
type parser struct {
	txs    []tx
	ids    []byte // 32 bytes a transaction; used up by root
	hash   hash.Hash
	sum    [sha256.Size]byte
	checks bool
}

func newParser(checks bool) *parser { return &parser{hash: sha256.New(), checks: checks} }

// parse reads a whole block and leaves its transactions in p.txs. The result is nil where all is well.
func (p *parser) parse(b []byte) *place {
	p.txs = p.txs[:0]
	c := cursor{b: b}
	c.skip(headerBytes, "a block header of 80 bytes")
	n := c.count(minTxBytes, "the number of transactions")
	if n == 0 {
		c.fail(headerBytes, "the number of transactions, at least 1", errors.New("0"))
	}
	for i := 0; i < n && c.err == nil; i++ { // not allocated ahead: n is not yet believed
		p.txs = append(p.txs, c.transaction())
	}
	if c.err == nil && c.left() > 0 {
		c.fail(c.off, fmt.Sprintf("the end of the block after %d transactions", n), fmt.Errorf("%d bytes more", c.left()))
	}
	if c.err == nil && p.checks {
		c.err = p.check(b)
	}
	return c.err
}

// check compares the Merkle root, and the witness commitment where there is a witness.
func (p *parser) check(b []byte) *place {
	p.ids = p.ids[:0]
	witness := false
	for _, t := range p.txs {
		if t.witness == 0 {
			p.add(b[t.start:t.end])
			continue
		}
		witness = true
		p.add(b[t.start:t.start+4], b[t.start+6:t.witness], b[t.end-4:t.end])
	}
	if want, got := b[36:68], p.root(); !bytes.Equal(want, got) {
		return &place{36, fmt.Sprintf("the Merkle root of the transactions, %x", got), fmt.Errorf("%x", want)}
	}
	if !witness {
		return nil
	}
	p.ids = append(p.ids[:0], make([]byte, sha256.Size)...) // the coinbase counts as zeros
	for _, t := range p.txs[1:] {
		p.add(b[t.start:t.end])
	}
	at, reserved, err := commitment(b, p.txs[0])
	if err != nil {
		return err
	}
	root := p.root()
	p.ids = p.ids[:sha256.Size]
	p.add(root, reserved)
	if got := p.ids[sha256.Size:]; !bytes.Equal(b[at:at+sha256.Size], got) {
		return &place{at, fmt.Sprintf("the witness commitment %x", got), fmt.Errorf("%x", b[at:at+sha256.Size])}
	}
	return nil
}

// add appends the double SHA-256 of the parts.
func (p *parser) add(parts ...[]byte) {
	p.hash.Reset()
	for _, b := range parts {
		p.hash.Write(b) // never fails
	}
	sum := p.hash.Sum(p.sum[:0])
	twice := sha256.Sum256(sum)
	p.ids = append(p.ids, twice[:]...)
}

// root folds p.ids into the Merkle root, in place; the last of an odd level pairs with itself.
func (p *parser) root() []byte {
	ids := p.ids
	for n := len(ids) / sha256.Size; n > 1; n = (n + 1) / 2 {
		for i := 0; i < n; i += 2 {
			pair := ids[i*sha256.Size:]
			if i+1 < n {
				pair = pair[:2*sha256.Size]
			} else {
				pair = append(pair[:sha256.Size:sha256.Size], pair[:sha256.Size]...)
			}
			once := sha256.Sum256(pair)
			twice := sha256.Sum256(once[:])
			copy(ids[i/2*sha256.Size:], twice[:])
		}
	}
	return ids[:sha256.Size]
}

// commitmentScript is how an output's script with the witness commitment begins (BIP 141).
var commitmentScript = []byte{0x6a, 0x24, 0xaa, 0x21, 0xa9, 0xed}

// commitment returns where in the block the coinbase holds the witness commitment, and the value that is hashed with
// the root: the only item of the coinbase's witness. t was read well.
func commitment(b []byte, t tx) (at int, reserved []byte, err *place) {
	c := cursor{b: b, off: t.outputs}
	for range c.count(outputBytes, "outputs") {
		c.skip(8, "value")
		n := c.count(1, "script length")
		if script := b[c.off : c.off+n]; n >= 38 && bytes.HasPrefix(script, commitmentScript) {
			at = c.off + len(commitmentScript) // the last one counts
		}
		c.skip(n, "script")
	}
	if at == 0 {
		return 0, nil, &place{t.start, "a coinbase with a witness commitment, for the block has witnesses", errors.New("there is none")}
	}
	if t.inputs != 1 || t.witness == 0 || t.end-4-t.witness != 2+sha256.Size || b[t.witness] != 1 || b[t.witness+1] != sha256.Size {
		return 0, nil, &place{t.start, "a coinbase whose witness is one item of 32 bytes", errors.New("it is not")}
	}
	return at, b[t.witness+2 : t.end-4], nil
}
