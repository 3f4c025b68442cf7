package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// forbidden are attempts at what a confined process must not be able to do, each of which would
// succeed, or fail with something else than EPERM, without the filter.
var forbidden = map[string]func() error{
	"open a file": func() error { _, err := unix.Open("/etc/passwd", unix.O_RDONLY, 0); return err },
	"open its environment": func() error {
		_, err := unix.Openat(unix.AT_FDCWD, "/proc/self/environ", unix.O_RDONLY, 0)
		return err
	},
	"create a file":      func() error { _, err := unix.Creat("/tmp/sandbox", 0o600); return err },
	"look at a file":     func() error { var st unix.Stat_t; return unix.Stat("/", &st) },
	"read a link":        func() error { _, err := unix.Readlink("/proc/self/exe", make([]byte, 100)); return err },
	"delete a file":      func() error { return unix.Unlink("/tmp/sandbox-that-is-not-there") },
	"make a folder":      func() error { return unix.Mkdir("/tmp/sandbox", 0o700) },
	"change the folder":  func() error { return unix.Chdir("/") },
	"open a socket":      func() error { _, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0); return err },
	"a socket of UDP":    func() error { _, err := unix.Socket(unix.AF_INET6, unix.SOCK_DGRAM, 0); return err },
	"a local socket":     func() error { _, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0); return err },
	"a pair of sockets":  func() error { _, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0); return err },
	"connect":            func() error { return unix.Connect(0, &unix.SockaddrInet4{Port: 80, Addr: [4]byte{127, 0, 0, 1}}) },
	"make a pipe":        func() error { return unix.Pipe2(make([]int, 2), 0) },
	"copy a descriptor":  func() error { _, err := unix.Dup(0); return err },
	"a file in memory":   func() error { _, err := unix.MemfdCreate("x", 0); return err },
	"an event":           func() error { _, err := unix.Eventfd(0, 0); return err },
	"start a program":    func() error { return syscall.Exec("/proc/self/exe", []string{"x"}, nil) },
	"start a process":    func() error { return raw(unix.SYS_CLONE, uintptr(unix.SIGCHLD)) },
	"another kind of it": func() error { return raw(unix.SYS_CLONE3, 0, 0) },
	"signal the gateway": func() error { return unix.Kill(os.Getppid(), 0) },
	"signal its thread":  func() error { return unix.Tgkill(os.Getppid(), os.Getppid(), 0) },
	"trace the gateway":  func() error { return unix.PtraceAttach(os.Getppid()) },
	"read its memory":    func() error { return raw(unix.SYS_PROCESS_VM_READV, uintptr(os.Getppid())) },
	"raise a limit": func() error {
		return raw(unix.SYS_PRLIMIT64, 0, unix.RLIMIT_DATA, uintptr(unsafe.Pointer(&unix.Rlimit{Cur: 1 << 40, Max: 1 << 40})))
	},
	"another filter":           func() error { return raw(unix.SYS_SECCOMP, 0, 1) },
	"a key of its own":         func() error { return raw(unix.SYS_KEYCTL, 0) },
	"an asynchronous ring":     func() error { return raw(unix.SYS_IO_URING_SETUP, 1) },
	"a program for the kernel": func() error { return raw(unix.SYS_BPF, 0) },
	"shared memory":            func() error { return raw(unix.SYS_SHMGET, 0, 4096, unix.IPC_CREAT) },
	"mount":                    func() error { return unix.Mount("none", "/tmp", "tmpfs", 0, "") },
	"another namespace":        func() error { return unix.Unshare(unix.CLONE_NEWUSER) },
	"control a device":         func() error { return raw(unix.SYS_IOCTL, 0, unix.TIOCSTI) },
}

func raw(number uintptr, args ...uintptr) error {
	var a [3]uintptr
	copy(a[:], args)
	if _, _, errno := syscall.RawSyscall(number, a[0], a[1], a[2]); errno != 0 {
		return errno
	}
	return nil
}

// TryConfined tries what is forbidden, on several threads, and writes what came of it.
func TryConfined() int {
	const threads = 4
	results := make([]map[string]string, threads)
	begin := make(chan struct{})
	var ready, done sync.WaitGroup
	for i := range results {
		ready.Add(1)
		done.Go(func() {
			runtime.LockOSThread() // a thread that was there before, and is not the one that loads the filter
			ready.Done()
			<-begin
			results[i] = map[string]string{}
			for name, try := range forbidden {
				err := try()
				results[i][name] = fmt.Sprint(err)
				if errors.Is(err, unix.EPERM) {
					results[i][name] = "EPERM"
				}
			}
		})
	}
	ready.Wait()
	if err := confine(); err != nil {
		fmt.Println(err)
		return 1
	}
	close(begin)
	done.Wait()
	if err := json.NewEncoder(os.Stdout).Encode(results); err != nil {
		return 1
	}
	return 0
}

func TestAConfinedProcessReachesNothing(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), Program(t), "try")
	cmd.Stderr = t.Output()
	answer, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, answer)
	}
	var results []map[string]string
	if err := json.Unmarshal(answer, &results); err != nil {
		t.Fatal(err)
	}
	for i, result := range results {
		if len(result) != len(forbidden) {
			t.Errorf("thread %d tried %d of %d", i, len(result), len(forbidden))
		}
		for _, name := range slices.Sorted(maps.Keys(result)) {
			denied := result[name] == "EPERM" || name == "another kind of it" && result[name] == unix.ENOSYS.Error()
			if !denied {
				t.Errorf("thread %d can %s: %s", i, name, result[name])
			}
		}
	}
}

func TestAProcessStandsBehindTheGateway(t *testing.T) {
	t.Parallel()
	own, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil {
		t.Fatal(err)
	}
	p, err := start(t.Context(), []string{Program(t), "serve"})
	if err != nil {
		t.Fatal(err)
	}
	defer p.end()
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", p.cmd.Process.Pid))
	if err != nil || len(threads) == 0 {
		t.Fatal(err)
	}
	for _, thread := range threads {
		id, err := strconv.Atoi(thread.Name())
		if err != nil {
			t.Fatal(err)
		}
		of, err := unix.Getpriority(unix.PRIO_PROCESS, id)
		if want := max(1, own-niceness); err != nil || of != want {
			t.Errorf("thread %d has the priority %d, not %d, %v", id, of, want, err)
		}
	}
}

func TestWhatAProcessInherits(t *testing.T) {
	left, err := os.Open(Program(t)) // as a gateway has files
	if err != nil {
		t.Fatal(err)
	}
	defer left.Close()
	t.Setenv("SLUICE_SECRET", "x")
	p, err := start(t.Context(), []string{Program(t), "serve"})
	if err != nil {
		t.Fatal(err)
	}
	defer p.end()
	about := fmt.Sprintf("/proc/%d/", p.cmd.Process.Pid)
	if environ, err := os.ReadFile(about + "environ"); err != nil || len(environ) > 0 {
		t.Errorf("its environment is %q, %v", environ, err)
	}
	files, err := os.ReadDir(about + "fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		to, err := os.Readlink(about + "fd/" + f.Name())
		ofRuntime := strings.HasPrefix(to, "/sys/fs/cgroup/") || strings.HasPrefix(to, "anon_inode:[event")
		if err != nil || !ofRuntime && !strings.HasPrefix(to, "pipe:") {
			t.Errorf("descriptor %s is %s, %v", f.Name(), to, err)
		}
	}
}
