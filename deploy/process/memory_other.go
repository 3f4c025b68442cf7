//go:build !linux

package process

// Memory returns the resident memory of a process, now and at its peak, in bytes.
func Memory(int) (now, peak int64, err error) { return 0, 0, ErrNeedsLinux }
