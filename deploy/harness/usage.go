package harness

import (
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/prometheus/procfs"
)

// ErrNeedsLinux is returned on other systems for figures that are read from /proc.
var ErrNeedsLinux = errors.New("this figure is read from Linux's /proc")

func openProc(pid int) (procfs.Proc, error) {
	if runtime.GOOS != "linux" {
		return procfs.Proc{}, ErrNeedsLinux
	}
	return procfs.NewProc(pid)
}

// Memory returns the resident memory of a process, now and at its peak, in bytes.
func Memory(pid int) (now, peak int64, err error) {
	proc, err := openProc(pid)
	if err != nil {
		return 0, 0, err
	}
	status, err := proc.NewStatus()
	if err == nil && status.VmHWM == 0 {
		err = fmt.Errorf("process %d is ending", pid)
	}
	return int64(status.VmRSS), int64(status.VmHWM), err
}

// ProcessorTime returns the user and system time that a process has used.
func ProcessorTime(pid int) (time.Duration, error) {
	proc, err := openProc(pid)
	if err != nil {
		return 0, err
	}
	stat, err := proc.Stat()
	return time.Duration(stat.CPUTime() * float64(time.Second)), err
}
