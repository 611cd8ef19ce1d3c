package cmd

import "github.com/spf13/cobra"

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
