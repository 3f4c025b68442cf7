package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// startTimeout bounds how long a gateway may take until it is ready, while its database
// answers.
const startTimeout = 30 * time.Second

// gateway is one place for a process: killed, it is started again at the same address.
type gateway struct {
	name    string
	url     string
	binary  string
	environ []string
	log     string // file

	mu      sync.Mutex
	pid     int
	frozen  bool
	ended   chan struct{}
	exit    *os.ProcessState // of the last process that ended
	doomed  bool             // it was killed on purpose
	stopped bool             // nothing is to be started any more
}

// newGateway finds an address for a gateway.
func newGateway(name, binary, databaseURL, dir string, environ ...string) (*gateway, error) {
	free, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // closed at once
	if err != nil {
		return nil, err
	}
	address := free.Addr().String()
	g := &gateway{name: name, url: "http://" + address, binary: binary, log: filepath.Join(dir, name+".log")}
	g.environ = append(os.Environ(), "SLUICE_DATABASE_URL="+databaseURL, "SLUICE_LISTEN="+address, "SLUICE_LOG_FORMAT=json",
		"SLUICE_LOG_LEVEL=warn", "SLUICE_EGRESS_ALLOW=127.0.0.0/8", "SLUICE_DATABASE_MAX_CONNECTIONS=24")
	g.environ = append(g.environ, environ...)
	return g, free.Close()
}

// start starts the process. It lives in a thread of its own, whose end would otherwise
// be taken for that of this program.
func (g *gateway) start() error {
	out, err := os.OpenFile(g.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = out.Close() }()     // the process has its own handle
	cmd := exec.Command(g.binary, "serve") //nolint:noctx // stopped by kill
	cmd.Env, cmd.Stdout, cmd.Stderr = g.environ, out, out
	bound(cmd)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stopped {
		return errors.New("the round is over")
	}
	started, ended := make(chan error), make(chan struct{})
	go func() {
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // its exit code is looked at below
			g.mu.Lock()
			g.exit = cmd.ProcessState
			g.mu.Unlock()
			close(ended)
		}
	}()
	if err := <-started; err != nil {
		return err
	}
	g.pid, g.ended, g.frozen, g.doomed = cmd.Process.Pid, ended, false, false
	return nil
}

// process is the one that runs now.
func (g *gateway) process() (pid int, ended chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.pid, g.ended
}

// kill ends the process at once and returns which it was.
func (g *gateway) kill() (pid int) {
	g.mu.Lock()
	pid, ended := g.pid, g.ended
	g.doomed = true
	g.mu.Unlock()
	_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended already
	<-ended
	return pid
}

// terminate asks the process to end and says how long it took and with which code; it is
// killed when it takes longer than it may.
func (g *gateway) terminate(within time.Duration) (took time.Duration, code int) {
	g.mu.Lock()
	pid, ended := g.pid, g.ended
	g.doomed = true
	g.mu.Unlock()
	began := time.Now()
	_ = syscall.Kill(pid, syscall.SIGTERM) // it may have ended already
	select {
	case <-ended:
	case <-time.After(within):
		g.kill()
	}
	return time.Since(began), g.exitCode()
}

// exitCode is that of the last process that ended; -1 when a signal ended it.
func (g *gateway) exitCode() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.exit == nil {
		return -1
	}
	return g.exit.ExitCode()
}

// freeze stops the process's clock, as a hypervisor does, until it is thawed. It says
// whether there was one to freeze.
func (g *gateway) freeze() (thaw func(), ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.frozen || g.doomed {
		return nil, false
	}
	pid := g.pid
	if syscall.Kill(pid, syscall.SIGSTOP) != nil {
		return nil, false
	}
	g.frozen = true
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.pid == pid && g.frozen {
			_ = syscall.Kill(pid, syscall.SIGCONT) // it may have been killed
			g.frozen = false
		}
	}, true
}

// isFrozen says whether the process is.
func (g *gateway) isFrozen() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.frozen
}

// keepUp starts the process again whenever it ends, until ctx does. One that ends by
// itself after it was ready has not survived something: that is a finding.
func (g *gateway) keepUp(ctx context.Context, found *findings) {
	for ctx.Err() == nil {
		_, ended := g.process()
		wasReady := g.awaitReady(ctx, ended)
		select {
		case <-ctx.Done():
			return
		case <-ended:
		}
		g.mu.Lock()
		doomed := g.doomed
		g.mu.Unlock()
		if !doomed && wasReady && ctx.Err() == nil {
			found.add(comesBack, "%s ended by itself: %s", g.name, g.lastWords())
		}
		if !doomed {
			pause(ctx, 200*time.Millisecond) // its database is away
		}
		if ctx.Err() == nil && g.start() != nil {
			return
		}
	}
}

// awaitReady waits until the process says that it can serve, and says whether it did
// before it ended.
func (g *gateway) awaitReady(ctx context.Context, ended <-chan struct{}) bool {
	for ctx.Err() == nil {
		if g.ready(ctx) {
			return true
		}
		select {
		case <-ended:
			return false
		case <-time.After(25 * time.Millisecond):
		}
	}
	return false
}

// ready asks the gateway whether it can serve.
func (g *gateway) ready(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, g.url+"/readyz", http.NoBody)
	if err != nil {
		return false
	}
	answer, err := probe.Do(req)
	if err != nil {
		return false
	}
	_ = answer.Body.Close() // only the status matters
	return answer.StatusCode == http.StatusOK
}

// probe takes a connection of its own for every question.
var probe = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// stop ends the process for good.
func (g *gateway) stop() {
	g.mu.Lock()
	g.stopped = true
	pid, ended := g.pid, g.ended
	g.mu.Unlock()
	if pid == 0 {
		return
	}
	_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended already
	<-ended
}

// lastWords is the end of the log.
func (g *gateway) lastWords() string {
	const most = 1500
	text, err := os.ReadFile(g.log)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-most):])
}

// command runs another command of the gateway beside those that serve.
func (g *gateway) command(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, g.binary, args...)
	cmd.Env = g.environ
	text, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	if err != nil {
		return nil, fmt.Errorf("sluice %s: %w", strings.Join(args, " "), err)
	}
	return text, nil
}

// build compiles the gateway.
func build(ctx context.Context, dir string) (string, error) {
	binary := filepath.Join(dir, "sluice")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", binary, "github.com/sluicehq/sluice/cmd/sluice")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the gateway: %w\n%s", err, text)
	}
	return binary, nil
}

// pause waits, and says whether ctx goes on.
func pause(ctx context.Context, period time.Duration) bool {
	timer := time.NewTimer(period)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
