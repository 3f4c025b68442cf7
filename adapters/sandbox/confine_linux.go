package sandbox

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/sys/unix"
)

// allowed are the system calls that Go's runtime needs to compute, and to read and write what
// is open. None makes anything known by a name.
var allowed = []string{
	"read", "write", "close", "futex", "nanosleep", "clock_nanosleep", "clock_gettime", "gettimeofday", "sched_yield", "restart_syscall",
	"mmap", "munmap", "mprotect", "mremap", "madvise", "mincore", "brk",
	"rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack", "getpid", "gettid", "getrandom", "sched_getaffinity",
	"epoll_pwait", "epoll_wait", "exit", "exit_group", "set_robust_list", "rseq",
}

// confine takes from the process, with all of its threads, what computing does not need. It
// cannot be undone.
func confine() error {
	time.Sleep(time.Microsecond) // the first timer opens what the runtime waits with
	limits := map[int]uint64{unix.RLIMIT_DATA: maxData, unix.RLIMIT_CORE: 0, unix.RLIMIT_FSIZE: 0, unix.RLIMIT_NOFILE: 3}
	for resource, most := range limits {
		if err := unix.Setrlimit(resource, &unix.Rlimit{Cur: most, Max: most}); err != nil {
			return fmt.Errorf("limit resource %d: %w", resource, err)
		}
	}
	own, err := arch.GetInfo("")
	if err != nil {
		return err
	}
	names := make([]string, 0, len(allowed))
	for _, name := range allowed {
		if _, exists := own.SyscallNames[name]; exists { // some are of some architectures only
			names = append(names, name)
		}
	}
	const processes = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET
	filter := seccomp.Filter{
		NoNewPrivs: true,
		Flag:       seccomp.FilterFlagTSync,
		Policy: seccomp.Policy{
			DefaultAction: seccomp.ActionErrno,
			Syscalls: []seccomp.SyscallGroup{
				{Action: seccomp.ActionAllow, Names: names, NamesWithCondtions: []seccomp.NameWithConditions{
					{Name: "clone", Conditions: []seccomp.Condition{ // threads of this process only
						{Argument: 0, Operation: seccomp.BitsSet, Value: unix.CLONE_THREAD}, {Argument: 0, Operation: seccomp.BitsNotSet, Value: processes},
					}},
					{Name: "tgkill", Conditions: []seccomp.Condition{{Argument: 0, Operation: seccomp.Equal, Value: uint64(os.Getpid())}}},
				}},
				{Action: seccomp.ActionErrno | seccomp.Action(unix.ENOSYS), Names: []string{"clone3"}}, // then the C library takes clone, whose flags can be seen
			},
		},
	}
	runtime.LockOSThread() // on which the filter is loaded
	defer runtime.UnlockOSThread()
	if err := seccomp.LoadFilter(filter); err != nil {
		return err
	}
	return checkConfined()
}

// checkConfined tries what must not be possible any more: a kernel can take a filter and not
// honour it, as some emulations do.
func checkConfined() error {
	if _, err := unix.Open("/", unix.O_RDONLY, 0); !errors.Is(err, unix.EPERM) {
		return errors.New("a file can be opened all the same")
	}
	if _, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0); !errors.Is(err, unix.EPERM) {
		return errors.New("a socket can be opened all the same")
	}
	return nil
}

// niceness is how far the process stands behind the gateway, which answers everybody meanwhile, where
// processors are scarce.
const niceness = 5

// yieldToOthers has all threads of the process stand back, and those that they begin. That it cannot
// be done is no reason to run no code.
func yieldToOthers() {
	own, err := unix.Getpriority(unix.PRIO_PROCESS, 0) // 20 less how nice it is
	if err != nil {
		return
	}
	threads, _ := os.ReadDir("/proc/self/task")
	for _, thread := range threads {
		if id, err := strconv.Atoi(thread.Name()); err == nil {
			_ = unix.Setpriority(unix.PRIO_PROCESS, id, 20-own+niceness)
		}
	}
}

// keepOpenFiles has children inherit no file of this process, also none that it inherited
// itself.
func keepOpenFiles() error {
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, f := range files {
		if fd, err := strconv.Atoi(f.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}

// attributes keep signals from the process that a terminal sends to the gateway.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
