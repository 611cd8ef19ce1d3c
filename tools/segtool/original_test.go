package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/klauspost/compress/snappy"
	"golang.org/x/crypto/sha3"
)

// What the hashes of real files are, found without a line of the code that imports,
// stores or indexes them.

// original is a header or transaction as a file has it, and its hash as explorers print
// it.
type original struct {
	bytes []byte
	hash  string
}

type originals struct{ blocks, transactions []original }

func keccak(b []byte) original {
	h := sha3.NewLegacyKeccak256()
	h.Write(b)
	return original{b, "0x" + hex.EncodeToString(h.Sum(nil))}
}

// sha256d is of a header, or of a transaction without its witnesses.
func sha256d(b, hashed []byte) original {
	sum := sha256.Sum256(hashed)
	sum = sha256.Sum256(sum[:])
	slices.Reverse(sum[:])
	return original{b, hex.EncodeToString(sum[:])}
}

// rlpItem cuts the first item off: as it lies there, and what is in it.
func rlpItem(b []byte) (whole, content, rest []byte) {
	head, size := 1, 0
	long := func(n int) {
		head = 1 + n
		for _, c := range b[1:head] {
			size = size<<8 | int(c)
		}
	}
	switch c := b[0]; {
	case c < 0x80:
		return b[:1], b[:1], b[1:]
	case c < 0xb8:
		size = int(c - 0x80)
	case c < 0xc0:
		long(int(c - 0xb7))
	case c < 0xf8:
		size = int(c - 0xc0)
	default:
		long(int(c - 0xf7))
	}
	return b[:head+size], b[head : head+size], b[head+size:]
}

func (o *originals) ethereum(header, body []byte) {
	o.blocks = append(o.blocks, keccak(header))
	_, body, _ = rlpItem(body)
	for _, list, _ := rlpItem(body); len(list) > 0; {
		var whole, content []byte
		if whole, content, list = rlpItem(list); whole[0] >= 0xc0 { // else typed: a string
			content = whole
		}
		o.transactions = append(o.transactions, keccak(content))
	}
}

// rlps reads a stream of [header, body, receipts].
func (o *originals) rlps(_ *testing.T, b []byte) {
	for len(b) > 0 {
		_, block, rest := rlpItem(b)
		header, _, body := rlpItem(block)
		o.ethereum(header, body)
		b = rest
	}
}

// era1 reads headers and bodies of the entries of an era1 file.
func (o *originals) era1(t *testing.T, b []byte) {
	var header []byte
	for len(b) > 0 {
		kind, size := binary.LittleEndian.Uint16(b), binary.LittleEndian.Uint32(b[2:])
		entry := b[8 : 8+size]
		b = b[8+size:]
		if kind != 3 && kind != 4 {
			continue
		}
		plain, err := io.ReadAll(snappy.NewReader(bytes.NewReader(entry)))
		if err != nil {
			t.Fatal(err)
		}
		if kind == 3 {
			header = plain
		} else {
			o.ethereum(header, plain)
		}
	}
}

// btcCursor walks over a Bitcoin block.
type btcCursor struct {
	b  []byte
	at int
}

func (c *btcCursor) skip(n int) { c.at += n }

func (c *btcCursor) count() int {
	v := c.b[c.at:]
	c.at++
	switch v[0] {
	case 0xfd:
		c.at += 2
		return int(binary.LittleEndian.Uint16(v[1:]))
	case 0xfe:
		c.at += 4
		return int(binary.LittleEndian.Uint32(v[1:]))
	case 0xff:
		c.at += 8
		return int(binary.LittleEndian.Uint64(v[1:]))
	}
	return int(v[0])
}

func (o *originals) bitcoin(block []byte) {
	o.blocks = append(o.blocks, sha256d(block[:80], block[:80]))
	c := &btcCursor{block, 80}
	for range c.count() {
		start := c.at
		hashed := slices.Clone(c.b[start : start+4])
		c.skip(4)
		witnesses := c.b[c.at] == 0
		if witnesses {
			c.skip(2)
		}
		from := c.at
		inputs := c.count()
		for range inputs {
			c.skip(36)
			c.skip(c.count())
			c.skip(4)
		}
		for range c.count() {
			c.skip(8)
			c.skip(c.count())
		}
		hashed = append(hashed, c.b[from:c.at]...)
		if witnesses {
			for range inputs {
				for range c.count() {
					c.skip(c.count())
				}
			}
		}
		hashed = append(hashed, c.b[c.at:c.at+4]...)
		c.skip(4)
		o.transactions = append(o.transactions, sha256d(c.b[start:c.at], hashed))
	}
}

// blk reads blocks behind their magic and length, or a single one without.
func (o *originals) blk(_ *testing.T, b []byte) {
	magic := []byte{0xf9, 0xbe, 0xb4, 0xd9}
	if !bytes.HasPrefix(b, magic) {
		o.bitcoin(b)
		return
	}
	for bytes.HasPrefix(b, magic) {
		size := binary.LittleEndian.Uint32(b[4:])
		o.bitcoin(b[8 : 8+size])
		b = b[8+size:]
	}
}

// freezerItems reads a table of a geth freezer with one data file.
func freezerItems(t *testing.T, dir, table, suffix string) (items [][]byte) {
	read := func(name string) []byte {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	ends, data := read(table+"."+suffix+"idx"), read(table+".0000."+suffix+"dat")
	from := uint32(0)
	for i := 6; i < len(ends); i += 6 { // the first says where the table begins
		end := binary.BigEndian.Uint32(ends[i+2:])
		item := data[from:end]
		if from = end; suffix == "c" {
			var err error
			if item, err = snappy.Decode(nil, item); err != nil {
				t.Fatal(err)
			}
		}
		items = append(items, item)
	}
	return items
}

// freezerStream returns the blocks of a geth freezer as geth exports them, [header,
// transactions, uncles, …], and the hashes that geth keeps beside them.
func freezerStream(t *testing.T, dir string) (stream []byte, o originals) {
	headers, bodies, hashes := freezerItems(t, dir, "headers", "c"), freezerItems(t, dir, "bodies", "c"), freezerItems(t, dir, "hashes", "r")
	if len(headers) != len(bodies) || len(headers) != len(hashes) {
		t.Fatalf("%d headers, %d bodies, %d hashes", len(headers), len(bodies), len(hashes))
	}
	for i, header := range headers {
		o.ethereum(header, bodies[i])
		if got, want := o.blocks[i].hash, "0x"+hex.EncodeToString(hashes[i]); got != want {
			t.Fatalf("block %d has hash %s, geth says %s", i, got, want)
		}
		_, content, _ := rlpItem(bodies[i])
		size := len(header) + len(content)
		stream = append(stream, rlpListHead(size)...)
		stream = append(append(stream, header...), content...)
	}
	return stream, o
}

func rlpListHead(size int) []byte {
	if size < 56 {
		return []byte{0xc0 + byte(size)}
	}
	b := binary.BigEndian.AppendUint64(nil, uint64(size))
	for b[0] == 0 {
		b = b[1:]
	}
	return append([]byte{0xf7 + byte(len(b))}, b...)
}
