//go:build !linux

package redistest

import "syscall"

// attributes are none: the next start ends a server that outlived its process.
func attributes() *syscall.SysProcAttr { return nil }
