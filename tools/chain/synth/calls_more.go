package synth

// callOther is a call of which nobody knows what it means: words, some of them numbers, addresses, or random.
func (g *Generator) callOther(c *call) {
	i := g.world.someOther.draw(g.dice)
	c.to, c.gas = &g.world.others[i], 60000+g.dice.below(200000)
	method := (g.world.someSelector.draw(g.dice) + i) % selectors
	c.data = append(c.data, g.world.method.other[method][:]...)
	n := 1 + g.dice.below(1+uint64(method%128))
	for range n {
		switch g.dice.below(16) {
		case 0:
			c.data = addressWord(c.data, g.from)
		case 1:
			c.data = addressWord(c.data, g.world.user(g.dice, &g.fresh[1]))
		case 2:
			c.data = wideWord(c.data, g.dice.below(1<<10), g.dice.src.Uint64())
		case 3:
			c.data = g.dice.random(c.data, 32)
		case 4, 5:
			c.data = addressWord(c.data, &g.world.tokens[g.world.someToken.draw(g.dice)].account)
		default:
			c.data = word(c.data, g.dice.below(1<<(8*g.dice.below(4))))
		}
	}
	if c.ok = !g.dice.chance(80); !c.ok {
		return
	}
	for range g.dice.below(4) {
		g.logs.topic(&g.world.event.other[(method+i)%len(g.world.event.other)])
		if g.dice.chance(700) {
			g.logs.account(g.from)
		}
		g.data = word(g.data[:0], g.dice.below(1<<(8*g.dice.below(6))))
		if g.dice.chance(300) {
			g.data = addressWord(g.data, g.from)
		}
		g.logs.emit(c.to, g.data)
	}
}

// airdrop gives a token to many.
func (g *Generator) airdrop(c *call) {
	t := &g.world.tokens[g.dice.below(tokens)]
	n, a := 20+g.dice.below(180), t.amount(g.dice)
	c.to, c.gas = &g.world.others[1], 40000+n*30000
	c.data = append(c.data, g.world.method.airdrop[:]...)
	c.data = word(amountWord(word(c.data, 0x40), a), n)
	for range n {
		to := g.world.user(g.dice, &g.fresh[1])
		c.data = addressWord(c.data, to)
		g.logs.transfer(t, g.from, to, a)
	}
}

// mintMany makes many tokens that are one of a kind, for the sender.
func (g *Generator) mintMany(c *call) {
	nft := &g.world.nfts[g.world.someNFT.draw(g.dice)]
	n, first := 20+g.dice.below(180), g.dice.below(10000)
	c.to, c.gas, c.value = nft, 40000+n*26000, n*10000000000000000
	c.data = word(append(c.data, g.world.method.mint[:]...), n)
	for i := range n {
		g.logs.topic(&g.world.event.transfer)
		g.logs.account(&g.world.nobody)
		g.logs.account(g.from)
		g.logs.number(first + i)
		g.logs.emit(nft, nil)
	}
}

// batch is what a rollup posts: compressed, so it does not compress again.
func (g *Generator) batch(c *call) {
	n := 500 + g.dice.below(8000)
	c.to, c.gas = &g.world.others[2+g.dice.below(4)], 21000+16*n
	c.data = append(c.data, g.world.method.batch[:]...)
	c.data = g.dice.random(word(c.data, n), int(n))
	g.data = word(g.data[:0], n)
	g.logs.topic(&g.world.event.other[0])
	g.logs.number(g.number<<8 | uint64(len(g.block.Transactions)))
	g.logs.emit(c.to, g.data)
}

// create makes a contract: code that others have too, and some of its own.
func (g *Generator) create(c *call) {
	c.to, c.gas = nil, 1000000+g.dice.below(2000000)
	c.data = append(c.data, 0x60, 0x80, 0x60, 0x40, 0x52, 0x34, 0x80, 0x15)
	for range 4 + g.dice.below(12) {
		from := g.dice.below(uint64(len(g.world.bodies)) - 400)
		c.data = append(c.data, g.world.bodies[from:from+100+g.dice.below(300)]...)
		c.data = g.dice.random(c.data, int(g.dice.below(150)))
	}
}

// blob is a transaction of type 3; its blobs are not here, only their hashes.
func (g *Generator) blob(c *call) {
	c.to, c.gas = &g.world.others[2+g.dice.below(4)], 21000
	c.blobs = 1 + int(g.dice.below(6))
}
