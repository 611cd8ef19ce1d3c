package cmd

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/segstore/segstore/codec"
	"github.com/segstore/segstore/segment"
	"github.com/spf13/cobra"
)

// policyFlags are the flags that choose a policy.
type policyFlags struct {
	profile, file, encoding string
}

func (p *policyFlags) add(c *cobra.Command) {
	wordFlag(c, &p.profile, "profile", "", codec.Profiles(), "policy by name: "+strings.Join(codec.Profiles(), ", "))
	textFlag(c, &p.file, "policy", "policy from a file; its text is what info prints", nil)
	textFlag(c, &p.encoding, "encoding", "encoding of the columns of bytes, such as plain", checkEncoding)
	exclusive(c, "profile", "policy")
	complete(c, "encoding", encodings()...)
}

// policyHelp is for the help of verbs with these flags.
const policyHelp = `A policy is text. Its first line is "chunk BYTES", the raw bytes of a chunk (1024 to
16777216). Each other line is a rule: what it matches, then key=value fields. The
first rule that matches a column serves it; the last one must be "*". Matches:
  column:NAME, format:NAME, kind:bytes, kind:fixed, kind:uint, *
Keys:
  codec=     raw, s2, zstd:LEVEL, or zstd:LEVEL+dict where a dictionary is tried
  group=     column: a chunk of the column is one block; stream: a block a stream
  encoding=  plain, fixed or uint (default by the column's kind)
  else=      with +dict: the codec where no dictionary is worth it
  dict=      with +dict: most bytes of the dictionary
For example:
  chunk 32768
  column:number group=column codec=zstd:3
  * group=column codec=zstd:1+dict else=zstd:3 dict=65536
To start from one that is in use: segtool info --json FILE.seg | jq -r .policy`

// encodings returns the names of the encodings that there are.
func encodings() []string {
	var names []string
	for _, e := range codec.Encodings() {
		name, _, _ := strings.Cut(e.Name(), "/")
		names = append(names, name)
	}
	return names
}

// checkEncoding refuses the name of an encoding that there is not.
func checkEncoding(name string) error {
	for _, e := range codec.Encodings() {
		if short, _, _ := strings.Cut(e.Name(), "/"); name == short || name == e.Name() {
			return nil
		}
	}
	return fmt.Errorf("no encoding %q: there are %s", name, strings.Join(encodings(), ", "))
}

// unused warns of the rules of a policy file that no column of the tables matches.
func (p *policyFlags) unused(a *app, policy codec.Policy, schemas []segment.Schema) {
	if p.file == "" {
		return
	}
	for _, r := range policy.Rules {
		alone, used := codec.Policy{Rules: []codec.Rule{r}}, r.Match == "*"
		for _, s := range schemas {
			for _, c := range s.Columns {
				used = used || alone.Rule(c.Name, c.Kind.String(), c.Format).Match != ""
			}
		}
		if !used {
			a.complain("warning: " + p.file + ": the rule for " + r.Match + " matches no column")
		}
	}
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
		if info, err := a.fs.Stat(p.file); err == nil && info.IsDir() {
			return codec.Policy{}, usagef("--policy: %s is a directory", p.file)
		}
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
		for _, r := range policy.Rules {
			if r.Encoding == "" {
				continue
			}
			if err := checkEncoding(r.Encoding); err != nil {
				return policy, usagef("%s: %w", p.file, err)
			}
		}
		return policy, nil
	}
	return codec.Policy{}, nil
}
