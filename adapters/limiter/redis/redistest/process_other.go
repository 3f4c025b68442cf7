//go:build !linux

package redistest

import "syscall"

// attributes is nil: the next start stops a server that outlived its process.
func attributes() *syscall.SysProcAttr { return nil }
