package cmd

import (
	"context"
	"runtime"
	"runtime/debug"

	"github.com/segstore/segstore/codec"
	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/segment/archive"
	"github.com/spf13/cobra"
)

type versionInfo struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified,omitempty"` // the source was, since the revision
	Segment  int    `json:"segment_version"`    // written by this program, and the newest it reads
	Manifest int    `json:"manifest_version"`
	Encoder  string `json:"encoder"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func (a *app) versionVerb() *cobra.Command {
	return verb{
		use: "version", short: "Say which version this is, and of what it writes",
		long:    "Version prints the version of segtool, of the formats it writes, and of the encoder.",
		example: "  segtool version --json",
		codes:   []int{codeFine, codeUsage},
		args:    cobra.NoArgs,
		run: func(context.Context, []string) error {
			v := version()
			return a.result(v, func() {
				name := v.Version
				if v.Revision != "" {
					name += " " + v.Revision
				}
				if v.Modified {
					name += ", modified"
				}
				a.fields("segtool", name,
					"segment format", count(v.Segment),
					"manifest format", count(v.Manifest),
					"encoder", v.Encoder,
					"go", v.Go+" "+v.Platform)
			})
		},
	}.command()
}

func version() versionInfo {
	v := versionInfo{
		Version: "(devel)", Segment: segment.Version, Manifest: archive.Version,
		Encoder: codec.EncoderVersion(), Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
	b, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if b.Main.Version != "" {
		v.Version = b.Main.Version
	}
	for _, s := range b.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}
