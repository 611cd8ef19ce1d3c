package synth

import (
	"iter"

	"github.com/segstore/segstore/tools/chain/ethereum"
)

// FirstBlock is the number of the first block that a generator makes.
const FirstBlock = 1

// Generator makes one block after another.
type Generator struct {
	dice  dice
	world *world

	// State of the chain.
	number  uint64 // of the block under way
	time    uint64
	baseFee uint64
	gas     uint64 // used so far in the block
	parent  [32]byte
	staked  uint64 // withdrawals so far
	bloom   bloom

	// The transaction under way.
	from  *account
	fresh [2]account
	logs  logs

	block   ethereum.Block
	arena   []byte // the block's values
	payload []byte
	data    []byte
	calls   []byte // data of the call
}

// New returns a generator of the chain that seed stands for.
func New(seed uint64) *Generator {
	d := newDice(seed)
	g := &Generator{dice: d, world: newWorld(d), number: FirstBlock, time: 1700000000, baseFee: 20000000000}
	g.logs.world = g.world
	d.fill(g.parent[:])
	return g
}

// Blocks yields the next n blocks. A block is valid until the next step.
func (g *Generator) Blocks(n int) iter.Seq[*ethereum.Block] {
	return func(yield func(*ethereum.Block) bool) {
		for range n {
			if !yield(g.Next()) {
				return
			}
		}
	}
}

// Next returns the next block, valid until the next call. It has no total difficulty and no uncles, and always receipts
// and withdrawals.
func (g *Generator) Next() *ethereum.Block {
	b := &g.block
	b.Reset()
	g.arena, g.gas, g.bloom = g.arena[:0], 0, bloom{}
	b.Number, b.HasReceipts = g.number, true
	for range g.size() {
		g.next()
	}
	b.Uncles = []byte{0xc0}
	b.Withdrawals = g.cut(func(dst []byte) []byte { return g.withdrawals(dst) })
	b.Header = g.cut(func(dst []byte) []byte { return g.header(dst) })
	g.parent = g.world.keccak.hash(b.Header)
	g.number++
	g.time += 12
	// EIP-1559, roughly: more where the block was full, less where it was not.
	g.baseFee = max(1000000000, g.baseFee*(940+g.dice.below(121))/1000)
	return b
}

// size draws a block's number of transactions: few, many, or about 170.
func (g *Generator) size() uint64 {
	switch {
	case g.dice.chance(20):
		return g.dice.below(5)
	case g.dice.chance(50):
		return 300 + g.dice.below(500)
	}
	return 80 + g.dice.below(90) + g.dice.below(90)
}

// cut appends a value to the arena and returns it. Earlier values stay valid when the arena moves.
func (g *Generator) cut(add func(dst []byte) []byte) []byte {
	start := len(g.arena)
	g.arena = add(g.arena)
	return g.arena[start:len(g.arena):len(g.arena)]
}

// next makes the next transaction and its receipt.
func (g *Generator) next() {
	g.from = g.world.user(g.dice, &g.fresh[0])
	g.logs.reset()
	c := call{data: g.calls[:0], ok: true}
	for n, i := g.dice.below(1000), 0; ; i++ {
		if n < calls[i].weight || i == len(calls)-1 {
			calls[i].make(g, &c)
			break
		}
		n -= calls[i].weight
	}
	g.calls = c.data
	g.gas += c.gas
	g.bloom.merge(&g.logs.bloom)
	kind := g.kind(&c)
	b := &g.block
	b.Transactions = append(b.Transactions, g.cut(func(dst []byte) []byte { return g.transaction(dst, kind, &c) }))
	b.Receipts = append(b.Receipts, g.cut(func(dst []byte) []byte {
		dst, g.payload = g.logs.receipt(dst, kind, c.ok, g.gas, g.payload)
		return dst
	}))
}
