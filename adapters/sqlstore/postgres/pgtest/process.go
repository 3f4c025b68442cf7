package pgtest

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// Bounds of starting and stopping a server.
const (
	startTimeout = 60 * time.Second
	stopTimeout  = 20 * time.Second
)

// process is a program that runs.
type process struct {
	cmd   *exec.Cmd
	log   bytes.Buffer
	ended chan struct{} // nil until it started
}

// start starts the server from a thread that lives as long as it: the signal at the
// parent's death is sent when the thread ends that started the child.
func (p *process) start(postgres, home, data string, opts Options, owner *syscall.Credential) error {
	durable := "off"
	if opts.Durable {
		durable = "on"
	}
	log := "4GB"
	if opts.InMemory {
		log = "256MB"
	}
	settings := append([]string{
		"listen_addresses=", "max_connections=300", "fsync=" + durable, "full_page_writes=" + durable, "shared_buffers=256MB", "max_wal_size=" + log,
	}, opts.Settings...)
	args := []string{"-D", data, "-k", home}
	for _, setting := range settings {
		args = append(args, "-c", setting)
	}
	p.cmd = exec.Command(postgres, args...) //nolint:noctx // stopped by a signal, not by a context
	p.cmd.Dir, p.cmd.SysProcAttr, p.cmd.Stdout, p.cmd.Stderr = home, attributes(owner), &p.log, &p.log
	started, ended := make(chan error), make(chan struct{})
	go func() {
		runtime.LockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			_ = p.cmd.Wait() // how it ended is in its log
			close(ended)
		}
	}()
	err := <-started
	if err == nil {
		p.ended = ended
	}
	return err
}

// stop asks for a fast shutdown and waits for it.
func (p *process) stop() { p.end(os.Interrupt) }

// end asks for a shutdown by a signal, waits for it, and insists.
func (p *process) end(sig os.Signal) {
	if p.ended == nil {
		return
	}
	_ = p.cmd.Process.Signal(sig) // it may have ended already
	select {
	case <-p.ended:
	case <-time.After(stopTimeout):
		_ = p.cmd.Process.Kill()
		<-p.ended
	}
}

// await waits until the server answers.
func (p *process) await(ctx context.Context, address string) error {
	db, err := sql.Open("postgres", address)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }() // nothing is pending
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		if err = db.PingContext(ctx); err == nil {
			return nil
		}
		select {
		case <-p.ended:
			return fmt.Errorf("the PostgreSQL server did not start:\n%s", &p.log)
		case <-ctx.Done():
			return fmt.Errorf("the PostgreSQL server does not answer: %w", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
