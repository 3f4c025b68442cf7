package redistest

import (
	"context"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/sluicehq/sluice/deploy/testserver"
)

// Instance is a running server that keeps nothing on disk. On Linux it ends with this
// process.
type Instance struct {
	URL string

	program string
	args    []string
	dir     string

	mu      sync.Mutex
	process *testserver.Process // nil while there is none
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

// Launch starts a new server that listens on a Unix socket in a private folder. Args are
// further arguments of redis-server, such as "--requirepass", "secret".
func Launch(ctx context.Context, args ...string) (_ *Instance, err error) {
	executable, err := program(ctx)
	if err != nil {
		return nil, err
	}
	root := testserver.SocketRoot(dirPrefix, socketName)
	testserver.RemoveStale(root, dirPrefix, func(dir string) { // a server that outlived its process
		_ = send(context.Background(), filepath.Join(dir, socketName), "SHUTDOWN NOSAVE\r\n", func(net.Conn) error { return nil })
	})
	dir, err := testserver.Folder(root, dirPrefix)
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
	cmd := exec.Command(in.program, in.args...) //nolint:noctx // stopped by a signal, not by a context
	cmd.Dir = in.dir
	process, err := testserver.Start(cmd, filepath.Join(in.dir, "log"), syscall.SIGKILL)
	if err != nil {
		return err
	}
	in.process = process
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	return process.Await(ctx, 5*time.Millisecond, in.ping)
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
	if in.process == nil {
		return os.ErrProcessDone
	}
	return in.process.Signal(sig)
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
	if in.process != nil {
		in.process.End(sig, stopTimeout)
		in.process = nil
	}
}

func (in *Instance) ping(ctx context.Context) error {
	return send(ctx, filepath.Join(in.dir, socketName), "PING\r\n", func(conn net.Conn) error {
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
