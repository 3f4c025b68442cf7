//go:build !linux

package harness

import (
	"os/exec"
	"time"
)

func endWithParent(*exec.Cmd) {}

// Memory returns the resident memory of a process, now and at its peak, in bytes.
func Memory(int) (now, peak int64, err error) { return 0, 0, ErrNeedsLinux }

// ProcessorTime returns the user and system time that a process has used.
func ProcessorTime(int) (time.Duration, error) { return 0, ErrNeedsLinux }
