package redistest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Instance is a running server that keeps nothing on disk. On Linux it ends with this
// process.
type Instance struct {
	URL string

	program string
	args    []string
	dir     string

	mu    sync.Mutex
	cmd   *exec.Cmd
	log   bytes.Buffer
	ended chan struct{}
}

// Bounds of starting and stopping a server.
const (
	startTimeout = 30 * time.Second
	stopTimeout  = 10 * time.Second
)

// dirPrefix begins the names of the servers' folders; the process id follows.
const dirPrefix = "sluice-redis-"

// socketName is the name of a server's socket in its folder.
const socketName = "redis.sock"

// maxSocketPath is the longest path of a Unix socket that every system takes, in bytes.
const maxSocketPath = 103

// Launch starts a new server that listens on a Unix socket in a private folder. Args are
// further arguments of redis-server, such as "--requirepass", "secret".
func Launch(ctx context.Context, args ...string) (_ *Instance, err error) {
	executable, err := program(ctx)
	if err != nil {
		return nil, err
	}
	removeStale()
	dir, err := os.MkdirTemp(socketRoot(), dirPrefix+strconv.Itoa(os.Getpid())+"-")
	if err != nil {
		return nil, err
	}
	socket := filepath.Join(dir, socketName)
	in := &Instance{
		URL: (&url.URL{Scheme: "unix", Path: socket}).String(), program: executable, dir: dir,
		args: append([]string{
			"--port", "0", "--unixsocket", socket, "--unixsocketperm", "700",
			"--dir", dir, "--save", "", "--appendonly", "no", "--daemonize", "no",
		}, args...),
	}
	if err := in.Restart(ctx); err != nil {
		in.Stop()
		return nil, err
	}
	return in, nil
}

// Restart starts the server after [Instance.Kill], empty and at the same address, and
// returns when it answers.
func (in *Instance) Restart(ctx context.Context) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.cmd = exec.Command(in.program, in.args...) //nolint:noctx // stopped by a signal, not by a context
	in.log.Reset()
	in.cmd.Dir, in.cmd.SysProcAttr, in.cmd.Stdout, in.cmd.Stderr = in.dir, attributes(), &in.log, &in.log
	started, ended := make(chan error), make(chan struct{})
	cmd := in.cmd
	go func() {
		// The child gets its death signal when the thread that started it ends.
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // how it ended is in its log
			close(ended)
		}
	}()
	if err := <-started; err != nil {
		return err
	}
	in.ended = ended
	return in.await(ctx)
}

// Kill ends the server like a crash.
func (in *Instance) Kill() { in.end(syscall.SIGKILL) }

// Freeze stops all answers, but keeps the connections, until [Instance.Thaw].
func (in *Instance) Freeze() error { return in.signal(syscall.SIGSTOP) }

// Thaw ends [Instance.Freeze].
func (in *Instance) Thaw() error { return in.signal(syscall.SIGCONT) }

func (in *Instance) signal(sig syscall.Signal) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.ended == nil {
		return os.ErrProcessDone
	}
	return in.cmd.Process.Signal(sig)
}

// Stop ends the server and removes its folder.
func (in *Instance) Stop() {
	_ = in.Thaw() // a frozen server takes no other signal
	in.end(syscall.SIGTERM)
	_ = os.RemoveAll(in.dir) // the next start tries again
}

func (in *Instance) end(sig syscall.Signal) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.ended == nil {
		return
	}
	_ = in.cmd.Process.Signal(sig) // it may have ended already
	select {
	case <-in.ended:
	case <-time.After(stopTimeout):
		_ = in.cmd.Process.Kill()
		<-in.ended
	}
	in.ended = nil
}

// await waits until the server answers.
func (in *Instance) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		err := ping(ctx, filepath.Join(in.dir, socketName))
		if err == nil {
			return nil
		}
		select {
		case <-in.ended:
			return fmt.Errorf("%s did not start:\n%s", in.program, &in.log)
		case <-ctx.Done():
			return fmt.Errorf("%s does not answer: %w", in.program, err)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func ping(ctx context.Context, socket string) error {
	return send(ctx, socket, "PING\r\n", func(conn net.Conn) error {
		_, err := conn.Read(make([]byte, 1))
		return err
	})
}

// send writes a command and lets read handle the answer.
func send(ctx context.Context, socket, command string, read func(net.Conn) error) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // nothing is pending
	if err := conn.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return err
	}
	if _, err := conn.Write([]byte(command)); err != nil {
		return err
	}
	return read(conn)
}

// socketRoot is the system's folder for temporary files, or /tmp if the path of a socket
// would be too long.
func socketRoot() string {
	longest := filepath.Join(os.TempDir(), dirPrefix+"4194304-1234567890", socketName)
	if len(longest) > maxSocketPath {
		return "/tmp"
	}
	return os.TempDir()
}

// removeStale stops the servers that outlived their processes and removes their folders.
func removeStale() {
	dirs, err := filepath.Glob(filepath.Join(socketRoot(), dirPrefix+"*"))
	if err != nil {
		return
	}
	for _, dir := range dirs {
		text, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), dirPrefix), "-")
		pid, err := strconv.Atoi(text)
		if err != nil || !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			continue
		}
		_ = send(context.Background(), filepath.Join(dir, socketName), "SHUTDOWN NOSAVE\r\n", func(net.Conn) error { return nil })
		_ = os.RemoveAll(dir) // another process may be removing it
	}
}
