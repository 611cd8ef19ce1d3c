// Segtool makes, reads, verifies and recompresses archives of segments.
package main

import (
	"os"

	"github.com/segstore/segstore/tools/segtool/cmd"
)

func main() {
	os.Exit(cmd.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
