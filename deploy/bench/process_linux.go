package main

import (
	"os/exec"
	"syscall"
)

// bound makes a program end when the bench does, even when that is killed.
func bound(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM} }
