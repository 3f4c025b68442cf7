package sqlite

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// ClaimSuffix is what the name of the file ends with, next to the database, that a
// process holds locked while it serves from the database.
const ClaimSuffix = ".lock"

// ErrClaimed says that another process serves from the database.
var ErrClaimed = errors.New("another gateway serves from the database already")

// Claim makes the calling process the only one that serves from the database in the
// file, which need not exist yet, until release is closed or the process ends, however it
// ends: the lock is the operating system's. It keeps nobody from opening the database, for
// commands of an operator work next to the gateway. The error is [ErrClaimed], with the
// number of the process where it is known, when another one has the claim.
//
// The lock is on a file of its own, since to close the database's own file gives up the
// locks that SQLite has on it (POSIX, fcntl).
func Claim(file string) (release io.Closer, err error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of the SQLite database: %w", err)
	}
	if file, err = resolved(file); err != nil {
		return nil, fmt.Errorf("find the SQLite database %s: %w", file, err)
	}
	name := file + ClaimSuffix
	lock, err := lockFile(name)
	if errors.Is(err, ErrClaimed) {
		if holder, errRead := os.ReadFile(name); errRead == nil && len(holder) > 0 {
			return nil, fmt.Errorf("%w (process %s)", ErrClaimed, strings.TrimSpace(string(holder)))
		}
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", name, err)
	}
	if err := lock.Truncate(0); err == nil {
		_, _ = lock.WriteString(strconv.Itoa(os.Getpid()) + "\n") // only the message lacks it
	}
	return lock, nil
}

// resolved is the one name of a file that several links may lead to.
func resolved(file string) (string, error) {
	whole, err := filepath.EvalSymlinks(file)
	if errors.Is(err, os.ErrNotExist) {
		folder, err := filepath.EvalSymlinks(filepath.Dir(file))
		return filepath.Join(folder, filepath.Base(file)), err
	}
	if err != nil {
		return file, err
	}
	return whole, nil
}
