// Package testserver is what tests and tools need of servers of their own: a process that
// ends with this one, a private folder, and the server's program.
package testserver

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"syscall"
	"time"
)

// Process is a program that runs next to this one. On Linux it ends with this one, too.
type Process struct {
	Log string // file that holds what it prints

	cmd   *exec.Cmd
	ended chan struct{}
}

// Start starts a program, which the signal ends when this process ends. What it prints is
// appended to the log.
func Start(cmd *exec.Cmd, log string, atOurEnd syscall.Signal) (*Process, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = out.Close() }() // the process has its own handle
	cmd.Stdout, cmd.Stderr = out, out
	endWithParent(cmd, atOurEnd)
	p := &Process{Log: log, cmd: cmd, ended: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // the end of the thread that starts a child counts as the parent's
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // see ExitCode
			close(p.ended)
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// PID is the process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Ended is closed when the process has ended.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// ExitCode waits for the end; -1 means that a signal ended the process.
func (p *Process) ExitCode() int {
	<-p.ended
	return p.cmd.ProcessState.ExitCode()
}

// Signal sends a signal to the process, unless it has ended.
func (p *Process) Signal(sig os.Signal) error { return p.cmd.Process.Signal(sig) }

// Kill ends the process at once.
func (p *Process) Kill() {
	_ = p.Signal(os.Kill) // it may have ended already
	<-p.ended
}

// stopTimeout bounds how long Stop waits.
const stopTimeout = 20 * time.Second

// Stop asks the process to end, and kills it when it does not.
func (p *Process) Stop() { p.End(syscall.SIGTERM, stopTimeout) }

// End does the same with a signal and within a time, and returns how long it took.
func (p *Process) End(by os.Signal, within time.Duration) time.Duration {
	began := time.Now()
	_ = p.Signal(by) // it may have ended already
	select {
	case <-p.ended:
	case <-time.After(within):
		p.Kill()
	}
	return time.Since(began)
}

// Await asks the process in these intervals until it answers. One that ends is an error.
func (p *Process) Await(ctx context.Context, every time.Duration, ask func(context.Context) error) error {
	for {
		err := ask(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.ended:
			return fmt.Errorf("%s ended with exit code %d before it was ready:\n%s", p.cmd.Path, p.ExitCode(), p.LogTail())
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w (%w)\n%s", p.cmd.Path, ctx.Err(), err, p.LogTail())
		case <-time.After(every):
		}
	}
}

// AwaitLog waits until what the process printed matches, and returns the last group.
func (p *Process) AwaitLog(ctx context.Context, pattern *regexp.Regexp) (string, error) {
	for over := false; ; {
		text, err := os.ReadFile(p.Log)
		if err != nil {
			return "", err
		}
		if found := pattern.FindSubmatch(text); found != nil {
			return string(found[len(found)-1]), nil
		}
		if over {
			return "", fmt.Errorf("%s did not print %s, but:\n%s", p.cmd.Path, pattern, text)
		}
		select {
		case <-p.ended:
			over = true
		case <-ctx.Done():
			over = true
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// LogTail is the end of what the process printed.
func (p *Process) LogTail() string {
	const most = 1500
	text, err := os.ReadFile(p.Log)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-most):])
}
