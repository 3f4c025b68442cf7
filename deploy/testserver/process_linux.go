package testserver

import (
	"os/exec"
	"syscall"
)

func endWithParent(cmd *exec.Cmd, by syscall.Signal) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = by
}
