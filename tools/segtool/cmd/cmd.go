// Package cmd is the command line of segtool, one file a verb. A verb parses its
// flags, calls the library, and prints: results to stdout, all else to stderr.
package cmd

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/spf13/cobra"
)

// app is what every verb works with.
type app struct {
	fs     vfs.FS
	stdin  *os.File
	stdout *output
	stderr *os.File
	json   bool
	quiet  bool
}

// Main runs segtool with the arguments after its name and returns the exit code.
// An interrupt ends the work and removes what is half done; a second one ends the
// process.
func Main(args []string, stdin, stdout, stderr *os.File) int {
	signal.Ignore(syscall.SIGPIPE) // a write to a closed pipe is an error, and temporary files are removed
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	context.AfterFunc(ctx, stop)

	a := &app{fs: vfs.Default, stdin: stdin, stdout: newOutput(stdout), stderr: stderr}
	root := a.root()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(a.stdout)
	root.SetErr(stderr)
	verb, err := root.ExecuteContextC(ctx)
	return a.end(ctx, verb.CommandPath(), err)
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "segtool",
		Short: "Archives of blocks, transactions and receipts, column by column",
		Long: `Segtool makes archives of append-only records, reads and verifies them, and
recompresses them without changing what they hold. PATH is the directory of an
archive or a single segment file.

Exit codes, of every verb those that apply:
` + codes(allCodes()...),
		Example:       "  segtool demo\n  segtool import --from era1 mainnet-*.era1 chain\n  segtool recompress --level 19 chain",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usage(err) })
	flags := root.PersistentFlags()
	flags.BoolVar(&a.json, "json", false, "print the result as JSON")
	flags.BoolVarP(&a.quiet, "quiet", "q", false, "show no progress")
	group := func(id, title string, verbs ...*cobra.Command) {
		root.AddGroup(&cobra.Group{ID: id, Title: title})
		for _, v := range verbs {
			v.GroupID = id
			root.AddCommand(v)
		}
	}
	group("files", "Files in and out:", a.importVerb(), a.appendVerb(), a.exportVerb())
	group("look", "Look:", a.infoVerb(), a.lsVerb(), a.statsVerb(), a.getVerb(), a.catVerb(), a.blockVerb(), a.dictVerb())
	group("check", "Check and save:", a.checksumVerb(), a.verifyVerb(), a.doctorVerb(), a.recoverVerb())
	group("change", "Change:", a.recompressVerb(), a.sealVerb(), a.rewindVerb(), a.pruneVerb(), a.indexVerb())
	group("more", "More:", a.demoVerb(), a.versionVerb())
	root.SetHelpCommandGroupID("more")
	root.SetCompletionCommandGroupID("more")
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() { // cobra's own print help on what there is not, with exit code 0
		case "help":
			c.Args = func(_ *cobra.Command, args []string) error {
				if _, rest, err := root.Find(args); err != nil || len(rest) > 0 {
					return usagef("no help on %q", args)
				}
				return nil
			}
		case "completion":
			c.Args = cobra.NoArgs
			c.RunE = func(*cobra.Command, []string) error { return usagef("completion needs a shell") }
		}
	}
	return root
}

// verb is what a verb's command is made of.
type verb struct {
	use, short, long string
	example          string
	codes            []int
	args             cobra.PositionalArgs
	makes            string // what the last argument is, where the verb makes that
	run              func(ctx context.Context, args []string) error
}

func (v verb) command() *cobra.Command {
	return &cobra.Command{
		Use: v.use, Short: v.short,
		Long:                  v.long + "\n\nExit codes:\n" + codes(v.codes...),
		Example:               v.example,
		DisableFlagsInUseLine: true,
		Args: func(c *cobra.Command, args []string) error {
			if err := v.args(c, args); err != nil {
				return usage(err)
			}
			if slices.Contains(args, "") { // as with flags: an unset variable of a shell
				return usagef("an argument is empty")
			}
			if v.makes != "" {
				if err := toMake(args[len(args)-1]); err != nil {
					return usagef("%s %w", v.makes, err)
				}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return v.run(c.Context(), args) },
	}
}
