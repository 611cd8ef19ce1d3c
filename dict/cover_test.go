package dict

import (
	"bytes"
	"testing"
)

// countGrams counts in how many samples each string of gramBytes occurs, plainly.
func countGrams(samples [][]byte) map[string]int {
	counts := make(map[string]int)
	for _, s := range samples {
		seen := make(map[string]bool)
		for p := 0; p+gramBytes <= len(s); p++ {
			if g := string(s[p : p+gramBytes]); !seen[g] {
				seen[g] = true
				counts[g]++
			}
		}
	}
	return counts
}

func TestMaterialCounts(t *testing.T) {
	samples := [][]byte{
		[]byte("abcdefgh-abcdefgh"), []byte("xabcdefghx"), []byte("short"), []byte("abcdef"),
		bytes.Repeat([]byte{0}, 50), make([]byte, 1<<21), randomBytes(rng(1), 300),
	}
	want := countGrams(samples)
	m := newMaterial(samples)
	if len(m.data) != 17+10+5+6+50+1<<21+300 || m.ends[len(m.ends)-1] != len(m.data) {
		t.Fatalf("%d bytes of material, ends %v", len(m.data), m.ends)
	}
	begin := 0
	for _, end := range m.ends {
		for p := begin; p < end; p++ { // long samples make a large table, in which these few strings do not meet
			count := 0
			if p+gramBytes <= end {
				count = want[string(m.data[p:p+gramBytes])]
			}
			if count == 1 {
				count = 0
			}
			if got := int(m.freq[m.gram[p]]); got != count {
				t.Errorf("position %d: %d samples, want %d", p, got, count)
			}
		}
		begin = end
	}
}

// covered is how much of the samples a dictionary knows: each string in it, times the samples it is in.
func covered(content []byte, counts map[string]int) int {
	seen := make(map[string]bool)
	sum := 0
	for p := 0; p+gramBytes <= len(content); p++ {
		if g := string(content[p : p+gramBytes]); !seen[g] {
			seen[g] = true
			sum += counts[g]
		}
	}
	return sum
}

// TestSelectContentCovers: what is chosen covers the samples better than any stretch of them of the same size, its tails do
// so as well, and they are the choice of a smaller dictionary.
func TestSelectContentCovers(t *testing.T) {
	samples := records(rng(3), 60, 12)
	counts := countGrams(samples)
	all := bytes.Join(samples, nil)
	content := selectContent(newMaterial(samples), 8<<10)
	if len(content) < 4<<10 || len(content) > 8<<10 {
		t.Fatalf("%d bytes chosen", len(content))
	}
	for _, n := range []int{1 << 10, 2 << 10, 4 << 10, len(content)} {
		tail := content[len(content)-n:]
		got := covered(tail, counts)
		for p := 0; p+n <= len(all); p += n / 2 {
			if other := covered(all[p:p+n], counts); other > got {
				t.Errorf("best %d bytes cover %d, those at %d cover %d", n, got, p, other)
			}
		}
		if n < len(content) {
			small := selectContent(newMaterial(samples), n)
			if c := covered(small, counts); c > got+got/50 {
				t.Errorf("tail of %d bytes covers %d, a dictionary of that size %d", n, got, c)
			}
		}
	}
}

// TestSelectContentHostile: the search ends soon and repeats nothing where samples are made to be alike everywhere.
func TestSelectContentHostile(t *testing.T) {
	text := randomBytes(rng(4), 1000)
	for _, c := range []struct {
		name    string
		samples [][]byte
		most    int // bytes of content
	}{
		{"zeros", repeat(40, func(int) []byte { return make([]byte, 20000) }), 800},
		{"period 7", repeat(40, func(int) []byte { return bytes.Repeat([]byte("seven77"), 3000) }), 800},
		{"one text", repeat(40, func(int) []byte { return bytes.Repeat(text, 20) }), 1600},
		{"rotations", repeat(400, func(i int) []byte { return bytes.Repeat(append(text[i:len(text):len(text)], text[:i]...), 5) }), 1600},
		{"unlike", repeat(40, func(i int) []byte { return randomBytes(rng(uint64(i)), 20000) }), 64 << 10},
		{"empty", repeat(40, func(int) []byte { return nil }), 0},
		{"none", nil, 0},
	} {
		m := newMaterial(c.samples)
		content := selectContent(m, 64<<10)
		if len(content) > c.most {
			t.Errorf("%s: %d bytes chosen, want at most %d", c.name, len(content), c.most)
		}
	}
}
