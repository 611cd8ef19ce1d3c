//go:build !race

package ethereum

import "testing"

func TestNoAllocation(t *testing.T) {
	f := keccak256(t)
	value, dst := make([]byte, 550), make([]byte, 0, hashBytes)
	if n := testing.AllocsPerRun(1000, func() { _, _ = f.Append(dst, value) }); n != 0 {
		t.Errorf("%v allocations a call", n)
	}
}
