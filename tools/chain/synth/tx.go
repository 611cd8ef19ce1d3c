package synth

import "github.com/segstore/segstore/tools/chain/ethereum"

// Types of transactions (EIP-155, 2930, 1559, 4844).
const (
	legacy     = 0
	accessList = 1
	dynamicFee = 2
	blobs      = 3
)

const chainID = 1

// kind draws the type of a transaction.
func (g *Generator) kind(c *call) byte {
	switch n := g.dice.below(1000); {
	case c.blobs > 0:
		return blobs
	case n < 360:
		return legacy
	case n < 368:
		return accessList
	}
	return dynamicFee
}

// transaction appends the canonical bytes of a transaction (EIP-2718).
func (g *Generator) transaction(dst []byte, kind byte, c *call) []byte {
	p := g.payload[:0]
	if kind != legacy {
		p = rlpUint(p, chainID)
	}
	p = rlpUint(p, g.nonce())
	tip := g.tip()
	switch kind {
	case legacy, accessList:
		p = rlpUint(p, g.baseFee+tip)
	default:
		p = rlpUint(p, tip)
		p = rlpUint(p, g.baseFee*2/1000000*1000000+tip)
	}
	p = rlpUint(p, gasLimit(c.gas, g.dice))
	if c.to == nil {
		p = append(p, 0x80)
	} else {
		p = ethereum.AppendString(p, c.to.address[:])
	}
	p = rlpUint(p, c.value)
	p = ethereum.AppendString(p, c.data)
	if kind != legacy {
		p = g.accessList(p, kind, c)
	}
	if kind == blobs {
		p = rlpUint(p, 1+g.dice.below(1<<34))
		g.data = g.data[:0]
		for range c.blobs {
			g.data = append(g.data, 0x80+32, 0x01)
			g.data = g.dice.random(g.data, 31)
		}
		p = rlpList(p, g.data)
	}
	parity := g.dice.below(2)
	if kind == legacy {
		p = rlpUint(p, 35+2*chainID+parity)
	} else {
		p = rlpUint(p, parity)
	}
	p = g.scalar(p, 0xff)
	p = g.scalar(p, 0x7f) // s is in the lower half (EIP-2)
	g.payload = p
	if kind != legacy {
		dst = append(dst, kind)
	}
	return rlpList(dst, p)
}

// scalar appends a number of 32 bytes, the first not zero.
func (g *Generator) scalar(dst []byte, mask byte) []byte {
	dst = append(dst, 0x80+32)
	start := len(dst)
	dst = g.dice.random(dst, 32)
	dst[start] = max(1, dst[start]&mask)
	return dst
}

// nonce draws how many transactions the sender has sent before.
func (g *Generator) nonce() uint64 { return g.dice.below(1 << (2 + g.dice.below(16))) }

// tip draws a priority fee; what wallets suggest comes up most.
func (g *Generator) tip() uint64 {
	usual := [...]uint64{1500000000, 1000000000, 2000000000, 100000000, 3000000000, 0}
	if n := g.dice.below(16); n < uint64(len(usual)) {
		return usual[n]
	}
	return g.dice.below(3000000000)
}

// gasLimit draws what a wallet asks for where gas is used.
func gasLimit(gas uint64, d dice) uint64 {
	switch {
	case gas == 21000:
		return gas
	case d.chance(400):
		return (gas/50000 + 1) * 50000
	}
	return gas + gas*d.below(500)/1000
}

// accessList appends an access list (EIP-2930); few transactions have one.
func (g *Generator) accessList(dst []byte, kind byte, c *call) []byte {
	if c.to == nil || kind != accessList && !g.dice.chance(10) {
		return append(dst, 0xc0)
	}
	keys := make([]byte, 0, 4*33)
	for range 1 + g.dice.below(4) {
		keys = append(keys, 0x80+32)
		keys = word(keys, g.dice.below(40))
	}
	entry := rlpList(ethereum.AppendString(nil, c.to.address[:]), keys)
	return rlpList(dst, rlpList(nil, entry))
}
