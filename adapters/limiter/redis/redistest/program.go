package redistest

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"

	"github.com/sluicehq/sluice/deploy/testserver"
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
	err := testserver.InstallDebian(ctx, "redis-server", func() bool {
		_, ok := installed()
		return ok
	})
	if err != nil {
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
