package redistest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// errNoProgram tells a person what to do.
var errNoProgram = errors.New(`neither Redis nor Valkey was found, and it could not be installed.
Either install one (Debian: apt-get install redis-server; macOS: brew install redis) so that
redis-server or valkey-server is in the PATH,
or name a server for the tests in TEST_REDIS_URL (redis://user:password@host:6379/0)`)

// names are what the server is called, the first that is found being taken.
var names = []string{"redis-server", "valkey-server"}

// customary are folders that hold the program although they may not be in the PATH.
var customary = []string{"/usr/bin", "/usr/local/bin", "/opt/homebrew/bin"}

// program returns the path of the server's program: in the PATH, in the customary
// places, and at last one that it installs.
func program(ctx context.Context) (string, error) {
	if found, ok := installed(); ok {
		return found, nil
	}
	if err := install(ctx); err != nil {
		return "", fmt.Errorf("%w\n(%w)", errNoProgram, err)
	}
	if found, ok := installed(); ok {
		return found, nil
	}
	return "", errNoProgram
}

func installed() (string, bool) {
	for _, name := range names {
		if found, err := exec.LookPath(name); err == nil {
			return found, true
		}
		for _, dir := range customary {
			if found, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
				return found, true
			}
		}
	}
	return "", false
}

// install installs Debian's package. Several test processes may try at once; the first
// one does it.
func install(ctx context.Context) (err error) {
	apt, err := exec.LookPath("apt-get")
	if err != nil || os.Geteuid() != 0 {
		return errors.New("installing it with apt-get needs Debian and root")
	}
	lock, err := os.OpenFile(filepath.Join(os.TempDir(), "sluice-redistest-apt.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }() // which also gives the lock back
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	if _, ok := installed(); ok {
		return nil
	}
	fmt.Fprintln(os.Stderr, "redistest: there is no Redis; installing Debian's package redis-server")
	for _, args := range [][]string{{"update", "-q"}, {"install", "-y", "-q", "--no-install-recommends", "redis-server"}} {
		cmd := exec.CommandContext(ctx, apt, args...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("apt-get %s: %w\n%s", args[0], err, out)
		}
	}
	return nil
}
