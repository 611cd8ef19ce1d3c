package segment_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/segstore/segstore/codec"
)

// receipt12 is receipt-12/1, an encoding for tests: it cuts Ethereum receipts
// into twelve streams, to show that the engine carries encodings of many streams
// at full speed. Receipts that it does not understand go into a stream of their
// own.
//
// A receipt is written from its end, because in RLP a length stands before what
// it is of; so streams are read from their ends. Numbers are in planes, as in
// plain/1, where each can be found without those before it.
type receipt12 struct{}

var _ codec.Encoding = receipt12{}

const (
	rcKinds   = iota // a byte a receipt: type, status, and whether gas counts from zero
	rcGas            // 4 planes: gas, above that of the receipt before
	rcLogs           // W planes: logs a receipt
	rcBits           // a byte a receipt: bytes of its bloom in gaps; 255: the 256 bytes of it
	rcGaps           // zero bits between the ones of a bloom; 255: so many and no one behind
	rcRoots          // 32 bytes: state roots, which once stood for the status
	rcCounts         // a byte a log: its topics
	rcSizes          // W planes: bytes of a log's data
	rcHeads          // 20 bytes address, then 32 of the first topic, if there is one
	rcTopics         // 32 bytes: the other topics
	rcData           // of all logs
	rcEscapes        // other receipts, the length in 4 bytes behind each
	rcStreams
)

const (
	rcType      = 0x07 // 0 for none, else the byte before the list
	rcEscape    = 0x07
	rcRoot      = 0x08
	rcSuccess   = 0x10
	rcFromZero  = 0x20
	rcMaxTopics = 4
	rcDense     = 255
	rcReceipt   = 320 // bytes of a receipt without logs, at most
	rcLog       = 80  // of a log without data and without all topics but the first
)

func (receipt12) Name() string { return "receipt-12/1" }

func (receipt12) Streams() []string {
	return []string{"kinds", "gas", "logs", "bits", "gaps", "roots", "counts", "sizes", "heads", "topics", "data", "escapes"}
}

// receipt is one receipt, taken apart.
type receipt struct {
	kind  byte
	root  []byte
	gas   uint64
	bloom []byte
	logs  []receiptLog
}

type receiptLog struct {
	address []byte
	topics  [][]byte
	data    []byte
}

// rlpItem takes the first item off b.
func rlpItem(b []byte) (list bool, payload, rest []byte, ok bool) {
	if len(b) == 0 {
		return false, nil, nil, false
	}
	tag, head, n := b[0], 1, 0
	list = tag >= 0xc0
	if list {
		tag -= 0x40
	}
	switch {
	case tag < 0x80:
		head, n = 0, 1
	case tag < 0xb8:
		n = int(tag - 0x80)
	default:
		width := int(tag - 0xb7)
		if width > 4 || len(b) < 1+width {
			return false, nil, nil, false
		}
		for _, x := range b[1 : 1+width] {
			n = n<<8 | int(x)
		}
		head += width
	}
	if n > len(b)-head {
		return false, nil, nil, false
	}
	return list, b[head : head+n], b[head+n:], true
}

// parse takes a receipt apart. It is not strict: Split compares with what Join
// makes of the parts.
func (r *receipt) parse(b []byte) bool {
	r.kind, r.root, r.logs = 0, nil, r.logs[:0]
	if len(b) > 0 && b[0] < rcEscape {
		r.kind, b = b[0], b[1:]
		if r.kind == 0 {
			return false
		}
	}
	list, b, rest, ok := rlpItem(b)
	if !ok || !list || len(rest) > 0 {
		return false
	}
	var items [4][]byte
	for i := range items {
		if list, items[i], b, ok = rlpItem(b); !ok || list != (i == 3) {
			return false
		}
	}
	status, gas, logs := items[0], items[1], items[3]
	r.bloom = items[2]
	if len(b) > 0 || len(r.bloom) != 256 || len(gas) > 4 {
		return false
	}
	r.gas = 0
	for _, x := range gas {
		r.gas = r.gas<<8 | uint64(x)
	}
	switch {
	case len(status) == 32:
		r.kind, r.root = r.kind|rcRoot, status
	case len(status) == 1 && status[0] == 1:
		r.kind |= rcSuccess
	case len(status) != 0:
		return false
	}
	for len(logs) > 0 {
		var l, address, topics, data []byte
		if list, l, logs, ok = rlpItem(logs); !ok || !list {
			return false
		}
		if list, address, l, ok = rlpItem(l); !ok || list || len(address) != 20 {
			return false
		}
		if list, topics, l, ok = rlpItem(l); !ok || !list {
			return false
		}
		if list, data, l, ok = rlpItem(l); !ok || list || len(l) > 0 {
			return false
		}
		log := receiptLog{address: address, data: data}
		for len(topics) > 0 {
			var topic []byte
			if list, topic, topics, ok = rlpItem(topics); !ok || list || len(topic) != 32 || len(log.topics) == rcMaxTopics {
				return false
			}
			log.topics = append(log.topics, topic)
		}
		r.logs = append(r.logs, log)
	}
	return len(r.logs) < 1<<16
}

// appendTo appends the receipt to the streams; gas counts from before.
func (r *receipt) appendTo(s [][]byte, p *rcPlanes, before uint64) {
	gas := r.gas - before
	if r.gas < before {
		r.kind, gas = r.kind|rcFromZero, r.gas
	}
	s[rcKinds] = append(s[rcKinds], r.kind)
	p.gas = append(p.gas, uint32(gas))
	p.logs = append(p.logs, uint32(len(r.logs)))
	start := len(s[rcGaps])
	s[rcGaps] = appendGaps(s[rcGaps], r.bloom)
	n := len(s[rcGaps]) - start
	if n >= rcDense {
		s[rcGaps], n = append(s[rcGaps][:start], r.bloom...), rcDense
	}
	s[rcBits] = append(s[rcBits], byte(n))
	s[rcRoots] = append(s[rcRoots], r.root...)
	for _, l := range r.logs {
		s[rcCounts] = append(s[rcCounts], byte(len(l.topics)))
		p.sizes = append(p.sizes, uint32(len(l.data)))
		s[rcHeads] = append(s[rcHeads], l.address...)
		for i, t := range l.topics {
			if i == 0 {
				s[rcHeads] = append(s[rcHeads], t...)
			} else {
				s[rcTopics] = append(s[rcTopics], t...)
			}
		}
		s[rcData] = append(s[rcData], l.data...)
	}
}

// rcPlanes are the numbers that become planes.
type rcPlanes struct{ gas, logs, sizes []uint32 }

func appendGaps(dst, bloom []byte) []byte {
	gap := 0
	for _, b := range bloom {
		if b == 0 {
			gap += 8
			continue
		}
		for i := range 8 {
			if b>>i&1 == 0 {
				gap++
				continue
			}
			for ; gap >= 255; gap -= 255 {
				dst = append(dst, 255)
			}
			dst = append(dst, byte(gap))
			gap = 0
		}
	}
	return dst
}

func appendPlanes(dst []byte, numbers []uint32, width int) []byte {
	for _, n := range numbers {
		for width < 4 && n>>(8*width) != 0 {
			width++
		}
	}
	for w := range width {
		for _, n := range numbers {
			dst = append(dst, byte(n>>(8*w)))
		}
	}
	return dst
}

func (receipt12) Split(streams [][]byte, v *codec.Values) ([][]byte, error) {
	for len(streams) < rcStreams {
		streams = append(streams, nil)
	}
	s := streams[:rcStreams]
	for i := range s {
		s[i] = s[i][:0]
	}
	var r receipt
	var p rcPlanes
	var check codec.Values
	one := make([][]byte, rcStreams)
	before := uint64(0)
	for i := range v.Len() {
		value := v.At(i)
		ok := r.parse(value)
		if ok { // one receipt alone: the form must be the one that Join writes
			for k := range one {
				one[k] = one[k][:0]
			}
			var q rcPlanes
			r.appendTo(one, &q, 0)
			q.appendTo(one)
			ok = receipt12{}.Join(&check, one, 1) == nil && bytes.Equal(check.Data, value)
		}
		if !ok {
			s[rcKinds] = append(s[rcKinds], rcEscape)
			p.gas, p.logs, s[rcBits] = append(p.gas, 0), append(p.logs, 0), append(s[rcBits], 0)
			s[rcEscapes] = binary.LittleEndian.AppendUint32(append(s[rcEscapes], value...), uint32(len(value)))
			continue
		}
		r.kind &^= rcFromZero
		r.appendTo(s, &p, before)
		before = r.gas
	}
	p.appendTo(s)
	return s, nil
}

func (p *rcPlanes) appendTo(s [][]byte) {
	s[rcGas] = appendPlanes(s[rcGas], p.gas, 4)
	s[rcLogs] = appendPlanes(s[rcLogs], p.logs, 1)
	s[rcSizes] = appendPlanes(s[rcSizes], p.sizes, 1)
}

// plane returns number i of n.
func plane(b []byte, i, n int) int {
	v := int(b[i])
	for shift := 8; ; shift += 8 {
		if i += n; i >= len(b) {
			return v
		}
		v |= int(b[i]) << shift
	}
}

var errReceipt12 = fmt.Errorf("%w: receipt-12/1", codec.ErrCorrupt)

func (receipt12) Join(v *codec.Values, s [][]byte, rows int) error {
	logs := len(s[rcCounts])
	if len(s) != rcStreams || len(s[rcKinds]) != rows || len(s[rcBits]) != rows || len(s[rcGas]) != 4*rows ||
		len(s[rcLogs])%rows != 0 || len(s[rcLogs]) == 0 || len(s[rcLogs]) > 2*rows ||
		logs == 0 && len(s[rcSizes]) > 0 || logs > 0 && (len(s[rcSizes])%logs != 0 || len(s[rcSizes]) == 0 || len(s[rcSizes]) > 4*logs) {
		return errReceipt12
	}
	most := rows*rcReceipt + logs*rcLog + len(s[rcTopics])/32*33 + len(s[rcData]) + len(s[rcEscapes])
	v.Buf = slices.Grow(v.Buf[:0], most)[:most]
	v.Ends = slices.Grow(v.Ends[:0], rows)[:rows]
	// Gas first, from the front: where it is written the end will be.
	gas, sum := s[rcGas], uint32(0)
	for i, k := range s[rcKinds] {
		if k&rcFromZero != 0 {
			sum = 0
		}
		sum += uint32(gas[i]) | uint32(gas[rows+i])<<8 | uint32(gas[2*rows+i])<<16 | uint32(gas[3*rows+i])<<24
		v.Ends[i] = sum
	}
	j := receiptJoiner{in: [rcStreams][]byte(s), out: v.Buf, at: most, logs: logs}
	for i := rows - 1; i >= 0; i-- {
		g := v.Ends[i]
		v.Ends[i] = uint32(j.at)
		if !j.receipt(s[rcKinds][i], g, plane(s[rcLogs], i, rows), s[rcBits][i]) {
			return errReceipt12
		}
	}
	for i := range v.Ends {
		v.Ends[i] -= uint32(j.at)
	}
	v.Data = v.Buf[j.at:most:most]
	for _, k := range []int{rcGaps, rcRoots, rcHeads, rcTopics, rcData, rcEscapes} {
		if len(j.in[k]) > 0 || j.logs > 0 {
			return errReceipt12
		}
	}
	return nil
}

// receiptJoiner writes receipts from the last to the first, each from its end.
type receiptJoiner struct {
	in   [rcStreams][]byte // those without planes are cut as their ends are used
	out  []byte
	at   int // what is behind it has been written
	logs int // that are left
}

// header writes the head of an RLP item of n bytes.
func (j *receiptJoiner) header(base byte, n int) {
	if n < 56 {
		j.at--
		j.out[j.at] = base + byte(n)
		return
	}
	width := byte(0)
	for ; n > 0; n >>= 8 {
		j.at--
		j.out[j.at] = byte(n)
		width++
	}
	j.at--
	j.out[j.at] = base + 55 + width
}

// last takes the last n bytes off a stream, if it has as many.
func (j *receiptJoiner) last(stream, n int) (b []byte, ok bool) {
	b = j.in[stream]
	at := len(b) - n
	if at < 0 {
		return nil, false
	}
	j.in[stream] = b[:at]
	return b[at:], true
}

func (j *receiptJoiner) put(b []byte) {
	j.at -= len(b)
	copy(j.out[j.at:], b)
}

func (j *receiptJoiner) receipt(kind byte, gas uint32, logs int, bits byte) bool {
	if kind&rcType == rcEscape {
		length, ok := j.last(rcEscapes, 4)
		if !ok || kind != rcEscape || logs > 0 || bits > 0 {
			return false
		}
		value, ok := j.last(rcEscapes, int(binary.LittleEndian.Uint32(length)))
		j.put(value)
		return ok
	}
	end := j.at
	for range logs {
		if !j.log() {
			return false
		}
	}
	j.header(0xc0, end-j.at)
	if !j.bloom(int(bits)) {
		return false
	}
	j.number(gas)
	switch {
	case kind&rcRoot != 0:
		root, ok := j.last(rcRoots, 32)
		if !ok || kind&rcSuccess != 0 {
			return false
		}
		j.put(root)
		j.header(0x80, 32)
	case kind&rcSuccess != 0:
		j.at--
		j.out[j.at] = 1
	default:
		j.header(0x80, 0)
	}
	j.header(0xc0, end-j.at)
	if t := kind & rcType; t > 0 {
		j.at--
		j.out[j.at] = t
	}
	return kind < 2*rcFromZero
}

// number writes a number as RLP has it: without leading zeros, small ones as they are.
func (j *receiptJoiner) number(v uint32) {
	if v < 0x80 {
		j.at--
		if j.out[j.at] = byte(v); v == 0 {
			j.out[j.at] = 0x80
		}
		return
	}
	end := j.at
	for ; v > 0; v >>= 8 {
		j.at--
		j.out[j.at] = byte(v)
	}
	j.header(0x80, end-j.at)
}

func (j *receiptJoiner) bloom(bits int) bool {
	j.at -= 256
	b := (*[256]byte)(j.out[j.at:])
	if bits == rcDense {
		dense, ok := j.last(rcGaps, 256)
		if !ok {
			return false
		}
		copy(b[:], dense)
	} else {
		gaps, ok := j.last(rcGaps, bits)
		if !ok {
			return false
		}
		clear(b[:])
		bit := uint(0)
		for _, gap := range gaps {
			if bit += uint(gap); gap == 255 {
				continue
			}
			if bit >= 2048 {
				return false
			}
			b[bit/8%256] |= 1 << (bit % 8)
			bit++
		}
	}
	j.at -= 3
	copy(j.out[j.at:], "\xb9\x01\x00")
	return true
}

func (j *receiptJoiner) log() bool {
	all := len(j.in[rcCounts])
	if j.logs--; j.logs < 0 {
		j.logs = 0
		return false
	}
	end := j.at
	topics := int(j.in[rcCounts][j.logs])
	data, ok := j.last(rcData, plane(j.in[rcSizes], j.logs, all))
	if !ok || topics > rcMaxTopics {
		return false
	}
	j.put(data)
	if len(data) != 1 || data[0] >= 0x80 {
		j.header(0x80, len(data))
	}
	head, ok := j.last(rcHeads, 20+min(topics, 1)*32)
	more, ok2 := j.last(rcTopics, 32*max(topics-1, 0))
	if !ok || !ok2 {
		return false
	}
	before := j.at
	for ; len(more) > 0; more = more[:len(more)-32] {
		j.put(more[len(more)-32:])
		j.at--
		j.out[j.at] = 0xa0
	}
	if topics > 0 {
		j.put(head[20:])
		j.at--
		j.out[j.at] = 0xa0
	}
	j.header(0xc0, before-j.at)
	j.put(head[:20])
	j.at--
	j.out[j.at] = 0x94
	j.header(0xc0, end-j.at)
	return true
}
