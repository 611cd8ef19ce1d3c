package codec

import (
	"fmt"
	"strings"
)

// DefaultProfile is the profile for those who name none.
const DefaultProfile = "balanced"

// profiles returns the literal table of profiles.
//
// A dictionary is tried only with levels whose encoder is not slowed down out of
// proportion by it: "fastest" with a dictionary, or "default" without.
func profiles() []struct{ name, text string } {
	return []struct{ name, text string }{
		// Point reads: a chunk is about a page of a disk.
		{"hot", "chunk 4096\n* group=column codec=zstd:1+dict else=zstd:1 dict=32768\n"},
		// Both point reads and scans.
		{"balanced", "chunk 32768\n* group=column codec=zstd:1+dict else=zstd:3 dict=65536\n"},
		// Archives and scans: a chunk of this size is its own dictionary.
		{"cold", "chunk 524288\n* group=column codec=zstd:7\n"},
	}
}

// Profiles returns the names of the profiles.
func Profiles() []string {
	var names []string
	for _, p := range profiles() {
		names = append(names, p.name)
	}
	return names
}

// Profile returns the policy of a profile: "hot", "balanced" or "cold".
func Profile(name string) (Policy, error) {
	for _, p := range profiles() {
		if p.name == name {
			return ParsePolicy(p.text)
		}
	}
	return Policy{}, fmt.Errorf("codec: profile %q, expected one of %s", name, strings.Join(Profiles(), ", "))
}
