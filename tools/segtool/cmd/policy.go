package cmd

import (
	"errors"
	"io"
	"strings"

	"github.com/segstore/segstore/codec"
	"github.com/spf13/cobra"
)

// policyFlags are the flags that choose a policy.
type policyFlags struct {
	profile, file, encoding string
}

func (p *policyFlags) add(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&p.profile, "profile", "", "policy by name: "+strings.Join(codec.Profiles(), ", "))
	f.StringVar(&p.file, "policy", "", "policy from a file; its text is what info prints")
	f.StringVar(&p.encoding, "encoding", "", "encoding of the columns of bytes, such as plain")
	exclusive(c, "profile", "policy")
	complete(c, "profile", codec.Profiles()...)
	var names []string
	for _, e := range codec.Encodings() {
		name, _, _ := strings.Cut(e.Name(), "/")
		names = append(names, name)
	}
	complete(c, "encoding", names...)
}

// policy returns the policy asked for, without the encoding; the zero policy where
// none is.
func (p *policyFlags) policy(a *app) (codec.Policy, error) {
	switch {
	case p.profile != "":
		policy, err := codec.Profile(p.profile)
		if err != nil {
			return policy, usage(err)
		}
		return policy, nil
	case p.file != "":
		f, err := a.fs.Open(p.file)
		if err != nil {
			return codec.Policy{}, err
		}
		text, err := io.ReadAll(io.LimitReader(f, codec.MaxPolicyBytes+1))
		if err = errors.Join(err, f.Close()); err != nil {
			return codec.Policy{}, err
		}
		policy, err := codec.ParsePolicy(string(text))
		if err != nil {
			return policy, usagef("%s: %w", p.file, err)
		}
		return policy, nil
	}
	return codec.Policy{}, nil
}
