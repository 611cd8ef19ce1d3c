package synth

// Sizes of the world. Contracts are few and one address in three is new, as on mainnet.
const (
	users     = 20000
	tokens    = 600
	pairs     = 400
	nfts      = 300
	others    = 2000 // contracts of which nothing is known but that they are called
	selectors = 400
	miners    = 40
	freshAddr = 200 // of a thousand users drawn
)

// account is an address, with what it adds to a bloom filter as the address of a log and as a topic; computed when first
// needed.
type account struct {
	address         [20]byte
	asAddress       bloomBits
	asTopic         bloomBits
	hasAddr, hasTop bool
}

// token is an ERC-20 contract.
type token struct {
	account
	decimals int // 6 or 18
}

// pair is an exchange of two tokens.
type pair struct {
	account
	a, b *token
}

// topic is the first topic of a kind of log: the hash of its signature.
type topic struct {
	hash [32]byte
	bits bloomBits
}

// events are the topics of the logs that are made.
type events struct {
	transfer, approval, sync, swap, deposit, withdrawal topic
	other                                               [40]topic
}

// methods are the first four bytes of calls.
type methods struct {
	transfer, transferFrom, approve, swap, swapETH, execute, mint, deposit, withdraw, batch, airdrop [4]byte
	other                                                                                            [selectors][4]byte
}

// world is who and what there is. It does not change but for what is computed late.
type world struct {
	keccak *keccak
	event  events
	method methods

	users  []account
	tokens []token
	pairs  []pair
	nfts   []account
	others []account
	router account
	nobody account // address zero
	weth   *token
	miners [miners][20]byte
	bodies []byte // code that many contracts share

	someUser, someToken, somePair, someNFT, someOther, someSelector, someMiner ranks
}

func newWorld(d dice) *world {
	w := &world{keccak: newKeccak()}
	w.event = events{
		transfer:   w.topic("Transfer(address,address,uint256)"),
		approval:   w.topic("Approval(address,address,uint256)"),
		sync:       w.topic("Sync(uint112,uint112)"),
		swap:       w.topic("Swap(address,uint256,uint256,uint256,uint256,address)"),
		deposit:    w.topic("Deposit(address,uint256)"),
		withdrawal: w.topic("Withdrawal(address,uint256)"),
	}
	w.method = methods{
		transfer:     w.selector("transfer(address,uint256)"),
		transferFrom: w.selector("transferFrom(address,address,uint256)"),
		approve:      w.selector("approve(address,uint256)"),
		swap:         w.selector("swapExactTokensForTokens(uint256,uint256,address[],address,uint256)"),
		swapETH:      w.selector("swapExactETHForTokens(uint256,address[],address,uint256)"),
		execute:      w.selector("execute(bytes,bytes[],uint256)"),
		mint:         w.selector("mint(uint256)"),
		deposit:      w.selector("deposit()"),
		withdraw:     w.selector("withdraw(uint256)"),
		batch:        w.selector("appendSequencerBatch()"),
		airdrop:      w.selector("multisend(address[],uint256)"),
	}
	for i := range w.event.other {
		d.fill(w.event.other[i].hash[:])
		w.event.other[i].bits = w.keccak.bits(w.event.other[i].hash[:])
	}
	for i := range w.method.other {
		d.fill(w.method.other[i][:])
	}
	accounts := func(n int) []account {
		all := make([]account, n)
		for i := range all {
			d.fill(all[i].address[:])
		}
		return all
	}
	w.users, w.nfts, w.others = accounts(users), accounts(nfts), accounts(others)
	w.router = accounts(1)[0]
	w.tokens = make([]token, tokens)
	for i, a := range accounts(tokens) {
		w.tokens[i] = token{account: a, decimals: 18}
		if i > 0 && i < 3 {
			w.tokens[i].decimals = 6 // the two most used after the first are dollars
		}
	}
	w.weth = &w.tokens[0]
	w.someUser, w.someToken = newRanks(users, 10), newRanks(tokens, 2)
	w.pairs = make([]pair, pairs)
	for i, a := range accounts(pairs) {
		w.pairs[i] = pair{a, w.weth, &w.tokens[1+i]}
	}
	w.somePair, w.someNFT, w.someOther = newRanks(pairs, 4), newRanks(nfts, 3), newRanks(others, 8)
	w.someSelector, w.someMiner = newRanks(selectors, 5), newRanks(miners, 1)
	for i := range w.miners {
		d.fill(w.miners[i][:])
	}
	w.bodies = d.random(nil, 12000)
	return w
}

func (w *world) topic(signature string) topic {
	h := w.keccak.hash([]byte(signature))
	return topic{h, w.keccak.bits(h[:])}
}

func (w *world) selector(signature string) [4]byte {
	h := w.keccak.hash([]byte(signature))
	return [4]byte(h[:])
}

// user returns somebody: one known, or one never seen before, which is put into fresh.
func (w *world) user(d dice, fresh *account) *account {
	if d.chance(freshAddr) {
		*fresh = account{}
		d.fill(fresh.address[:])
		return fresh
	}
	return &w.users[w.someUser.draw(d)]
}

func (w *world) addressBits(a *account) bloomBits {
	if !a.hasAddr {
		a.asAddress, a.hasAddr = w.keccak.bits(a.address[:]), true
	}
	return a.asAddress
}

func (w *world) topicBits(a *account) bloomBits {
	if !a.hasTop {
		var padded [32]byte
		copy(padded[12:], a.address[:])
		a.asTopic, a.hasTop = w.keccak.bits(padded[:]), true
	}
	return a.asTopic
}
