package pgtest

import "syscall"

// attributes runs a child as the owner and ends it when this process ends.
func attributes(owner *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: owner, Pdeathsig: syscall.SIGQUIT}
}
