package archive_test

import "golang.org/x/sys/windows"

const errNoSpace = windows.ERROR_DISK_FULL
