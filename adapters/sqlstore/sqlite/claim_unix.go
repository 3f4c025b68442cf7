//go:build unix

package sqlite

import (
	"errors"
	"os"
	"syscall"
)

// lockFile opens the file, making it where it is missing, and locks it. The file stays
// when the lock is given up: to remove it could take it from under somebody who has just
// locked it.
func lockFile(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close() // why it is not locked says more
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = ErrClaimed
		}
		return nil, err
	}
	return f, nil
}
