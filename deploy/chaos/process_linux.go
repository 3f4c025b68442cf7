package main

import (
	"os/exec"
	"syscall"
)

// bound makes a process end with this program, however that ends.
func bound(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
