package pgtest

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// sharedMemory is the file system that POSIX shared memory is kept in (shm_overview(7)),
// to which every account may write.
const sharedMemory = "/dev/shm"

// tmpfs is what statfs(2) calls a file system in memory.
const tmpfs = 0x01021994

// roomInMemory is what has to be free, in bytes, of the file system and of the memory: a
// cluster of tests takes a hundred megabytes, and several packages are tested at a time.
const roomInMemory = 2 << 30

// memoryRoot returns a folder in memory that has room, or "".
func memoryRoot() string {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(sharedMemory, &fs); err != nil || fs.Type != tmpfs || fs.Bavail*uint64(fs.Bsize) < roomInMemory {
		return ""
	}
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil || available(string(text)) < roomInMemory {
		return ""
	}
	return sharedMemory
}

// available reads off /proc/meminfo how many bytes programs may still take (proc(5)).
func available(meminfo string) uint64 {
	for line := range strings.Lines(meminfo) {
		if value, found := strings.CutPrefix(line, "MemAvailable:"); found {
			kilobytes, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			if err != nil {
				return 0
			}
			return kilobytes << 10
		}
	}
	return 0
}
