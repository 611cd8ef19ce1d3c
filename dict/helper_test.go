package dict

import (
	"encoding/binary"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// required says that tests must not skip for want of data or tools.
func required() bool { return os.Getenv("REALDATA") == "required" }

// realData returns the path of a file of real chain data, or skips.
func realData(t testing.TB, name string) string {
	t.Helper()
	dir := os.Getenv("SEGSTORE_DATA")
	if dir == "" {
		at, err := os.Getwd()
		if err != nil {
			t.Fatal(err)
		}
		for dir == "" && at != filepath.Dir(at) {
			at = filepath.Dir(at)
			if d := filepath.Join(at, "shared", "data"); isDir(d) {
				dir = d
			}
		}
	}
	path := filepath.Join(dir, name)
	if _, err := os.Stat(path); dir == "" || err != nil {
		if required() {
			t.Fatalf("real data %s not found (SEGSTORE_DATA=%q)", name, os.Getenv("SEGSTORE_DATA"))
		}
		t.Skipf("real data %s not found; set SEGSTORE_DATA to its folder", name)
	}
	return path
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// zstdTool returns the path of the zstd command, or skips.
func zstdTool(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath("zstd")
	if err != nil {
		if required() {
			t.Fatal(err)
		}
		t.Skip("the zstd command is not installed")
	}
	return path
}

// rlpItem splits the first item of an RLP stream into its payload and what follows it.
func rlpItem(b []byte) (item, payload, rest []byte, list bool) {
	long := func(lengthBytes int) (int, int) {
		n := 0
		for _, c := range b[1 : 1+lengthBytes] {
			n = n<<8 | int(c)
		}
		return 1 + lengthBytes, n
	}
	head, n := 1, 0
	switch c := b[0]; {
	case c < 0x80:
		return b[:1], b[:1], b[1:], false
	case c < 0xB8:
		n = int(c - 0x80)
	case c < 0xC0:
		head, n = long(int(c - 0xB7))
	case c < 0xF8:
		n, list = int(c-0xC0), true
	default:
		head, n = long(int(c - 0xF7))
		list = true
	}
	return b[:head+n], b[head : head+n], b[head+n:], list
}

func rlpItems(b []byte) (items, payloads [][]byte) {
	for len(b) > 0 {
		item, payload, rest, list := rlpItem(b)
		if !list && len(payload) > 1 {
			item = payload // a typed transaction or receipt in its string
		}
		items, payloads = append(items, item), append(payloads, payload)
		b = rest
	}
	return items, payloads
}

// realRows returns the headers, transactions and receipts of a file of RLP lists [header, [transactions, …], receipts].
func realRows(t testing.TB, name string) (headers, transactions, receipts [][]byte) {
	t.Helper()
	b, err := os.ReadFile(realData(t, name))
	if err != nil {
		t.Fatal(err)
	}
	_, blocks := rlpItems(b)
	for _, block := range blocks {
		items, payloads := rlpItems(block)
		headers = append(headers, items[0])
		_, body := rlpItems(payloads[1])
		rows, _ := rlpItems(body[0])
		transactions = append(transactions, rows...)
		rows, _ = rlpItems(payloads[2])
		receipts = append(receipts, rows...)
	}
	return headers, transactions, receipts
}

// blocks cuts rows into blocks of about size bytes: their lengths, then their bytes.
func blocks(rows [][]byte, size int) [][]byte {
	var out [][]byte
	var lengths, data []byte
	for i, r := range rows {
		lengths = binary.AppendUvarint(lengths, uint64(len(r)))
		data = append(data, r...)
		if len(data) >= size || i == len(rows)-1 {
			out = append(out, append(slices.Clip(lengths), data...))
			lengths, data = nil, nil
		}
	}
	return out
}

func rng(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

func randomBytes(r *rand.Rand, n int) []byte {
	b := make([]byte, 0, n+8)
	for len(b) < n {
		b = binary.LittleEndian.AppendUint64(b, r.Uint64())
	}
	return b[:n]
}

// records returns blocks of n receipt-like records each: fields that all share, a few addresses and topics seen again and
// again, amounts and hashes that are new each time.
func records(r *rand.Rand, count, n int) [][]byte {
	addresses := make([][]byte, 200)
	for i := range addresses {
		addresses[i] = randomBytes(rng(uint64(i)), 20)
	}
	topics := make([][]byte, 40)
	for i := range topics {
		topics[i] = randomBytes(rng(uint64(1000+i)), 32)
	}
	out := make([][]byte, count)
	for i := range out {
		var b []byte
		for range n {
			b = append(b, 0xF9, 0x01, 0xA6, 0x01, 0x83)
			b = append(b, randomBytes(r, 3)...)
			b = append(b, 0xB9, 0x01, 0x00)
			b = append(b, make([]byte, 256)...)
			b = append(b, 0xF8, 0x9B, 0x94)
			b = append(b, addresses[r.IntN(len(addresses))]...)
			b = append(b, 0xF8, 0x63, 0xA0)
			b = append(b, topics[r.IntN(len(topics))]...)
			b = append(b, 0xA0)
			b = append(b, make([]byte, 12)...)
			b = append(b, addresses[r.IntN(len(addresses))]...)
			b = append(b, 0xA0)
			b = append(b, randomBytes(r, 32)...)
		}
		out[i] = b
	}
	return out
}

func repeat(n int, f func(i int) []byte) [][]byte {
	out := make([][]byte, n)
	for i := range out {
		out[i] = f(i)
	}
	return out
}

func each(samples [][]byte) iter.Seq[[]byte] { return slices.Values(samples) }

// storing returns a TrialFunc that compresses at the two levels given.
func storing(t testing.TB, with, without int) TrialFunc {
	encoders := make(map[*Dict]*zstd.Encoder)
	t.Cleanup(func() {
		for _, e := range encoders {
			e.Close()
		}
	})
	return func(d *Dict, sample []byte) (int, error) {
		e := encoders[d]
		if e == nil {
			level := with
			if d == nil {
				level = without
			}
			enc, dec, err := coders(d, level)
			if err != nil {
				return 0, err
			}
			dec.Close()
			e, encoders[d] = enc, enc
		}
		return len(e.EncodeAll(sample, nil)), nil
	}
}

// size returns what samples take at a level with d, checked by decoding them.
func size(t testing.TB, d *Dict, samples [][]byte, level int) int64 {
	t.Helper()
	n, err := selfTest(d, samples, level)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func mustTrain(t testing.TB, samples [][]byte, o TrainOptions) *Dict {
	t.Helper()
	d, err := Train(each(samples), o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func percent(a, b int64) string { return fmt.Sprintf("%+.2f %%", 100*float64(a-b)/float64(b)) }
