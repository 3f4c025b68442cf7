package main

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/sluicehq/sluice/adapters/budget"
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

const (
	// maxDefaultMemory is the limit of the process's memory on large machines where nobody
	// has set one.
	maxDefaultMemory = 4 << 30

	// outsideGo is how much of the limit is not the collector's: the program itself, and what
	// SQLite takes. outsidePart is which part of the limit it leaves besides, since it notices
	// a little late.
	outsideGo   = 64 << 20
	outsidePart = 16
)

// memoryLimit is how much memory the process may take without an embedded database and without
// the processes that run code: what the
// setting says, else Go's own GOMEMLIMIT, else three quarters of what there is. The collector
// keeps to it.
func memoryLimit(setting byteSize, embedded, code bool) int64 {
	given := debug.SetMemoryLimit(-1)
	limit := int64(setting)
	switch {
	case limit > 0:
	case given < math.MaxInt64:
		limit = given
	default:
		limit = min(availableMemory()/4*3, maxDefaultMemory)
	}
	if embedded {
		limit -= budget.EmbeddedMemory
	}
	if code {
		limit -= budget.CodeMemory(limit, processors)
	}
	if at := limit - outsideGo - limit/outsidePart; given > at {
		debug.SetMemoryLimit(at)
	}
	return limit
}

// availableMemory is how much memory the container and the machine have for the process, in
// bytes; a guess where nobody says.
func availableMemory() int64 {
	available := int64(maxDefaultMemory)
	for _, file := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		if text, err := os.ReadFile(file); err == nil {
			if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && n > 0 {
				available = min(available, n)
			}
		}
	}
	if text, err := os.ReadFile("/proc/meminfo"); err == nil {
		var kB int64
		if _, err := fmt.Sscanf(string(text), "MemTotal: %d kB", &kB); err == nil && kB > 0 {
			available = min(available, kB<<10)
		}
	}
	return min(available, limitOfProcess())
}

// releaseStartupMemory gives back the memory that only the start needed: reading the
// migrations takes more than everything that stays. Two collections empty the pools, too.
func releaseStartupMemory() {
	runtime.GC()
	debug.FreeOSMemory()
}

// memory divides what the process may take.
func (c config) memory() budget.Memory {
	db, err := databaseOf(c.DatabaseURL)
	return budget.Divide(memoryLimit(c.Memory, err == nil && db.sqliteFile != "", c.runsCode()), processors)
}
