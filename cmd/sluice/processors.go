package main

import (
	"os"
	"runtime"
)

// processors is how many the process has.
var processors = runtime.GOMAXPROCS(0)

// leastThreads is how many goroutines run at the same time at least.
const leastThreads = 8

// addThreads runs more goroutines at the same time than there are processors, unless
// GOMAXPROCS says how many. While some compute for long, one that becomes ready gets a
// thread at once, and the kernel prefers it, since it has slept. Go's own scheduler has it
// wait for up to 10 ms for each of the others. With a hostile tenant on two processors this
// makes the p99 of other tenants five times shorter (make hostile), at the same rate.
func addThreads() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(max(2*processors, leastThreads))
	}
}
