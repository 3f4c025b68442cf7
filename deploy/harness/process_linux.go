package harness

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

func endWithParent(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

// Memory returns the resident memory of a process, now and at its peak, in bytes.
func Memory(pid int) (now, peak int64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) != 3 || fields[2] != "kB" {
			continue
		}
		kilobytes, err := strconv.ParseInt(fields[1], 10, 64)
		if err != nil {
			return 0, 0, err
		}
		switch fields[0] {
		case "VmRSS:":
			now = kilobytes << 10
		case "VmHWM:":
			peak = kilobytes << 10
		}
	}
	if now == 0 || peak == 0 {
		return 0, 0, fmt.Errorf("/proc/%d/status holds no VmRSS or VmHWM", pid)
	}
	return now, peak, nil
}

// clockTick is USER_HZ, which Linux keeps the same on every architecture.
const clockTick = 10 * time.Millisecond

// ProcessorTime returns the user and system time that a process has used.
func ProcessorTime(pid int) (time.Duration, error) {
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
