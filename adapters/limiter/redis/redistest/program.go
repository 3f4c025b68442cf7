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

// errNoProgram says what to do.
var errNoProgram = errors.New(`neither Redis nor Valkey was found, and it could not be installed.
Either install one (Debian: apt-get install redis-server; macOS: brew install redis) so that
redis-server or valkey-server is in the PATH,
or name a server for the tests in TEST_REDIS_URL (redis://user:password@host:6379/0)`)

// programNames are in order of preference.
var programNames = []string{"redis-server", "valkey-server"}

// extraFolders may hold the program and not be in the PATH.
var extraFolders = []string{"/usr/bin", "/usr/local/bin", "/opt/homebrew/bin"}

// program returns the path of the server's program, and installs it if necessary.
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
	for _, name := range programNames {
		if found, err := exec.LookPath(name); err == nil {
			return found, true
		}
		for _, dir := range extraFolders {
			if found, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
				return found, true
			}
		}
	}
	return "", false
}

// install installs Debian's package once, although several test processes may try.
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
