package testserver

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Folder makes a folder in root whose name begins with the prefix and the number of this
// process.
func Folder(root, prefix string) (string, error) {
	return os.MkdirTemp(root, prefix+strconv.Itoa(os.Getpid())+"-")
}

// maxSocketPath is the longest path of a Unix socket that every system takes, in bytes.
const maxSocketPath = 103

// SocketRoot is the system's folder for temporary files, or /tmp where the path of a socket
// in a [Folder] of that one would be too long.
func SocketRoot(prefix, socket string) string {
	if longest := filepath.Join(os.TempDir(), prefix+"4194304-1234567890", socket); len(longest) > maxSocketPath {
		return "/tmp"
	}
	return os.TempDir()
}

// RemoveStale removes the folders of processes that ended without doing so. stop is called with
// each before.
func RemoveStale(root, prefix string, stop func(dir string)) {
	left, err := filepath.Glob(filepath.Join(root, prefix+"*"))
	if err != nil {
		return
	}
	for _, dir := range left {
		text, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), prefix), "-")
		pid, err := strconv.Atoi(text)
		if err == nil && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			stop(dir)
			_ = os.RemoveAll(dir) // somebody else may be removing it
		}
	}
}
