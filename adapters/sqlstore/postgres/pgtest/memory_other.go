//go:build !linux

package pgtest

// sharedMemory is a file system in memory that is there by default: none.
const sharedMemory = ""

// memoryRoot returns a folder in memory that has room, or "".
func memoryRoot() string { return "" }
