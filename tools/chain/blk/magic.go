package blk

import (
	"encoding/hex"
	"fmt"
)

// Magic is the four bytes before each block of a network, in the order they lie in the file.
type Magic [4]byte

// networks are the magics of Core's chainparams. A signet of one's own has another one, made from its challenge, so
// unknown magics are read too.
var networks = [...]struct {
	magic Magic
	name  string
}{
	{Magic{0xf9, 0xbe, 0xb4, 0xd9}, "mainnet"},
	{Magic{0x0b, 0x11, 0x09, 0x07}, "testnet3"},
	{Magic{0x1c, 0x16, 0x3f, 0x28}, "testnet4"},
	{Magic{0x0a, 0x03, 0xcf, 0x40}, "signet"},
	{Magic{0xfa, 0xbf, 0xb5, 0xda}, "regtest"},
}

// Network returns the name of the network, or "" where it is not one of Core's.
func (m Magic) Network() string {
	for _, n := range networks {
		if n.magic == m {
			return n.name
		}
	}
	return ""
}

// String returns the magic in hex, with the network where it is known: "f9beb4d9 (mainnet)".
func (m Magic) String() string {
	if name := m.Network(); name != "" {
		return hex.EncodeToString(m[:]) + " (" + name + ")"
	}
	return hex.EncodeToString(m[:])
}

// ParseMagic reads a network's name or 8 hex digits. Zero is no magic: it could not be told from padding.
func ParseMagic(s string) (Magic, error) {
	for _, n := range networks {
		if n.name == s {
			return n.magic, nil
		}
	}
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != len(Magic{}) || Magic(b) == (Magic{}) {
		return Magic{}, fmt.Errorf("blk: magic %q is neither a network's name nor 8 hex digits other than 0", s)
	}
	return Magic(b), nil
}
