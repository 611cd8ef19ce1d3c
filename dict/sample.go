package dict

import (
	"bytes"
	"cmp"
	"slices"
)

const (
	// maxSampleBytes is how much of one sample is used. A giant must not push out a thousand others, by then it has told
	// what it repeats, and zstd.BuildDict panics on more than one zstd block.
	maxSampleBytes = 128 << 10

	// minSampleBytes is the shortest sample used: zstd.BuildDict skips shorter ones.
	minSampleBytes = 8

	// minSamples is the fewest samples trained on: with fewer, what two of them share says little about the others.
	minSamples = 8

	// sampleCost is what a kept sample costs besides its bytes; it bounds the number of tiny ones.
	sampleCost = 32
)

// sampleBudget is how many bytes of samples are kept to train a dictionary of maxBytes. Returns diminish at about a
// hundred times the dictionary; the bounds keep small ones well fed and large ones affordable.
func sampleBudget(maxBytes int) int { return min(max(128*maxBytes, 4<<20), 16<<20) }

// keeper holds copies of an even selection of the samples it is given, whatever their number: at most budget bytes.
// Which ones it holds depends on the number and lengths of the samples only.
type keeper struct {
	budget int
	seen   uint64
	bytes  int
	limit  uint64     // samples of this rank and above are out
	heap   []numbered // highest rank first
}

// numbered is a sample, how many came before it, and its rank.
type numbered struct {
	number, rank uint64
	sample       []byte
}

func newKeeper(budget int) *keeper { return &keeper{budget: budget, limit: 1<<64 - 1} }

// rank orders samples for being dropped. Multiples of the golden ratio, modulo 1, spread evenly: the numbers whose rank
// is below any limit lie at nearly equal distances.
func rank(number uint64) uint64 { return number * 0x9E3779B97F4A7C15 }

func (k *keeper) add(s []byte) {
	if len(s) < minSampleBytes {
		return
	}
	n := numbered{number: k.seen, rank: rank(k.seen)}
	k.seen++
	if n.rank >= k.limit {
		return
	}
	n.sample = bytes.Clone(cut(s))
	k.bytes += len(n.sample) + sampleCost
	k.push(n)
	for k.bytes > k.budget && len(k.heap) > 1 {
		out := k.pop()
		k.limit = out.rank
		k.bytes -= len(out.sample) + sampleCost
	}
}

// samples returns what is kept, in the order it came.
func (k *keeper) samples() [][]byte {
	slices.SortFunc(k.heap, func(a, b numbered) int { return cmp.Compare(a.number, b.number) })
	out := make([][]byte, len(k.heap))
	for i, n := range k.heap {
		out[i] = n.sample
	}
	return out
}

func (k *keeper) push(n numbered) {
	k.heap = append(k.heap, n)
	for i := len(k.heap) - 1; i > 0; {
		parent := (i - 1) / 2
		if k.heap[parent].rank > k.heap[i].rank {
			break
		}
		k.heap[parent], k.heap[i] = k.heap[i], k.heap[parent]
		i = parent
	}
}

func (k *keeper) pop() numbered {
	top, last := k.heap[0], len(k.heap)-1
	k.heap[0] = k.heap[last]
	k.heap[last] = numbered{}
	k.heap = k.heap[:last]
	for i := 0; ; {
		child := 2*i + 1
		if child >= last {
			break
		}
		if child+1 < last && k.heap[child+1].rank > k.heap[child].rank {
			child++
		}
		if k.heap[child].rank <= k.heap[i].rank {
			break
		}
		k.heap[i], k.heap[child] = k.heap[child], k.heap[i]
		i = child
	}
	return top
}

// thin returns an even selection of items, in their order, of at most budget bytes: those of the lowest ranks that fit.
func thin[T any](items []T, size func(T) int, budget int) []T {
	total := 0
	for _, t := range items {
		total += size(t) + sampleCost
	}
	if total <= budget {
		return items
	}
	order := make([]int, len(items))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(rank(uint64(a)), rank(uint64(b))) })
	left := budget
	order = slices.DeleteFunc(order, func(i int) bool {
		cost := size(items[i]) + sampleCost
		if cost > left {
			return true
		}
		left -= cost
		return false
	})
	slices.Sort(order)
	out := make([]T, len(order))
	for i, j := range order {
		out[i] = items[j]
	}
	return out
}

// cut returns the part of a sample that is trained on.
func cut(s []byte) []byte { return s[:min(len(s), maxSampleBytes)] }
