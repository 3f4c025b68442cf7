//go:build unix

package httpserver

import (
	"math"
	"syscall"
)

// openFiles returns how many files this process may have open. The runtime has raised
// the soft limit to the hard one when the process started.
func openFiles() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return math.MaxInt32
	}
	return int(min(uint64(limit.Cur), math.MaxInt32)) //nolint:unconvert // signed on some systems
}
