package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// bound makes a program end when the bench does, even when that is killed.
func bound(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGTERM
}

// humble is the user that PostgreSQL's programs run as, for they refuse to run as
// root. It is nil for anybody but root, who stays who they are.
type humble struct{ uid, gid uint32 }

func humbleUser() (*humble, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		found, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, errUID := strconv.ParseUint(found.Uid, 10, 32)
		gid, errGID := strconv.ParseUint(found.Gid, 10, 32)
		if errUID == nil && errGID == nil {
			return &humble{uint32(uid), uint32(gid)}, nil
		}
	}
	return nil, fmt.Errorf("PostgreSQL refuses to run as root, and there is no user postgres or nobody to run it as")
}

// own hands a file over to the user.
func (h *humble) own(file string) error {
	if h == nil {
		return nil
	}
	return os.Chown(file, int(h.uid), int(h.gid))
}

// as makes a program run as the user.
func (h *humble) as(cmd *exec.Cmd) {
	if h != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: h.uid, Gid: h.gid}}
	}
}
