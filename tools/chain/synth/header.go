package synth

import (
	"encoding/hex"
	"slices"

	"github.com/segstore/segstore/tools/chain/ethereum"
)

// noUncles is the hash of an empty list of uncles: Keccak-256 of c0.
const noUncles = "1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347"

// extras are what builders write into a header.
var extras = [...]string{"builder one", "a builder", "blocks, made with care", "", "0x synthetic", "synthetic-2"}

// header appends the block's header: the 20 items of Cancun (EIP-4844, EIP-4788).
func (g *Generator) header(dst []byte) []byte {
	p := g.payload[:0]
	root := func() {
		p = g.dice.random(append(p, 0x80+32), 32)
	}
	p = ethereum.AppendString(p, g.parent[:])
	p = append(p, 0x80+32)
	p, _ = hex.AppendDecode(p, []byte(noUncles)) // a constant
	p = ethereum.AppendString(p, g.world.miners[g.world.someMiner.draw(g.dice)][:])
	root() // state
	root() // transactions
	root() // receipts
	p = ethereum.AppendString(p, g.bloom[:])
	p = rlpUint(p, 0) // difficulty
	p = rlpUint(p, g.number)
	p = rlpUint(p, max(30000000, (g.gas+999999)/1000000*1000000))
	p = rlpUint(p, g.gas)
	p = rlpUint(p, g.time)
	p = ethereum.AppendString(p, []byte(extras[g.dice.below(uint64(len(extras)))]))
	root() // mix hash: randomness of the beacon chain
	p = ethereum.AppendString(p, make([]byte, 8))
	p = rlpUint(p, g.baseFee)
	root()                                // withdrawals
	p = rlpUint(p, g.dice.below(7)<<17)   // gas of blobs, 2^17 each
	p = rlpUint(p, g.dice.below(300)<<17) // excess of it
	root()                                // parent's beacon block
	g.payload = p
	return rlpList(dst, p)
}

// withdrawals appends 16 withdrawals (EIP-4895): index, validator, address, gwei.
func (g *Generator) withdrawals(dst []byte) []byte {
	g.data = g.data[:0]
	validator := g.staked * 3
	for range 16 {
		p := rlpUint(g.payload[:0], g.staked)
		p = rlpUint(p, validator%900000)
		p = ethereum.AppendString(p, g.world.users[validator/64%users].address[:])
		p = rlpUint(p, 16000000+g.dice.below(3000000))
		g.data = rlpList(g.data, p)
		g.payload = p
		g.staked++
		validator++
	}
	return rlpList(slices.Grow(dst, len(g.data)+ethereum.MaxItemHeader), g.data)
}
