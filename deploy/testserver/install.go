package testserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// InstallDebian installs one of Debian's packages unless it is installed. Several processes may
// try at once; the first one does it.
func InstallDebian(ctx context.Context, name string, installed func() bool) error {
	apt, err := exec.LookPath("apt-get")
	if err != nil || os.Geteuid() != 0 {
		return fmt.Errorf("%s cannot be installed with apt-get: that needs Debian and root", name)
	}
	return Exclusively("apt", func() error {
		if installed() {
			return nil
		}
		fmt.Fprintf(os.Stderr, "installing Debian's package %s\n", name)
		for _, args := range [][]string{{"update", "-q"}, {"install", "-y", "-q", "--no-install-recommends", name}} {
			cmd := exec.CommandContext(ctx, apt, args...)
			cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
			if out, err := cmd.CombinedOutput(); err != nil {
				return fmt.Errorf("apt-get %s: %w\n%s", args[0], err, out)
			}
		}
		return nil
	})
}

// Exclusively runs do in one process of this account at a time.
func Exclusively(name string, do func() error) (err error) {
	file, err := os.OpenFile(filepath.Join(os.TempDir(), fmt.Sprintf("sluice-testserver-%s-%d.lock", name, os.Geteuid())), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }() // which also gives the lock back
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	return do()
}
