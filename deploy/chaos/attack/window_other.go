//go:build !unix

package attack

import "syscall"

func narrowWindow(_, _ string, _ syscall.RawConn) error { return nil }
