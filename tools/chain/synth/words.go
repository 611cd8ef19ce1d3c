package synth

import (
	"encoding/binary"
	"math/bits"

	"github.com/segstore/segstore/tools/chain/ethereum"
)

// word appends a number as the 32 bytes of an argument.
func word(dst []byte, v uint64) []byte {
	var zeros [24]byte
	return binary.BigEndian.AppendUint64(append(dst, zeros[:]...), v)
}

// wideWord appends hi<<64 + lo.
func wideWord(dst []byte, hi, lo uint64) []byte {
	var zeros [16]byte
	dst = binary.BigEndian.AppendUint64(append(dst, zeros[:]...), hi)
	return binary.BigEndian.AppendUint64(dst, lo)
}

// addressWord appends an address as an argument.
func addressWord(dst []byte, a *account) []byte {
	var zeros [12]byte
	return append(append(dst, zeros[:]...), a.address[:]...)
}

// amount is an amount of a token in its smallest unit.
type amount struct{ hi, lo uint64 }

// amount draws an amount: half of them round.
func (t *token) amount(d dice) amount {
	if t.decimals == 6 {
		if d.chance(500) {
			return amount{0, (1 + d.below(5000)) * 1000000}
		}
		return amount{0, d.below(1 << (20 + d.below(17)))}
	}
	if d.chance(500) {
		hi, lo := bits.Mul64(1+d.below(20000), 100000000000000000)
		return amount{hi, lo}
	}
	return amount{d.below(1 << d.below(12)), d.src.Uint64()}
}

func amountWord(dst []byte, a amount) []byte { return wideWord(dst, a.hi, a.lo) }

// rlpUint appends a number as RLP: big-endian without leading zeros.
func rlpUint(dst []byte, v uint64) []byte {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], v)
	return ethereum.AppendString(dst, b[bits.LeadingZeros64(v)/8:])
}

// rlpList appends a list of a payload.
func rlpList(dst, payload []byte) []byte {
	return append(ethereum.AppendListHeader(dst, len(payload)), payload...)
}
