package codec

import (
	"runtime/debug"
	"strings"
)

// What EncoderVersion returns where a binary carries no module information: the
// version that go.mod requires.
const (
	encoderModule   = "github.com/klauspost/compress"
	fallbackVersion = "v1.20.4"
)

// EncoderVersion returns the name and version of the library that compresses, as
// segments record it: "klauspost/compress v1.20.4". Another version may make
// other bytes of the same values.
func EncoderVersion() string {
	version := fallbackVersion
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path != encoderModule {
				continue
			}
			if m.Replace != nil {
				m = m.Replace
			}
			if m.Version != "" {
				version = m.Version
			}
		}
	}
	return strings.TrimPrefix(encoderModule, "github.com/") + " " + version
}
