//go:build unix

package main

import (
	"math"
	"syscall"
)

// limitOfProcess returns how much memory the system lets this process have, in bytes.
func limitOfProcess() int64 {
	least := int64(math.MaxInt64)
	for _, resource := range []int{syscall.RLIMIT_AS, syscall.RLIMIT_DATA} {
		var limit syscall.Rlimit
		if err := syscall.Getrlimit(resource, &limit); err == nil && uint64(limit.Cur) < math.MaxInt64 { //nolint:unconvert // signed on some systems
			least = min(least, int64(limit.Cur))
		}
	}
	return least
}
