package synth

import "github.com/segstore/segstore/tools/chain/ethereum"

// logs are the logs of one transaction.
type logs struct {
	world   *world
	bloom   bloom
	payload []byte // the logs' RLP, one after another
	topics  []byte // of the log under way
	one     []byte
	id      [32]byte
}

func (l *logs) reset() {
	l.bloom, l.payload = bloom{}, l.payload[:0]
}

// topic adds a topic to the log that emit will make.
func (l *logs) topic(t *topic) {
	l.topics = ethereum.AppendString(l.topics, t.hash[:])
	l.bloom.add(t.bits)
}

func (l *logs) account(a *account) {
	l.topics = append(l.topics, 0x80+32)
	l.topics = addressWord(l.topics, a)
	l.bloom.add(l.world.topicBits(a))
}

func (l *logs) number(v uint64) {
	word(l.id[:0], v)
	l.topics = ethereum.AppendString(l.topics, l.id[:])
	l.bloom.add(l.world.keccak.bits(l.id[:]))
}

// emit makes a log of the topics added.
func (l *logs) emit(by *account, data []byte) {
	l.bloom.add(l.world.addressBits(by))
	l.one = ethereum.AppendString(l.one[:0], by.address[:])
	l.one = rlpList(l.one, l.topics)
	l.one = ethereum.AppendString(l.one, data)
	l.payload = rlpList(l.payload, l.one)
	l.topics = l.topics[:0]
}

// transfer makes the log of a transfer of tokens.
func (l *logs) transfer(t *token, from, to *account, a amount) {
	var data [32]byte
	amountWord(data[:0], a)
	l.topic(&l.world.event.transfer)
	l.account(from)
	l.account(to)
	l.emit(&t.account, data[:])
}

// receipt appends a receipt of a type: status, gas used up to here in the block, bloom, logs (EIP-2718).
func (l *logs) receipt(dst []byte, kind byte, ok bool, gas uint64, scratch []byte) (receipt, scratched []byte) {
	p := append(scratch[:0], 0x80)
	if ok {
		p[0] = 1
	}
	p = rlpUint(p, gas)
	p = ethereum.AppendString(p, l.bloom[:])
	p = rlpList(p, l.payload)
	if kind != legacy {
		dst = append(dst, kind)
	}
	return rlpList(dst, p), p
}
