package cmd

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/dustin/go-humanize"
	"github.com/segstore/segstore/segment"
	"github.com/spf13/cobra"
)

// What the library allows, so that more is wrong usage: its own checks come when files are open already. A test holds
// these against it.
const (
	maxWorkers = 1024
	maxRuns    = 1000
	maxChainID = 256 // bytes
	maxNumber  = 1<<31 - 1
)

// flagValue is a flag that is checked where it is parsed: every flag with a range, a list of words or a form is one, so
// that wrong usage is found before any file is touched. Set returns what is wrong, without the flag's name.
type flagValue struct {
	kind string // for help
	text string
	set  func(string) error
}

// String returns the value as it was given.
func (v *flagValue) String() string { return v.text }

// Type returns what help calls the value.
func (v *flagValue) Type() string { return v.kind }

// Set takes a value.
func (v *flagValue) Set(s string) error {
	if s == "" { // an unset variable of a shell must not widen what a verb works on
		return errors.New("is empty")
	}
	if err := v.set(s); err != nil {
		return err
	}
	v.text = s
	return nil
}

func addFlag(c *cobra.Command, name, short, kind, text, help string, set func(string) error) {
	c.Flags().VarP(&flagValue{kind, text, set}, name, short, help)
}

// intFlag adds a number from lo to hi.
func intFlag(c *cobra.Command, to *int, name string, def, lo, hi int, help string) {
	*to = def
	addFlag(c, name, "", "int", strconv.Itoa(def), help, func(s string) error {
		n, err := strconv.Atoi(s)
		if err != nil || n < lo || n > hi {
			return fmt.Errorf("not a number from %d to %d", lo, hi)
		}
		*to = n
		return nil
	})
}

// workersFlag adds the number of goroutines; 0 is the default, which nobody gives.
func workersFlag(c *cobra.Command, to *int, help string) {
	intFlag(c, to, "workers", 0, 1, maxWorkers, help+" (default one a processor)")
}

// wordFlag adds one of some words.
func wordFlag(c *cobra.Command, to *string, name, def string, words []string, help string) {
	*to = def
	addFlag(c, name, "", "string", def, help, func(s string) error {
		if !slices.Contains(words, s) {
			return fmt.Errorf("not one of %s", strings.Join(words, ", "))
		}
		*to = s
		return nil
	})
	complete(c, name, words...)
}

// textFlag adds a text that check accepts; any but an empty one where check is nil.
func textFlag(c *cobra.Command, to *string, name, help string, check func(string) error) {
	shortFlag(c, to, name, "", "", help, check)
}

// shortFlag is textFlag with a letter and a default.
func shortFlag(c *cobra.Command, to *string, name, short, def, help string, check func(string) error) {
	*to = def
	addFlag(c, name, short, "string", def, help, func(s string) error {
		if check != nil {
			if err := check(s); err != nil {
				return err
			}
		}
		*to = s
		return nil
	})
}

// listFlag adds names, each once, by flags of their own; between commas too where cut.
func listFlag(c *cobra.Command, to *[]string, name string, cut bool, help string) {
	addFlag(c, name, "", "strings", "", help, func(s string) error {
		items := []string{s}
		if cut {
			items = strings.Split(s, ",")
		}
		for _, item := range items {
			switch {
			case item == "":
				return errors.New("has an empty name")
			case slices.Contains(*to, item):
				return fmt.Errorf("%q twice", item)
			}
			*to = append(*to, item)
		}
		return nil
	})
}

// bytesFlag adds a number of bytes from lo to hi, such as 512MiB.
func bytesFlag(c *cobra.Command, to *uint64, name, def string, lo, hi uint64, help string) {
	set := func(s string) error {
		n, err := humanize.ParseBytes(s)
		if err != nil || n < lo || n > hi {
			return fmt.Errorf("not a number of bytes from %s to %s", short(lo), short(hi))
		}
		*to = n
		return nil
	}
	*to, _ = humanize.ParseBytes(def) // a constant: its help has it
	addFlag(c, name, "", "bytes", def, help, set)
}

// short shows a number of bytes that is round in one way or the other.
func short(n uint64) string {
	if n >= 1<<10 && n&(n-1) == 0 {
		return size(n)
	}
	return humanize.Bytes(n)
}

// toMake refuses a path of a file or directory to be made that means stdout elsewhere.
func toMake(path string) error {
	if path == "-" {
		return errors.New("cannot be stdout (for a file of this name: ./-)")
	}
	return nil
}

// newTable checks the name of a table to be made, beside the one of the sources.
func newTable(name string) error {
	if name == "sources" || name == "index" {
		return errors.New("this name is taken")
	}
	return segment.ValidateName(name)
}

func chainID(s string) error {
	if len(s) > maxChainID || !utf8.ValidString(s) {
		return fmt.Errorf("not 1 to %d bytes of UTF-8", maxChainID)
	}
	return nil
}

// required makes flags required.
func required(c *cobra.Command, flags ...string) {
	check(c, func() error {
		for _, f := range flags {
			if !c.Flags().Changed(f) {
				return usagef("--%s is needed", f)
			}
		}
		return nil
	})
}

// exclusive refuses two flags together.
func exclusive(c *cobra.Command, one, other string) {
	check(c, func() error {
		if c.Flags().Changed(one) && c.Flags().Changed(other) {
			return usagef("--%s and --%s exclude each other", one, other)
		}
		return nil
	})
}

// check adds a check to that of the arguments. (cobra's own for flags have errors
// that cannot be told from others.)
func check(c *cobra.Command, more func() error) {
	args := c.Args
	c.Args = func(c *cobra.Command, list []string) error {
		if err := args(c, list); err != nil {
			return err
		}
		return more()
	}
}

// complete makes the shell offer values for a flag.
func complete(c *cobra.Command, flag string, values ...string) {
	// It fails only where the flag is not there or has its values already.
	_ = c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}
