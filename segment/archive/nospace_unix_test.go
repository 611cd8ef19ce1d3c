//go:build unix

package archive_test

import "syscall"

const errNoSpace = syscall.ENOSPC
