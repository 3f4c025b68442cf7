package main

import (
	"os"
	"runtime"
)

// processors is how many the process has.
var processors = runtime.GOMAXPROCS(0)

// minThreads is how many goroutines run at the same time at least.
const minThreads = 4

// addThreads runs more goroutines at the same time than there are processors, unless
// GOMAXPROCS says how many. While some compute for long, one that becomes ready gets a
// thread at once, and the kernel prefers it, since it has slept. Go's own scheduler has it
// wait for up to 10 ms for each of the others. Many more threads allocate faster than the
// collector frees, above the limit of memory.
func addThreads() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(max(2*processors, minThreads))
	}
}
