package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// bound makes a program end when the bench does, even when that is killed.
func bound(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM} }

// clockTick is the unit of processor times in /proc (USER_HZ), which Linux promises
// to programs on every architecture that Go runs on.
const clockTick = 10 * time.Millisecond

// processorTime returns what a process has used so far, of user and system time.
func processorTime(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// The second field is the program's name in parentheses, which may hold anything.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	const user, system = 14 - 3, 15 - 3 // proc(5) counts from 1; the third field is first here
	if len(fields) <= system {
		return 0, fmt.Errorf("/proc/%d/stat reads %q", pid, text)
	}
	u, errUser := strconv.ParseInt(fields[user], 10, 64)
	s, errSystem := strconv.ParseInt(fields[system], 10, 64)
	if errUser != nil || errSystem != nil {
		return 0, fmt.Errorf("/proc/%d/stat reads %q", pid, text)
	}
	return time.Duration(u+s) * clockTick, nil
}
