package synth

// call is what a transaction does; its logs are in the generator's.
type call struct {
	to    *account // nil where it makes a contract
	value uint64   // wei
	data  []byte
	gas   uint64 // used
	ok    bool
	blobs int
}

// calls are the kinds of calls, with how many of a thousand transactions make each.
var calls = [...]struct {
	weight uint64
	make   func(g *Generator, c *call)
}{
	{606, (*Generator).send},
	{120, (*Generator).transferToken},
	{25, (*Generator).approve},
	{45, (*Generator).swap},
	{22, (*Generator).execute},
	{30, (*Generator).moveNFT},
	{15, (*Generator).wrap},
	{118, (*Generator).callOther},
	{2, (*Generator).airdrop},
	{5, (*Generator).mintMany},
	{5, (*Generator).batch},
	{5, (*Generator).create},
	{2, (*Generator).blob},
}

// send moves ether.
func (g *Generator) send(c *call) {
	c.to, c.value, c.gas = g.world.user(g.dice, &g.fresh[1]), g.ether(), 21000
}

// ether draws an amount of wei, up to 18 ether: a third of them round.
func (g *Generator) ether() uint64 {
	if g.dice.chance(330) {
		return (1 + g.dice.below(1500)) * 10000000000000000
	}
	return g.dice.src.Uint64() >> g.dice.below(16)
}

func (g *Generator) transferToken(c *call) {
	t := &g.world.tokens[g.world.someToken.draw(g.dice)]
	to, a := g.world.user(g.dice, &g.fresh[1]), t.amount(g.dice)
	c.to, c.gas = &t.account, 40000+g.dice.below(25000)
	if g.dice.chance(60) {
		c.data = addressWord(append(c.data, g.world.method.transferFrom[:]...), g.from)
	} else {
		c.data = append(c.data, g.world.method.transfer[:]...)
	}
	c.data = amountWord(addressWord(c.data, to), a)
	if c.ok = !g.dice.chance(30); c.ok {
		g.logs.transfer(t, g.from, to, a)
	}
}

func (g *Generator) approve(c *call) {
	t := &g.world.tokens[g.world.someToken.draw(g.dice)]
	spender := &g.world.router
	if g.dice.chance(400) {
		spender = &g.world.others[g.world.someOther.draw(g.dice)]
	}
	c.to, c.gas = &t.account, 46000+g.dice.below(600)
	c.data = addressWord(append(c.data, g.world.method.approve[:]...), spender)
	start := len(c.data)
	if g.dice.chance(600) { // all there is
		for range 32 {
			c.data = append(c.data, 0xff)
		}
	} else {
		c.data = amountWord(c.data, t.amount(g.dice))
	}
	g.logs.topic(&g.world.event.approval)
	g.logs.account(g.from)
	g.logs.account(spender)
	g.logs.emit(&t.account, c.data[start:])
}

// swap is a swap by the router that everybody uses.
func (g *Generator) swap(c *call) {
	p := &g.world.pairs[g.world.somePair.draw(g.dice)]
	c.to, c.gas = &g.world.router, 110000+g.dice.below(60000)
	in, out := p.a, p.b
	a, least := in.amount(g.dice), out.amount(g.dice)
	if buys := g.dice.chance(500); buys {
		c.value = g.ether()
		a = amount{0, c.value}
		c.data = append(c.data, g.world.method.swapETH[:]...)
		c.data = word(amountWord(c.data, least), 0x80)
	} else {
		in, out = out, in
		c.data = append(c.data, g.world.method.swap[:]...)
		c.data = word(amountWord(amountWord(c.data, a), least), 0xa0)
	}
	c.data = word(addressWord(c.data, g.from), g.time+g.dice.below(1800))
	c.data = addressWord(addressWord(word(c.data, 2), &in.account), &out.account)
	if c.ok = !g.dice.chance(50); c.ok {
		g.swapLogs(p, in, out, a, least)
	}
}

// swapLogs makes the logs of a swap.
func (g *Generator) swapLogs(p *pair, in, out *token, a, b amount) {
	l, e := &g.logs, &g.world.event
	if in == g.world.weth {
		g.data = amountWord(g.data[:0], a)
		l.topic(&e.deposit)
		l.account(&g.world.router)
		l.emit(&in.account, g.data)
	}
	l.transfer(in, g.from, &p.account, a)
	l.transfer(out, &p.account, g.from, b)
	g.data = wideWord(g.data[:0], g.dice.below(1<<20), g.dice.src.Uint64())
	g.data = wideWord(g.data, g.dice.below(1<<16), g.dice.src.Uint64())
	l.topic(&e.sync)
	l.emit(&p.account, g.data)
	g.data = amountWord(word(word(amountWord(g.data[:0], a), 0), 0), b)
	l.topic(&e.swap)
	l.account(&g.world.router)
	l.account(g.from)
	l.emit(&p.account, g.data)
}

// execute is a call of a router that takes programs.
func (g *Generator) execute(c *call) {
	n := 1 + g.dice.below(4)
	c.to, c.value, c.gas = &g.world.others[0], 0, 120000+n*60000
	c.data = append(c.data, g.world.method.execute[:]...)
	c.data = word(word(word(c.data, 0x60), 0xa0), g.time+g.dice.below(3600))
	c.data = word(c.data, n)
	c.data = word(c.data, 0x0b<<56)
	c.data = word(c.data, n)
	for i := range n {
		c.data = word(c.data, 0x20*n+0x140*i)
	}
	for range n {
		p := &g.world.pairs[g.world.somePair.draw(g.dice)]
		in, out := p.a, p.b
		if g.dice.chance(500) {
			in, out = out, in
		}
		a, b := in.amount(g.dice), out.amount(g.dice)
		c.data = word(word(c.data, 0x100), 1)
		c.data = word(amountWord(amountWord(c.data, a), b), 0xa0)
		c.data = addressWord(addressWord(word(c.data, 2), &in.account), &out.account)
		g.swapLogs(p, in, out, a, b)
	}
}

func (g *Generator) moveNFT(c *call) {
	nft := &g.world.nfts[g.world.someNFT.draw(g.dice)]
	from, to, first, n := g.from, g.world.user(g.dice, &g.fresh[1]), g.dice.below(10000), uint64(1)
	c.to = nft
	if g.dice.chance(400) { // new ones, for the sender
		from, to, n = &g.world.nobody, g.from, 1+g.dice.below(4)
		c.value = n * 50000000000000000
		c.data = word(append(c.data, g.world.method.mint[:]...), n)
	} else {
		c.data = append(c.data, g.world.method.transferFrom[:]...)
		c.data = word(addressWord(addressWord(c.data, from), to), first)
	}
	c.gas = 50000 + 30000*n
	for i := range n {
		g.logs.topic(&g.world.event.transfer)
		g.logs.account(from)
		g.logs.account(to)
		g.logs.number(first + i)
		g.logs.emit(nft, nil)
	}
}

// wrap turns ether into a token, or back.
func (g *Generator) wrap(c *call) {
	a := amount{0, g.ether()}
	g.data = amountWord(g.data[:0], a)
	c.to, c.gas = &g.world.weth.account, 28000+g.dice.below(17000)
	event := &g.world.event.deposit
	if g.dice.chance(500) {
		c.value, c.data = a.lo, append(c.data, g.world.method.deposit[:]...)
	} else {
		c.data = append(append(c.data, g.world.method.withdraw[:]...), g.data...)
		event = &g.world.event.withdrawal
	}
	g.logs.topic(event)
	g.logs.account(g.from)
	g.logs.emit(&g.world.weth.account, g.data)
}
