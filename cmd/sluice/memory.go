package main

import (
	"runtime"
	"runtime/debug"
	"strings"
)

// garbageRatio is how much the heap of a gateway may grow before it is collected, in
// percent of what is alive. Requests leave much garbage and little that stays, so a
// large ratio costs a few megabytes and saves a third of the collector's work.
const garbageRatio = 400

// tuneCollector sets the ratio unless the operator did with GOGC.
func tuneCollector(environ []string) {
	for _, pair := range environ {
		if strings.HasPrefix(pair, "GOGC=") {
			return
		}
	}
	debug.SetGCPercent(garbageRatio)
}

// forgetTheStart gives back the memory that only the start needed: reading the migrations
// takes more than everything that stays. What is kept in pools goes with the second
// collection.
func forgetTheStart() {
	runtime.GC()
	debug.FreeOSMemory()
}
