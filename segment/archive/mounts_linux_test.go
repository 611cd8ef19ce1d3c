package archive_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

const (
	ownMounts = "ARCHIVE_TEST_MOUNTS" // set in a process that may mount
	noMounts  = 77                    // exit code of one that may not, after all
)

// inOwnMounts runs the test again as a process with mounts of its own, which nobody
// else sees and which end with it: as root, else in a user namespace. It reports
// whether this is that process. Where neither is allowed the test is skipped, or fails
// where REALDATA=required.
func inOwnMounts(t *testing.T) bool {
	t.Helper()
	if os.Getenv(ownMounts) != "" {
		if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
			t.Logf("making mounts private: %v", err)
			os.Exit(noMounts)
		}
		return true
	}
	flags := []uintptr{syscall.CLONE_NEWNS | syscall.CLONE_NEWUSER}
	if os.Getuid() == 0 {
		flags = []uintptr{syscall.CLONE_NEWNS, flags[0]}
	}
	var why []error
	for _, f := range flags {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.short="+strconv.FormatBool(testing.Short()))
		cmd.Env = append(os.Environ(), ownMounts+"=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: f}
		if f&syscall.CLONE_NEWUSER != 0 {
			cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
			cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
		}
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		switch {
		case err == nil:
			t.Logf("%s", out)
			return false
		case errors.As(err, &exit) && exit.ExitCode() != noMounts:
			t.Fatalf("with mounts of its own: %v\n%s", err, out)
		}
		why = append(why, err)
	}
	if err := errors.Join(why...); os.Getenv("REALDATA") == "required" {
		t.Fatalf("nothing may be mounted here, and REALDATA=required: %v", err)
	} else {
		t.Skipf("nothing may be mounted here: %v", err)
	}
	return false
}

// tmpfs mounts a file system of so many bytes until the end of the test.
func tmpfs(t *testing.T, bytes int) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("none", dir, "tmpfs", 0, "mode=700,size="+strconv.Itoa(bytes)); err != nil {
		t.Logf("mounting a tmpfs: %v", err)
		os.Exit(noMounts)
	}
	t.Cleanup(func() { unmount(t, dir) })
	return dir
}

// readOnlyMount shows a directory at another place, where nothing can be written.
func readOnlyMount(t *testing.T, dir string) string {
	t.Helper()
	at := t.TempDir()
	if err := syscall.Mount(dir, at, "", syscall.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unmount(t, at) })
	if err := syscall.Mount("", at, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(at, "x"), nil, 0o600); !errors.Is(err, syscall.EROFS) {
		t.Fatalf("writing where nothing can be written: %v", err)
	}
	return at
}

func unmount(t *testing.T, dir string) {
	t.Helper()
	if err := syscall.Unmount(dir, 0); err != nil {
		t.Errorf("unmounting %s, is a file open still? %v", dir, err)
	}
}

// On a read-only mount of a disk on which a writer is at work, too.
func TestReadOnlyMount(t *testing.T) {
	if !inOwnMounts(t) {
		return
	}
	root := tmpfs(t, 32<<20)
	readsBeside(t, filepath.Join(root, "chain"), filepath.Join(readOnlyMount(t, root), "chain"))
}
