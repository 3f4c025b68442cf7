package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluicehq/sluice/domain/tenant"
)

// process is a child that runs code. It is not safe for concurrent use.
type process struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    io.ReadCloser
	errors *firstText

	servedTo tenant.ID // that it worked for last
	served   int
	since    time.Time // when it became idle
}

var (
	errTimedOut    = errors.New("sandbox: the process was killed because its time was over")
	errOutOfMemory = errors.New("sandbox: the process had no memory left")
	errCrashed     = errors.New("sandbox: the process ended while it worked")
	errNotAsked    = errors.New("sandbox: the process did not take the request")
)

// startTimeout is how long a process may take to greet.
const startTimeout = 10 * time.Second

// start starts a process and waits until it greets. An error that is no refusal, and not that
// of ctx, is one of the operating system.
func start(ctx context.Context, command []string) (*process, error) {
	cmd := exec.CommandContext(context.WithoutCancel(ctx), command[0], command[1:]...)
	cmd.Env = []string{} // nil stands for that of the gateway
	cmd.Dir = "/"
	cmd.SysProcAttr = attributes()
	p := &process{cmd: cmd, errors: new(firstText)}
	cmd.Stderr = p.errors
	var err error
	if p.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if p.out, err = cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	if err = keepOpenFiles(); err != nil {
		return nil, err
	}
	if err = cmd.Start(); err != nil {
		return nil, err
	}
	var hello greeting
	if err = p.guarded(ctx, startTimeout, func() error { return p.read(&hello) }); err == nil && hello.Refused != "" {
		err = &refused{hello.Refused}
	}
	if err != nil {
		p.end()
		return nil, err
	}
	return p, nil
}

// refused is a process that does not run code.
type refused struct{ reason string }

func (r *refused) Error() string { return "sandbox: code cannot be confined: " + r.reason }

// killGrace is how much longer than its time code may take before its process is killed:
// the engine ends it by itself unless something is wrong with it.
const killGrace = 250 * time.Millisecond

// do has a request carried out. After an error the process has ended.
func (p *process) do(ctx context.Context, asked request) (answer reply, err error) {
	body, err := encode(asked)
	if err != nil {
		return answer, err
	}
	p.served++
	err = p.guarded(ctx, asked.Timeout+killGrace, func() error {
		if err := writeFrame(p.in, body); err != nil {
			return fmt.Errorf("%w: %w", errNotAsked, err)
		}
		return p.read(&answer)
	})
	if err != nil {
		p.end()
	}
	return answer, err
}

func (p *process) read(into any) error {
	body, err := readFrame(p.out, maxReply)
	if err != nil {
		return err
	}
	return json.Unmarshal(body, into)
}

// guarded talks to the process, and kills it when that takes too long or nobody wants it any
// more.
func (p *process) guarded(ctx context.Context, limit time.Duration, talk func() error) error {
	var late atomic.Bool
	timer := time.AfterFunc(limit, func() {
		late.Store(true)
		p.kill()
	})
	ignore := context.AfterFunc(ctx, p.kill)
	err := talk()
	inTime, wanted := timer.Stop(), ignore()
	switch {
	case !wanted:
		return fmt.Errorf("sandbox: %w", context.Cause(ctx))
	case late.Load() || !inTime:
		return errTimedOut
	case err != nil:
		p.end()
		if p.errors.has("out of memory") || p.errors.has("cannot allocate memory") {
			return fmt.Errorf("%w: %w", errOutOfMemory, err)
		}
		return fmt.Errorf("%w: %w", errCrashed, err)
	}
	return nil
}

func (p *process) kill() { _ = p.cmd.Process.Kill() } // it may have ended

// end kills the process and waits for its end.
func (p *process) end() {
	p.kill()
	_ = p.in.Close()
	_ = p.cmd.Wait() // that it was killed is no news
}

// firstText keeps the beginning of what a process writes on its way out. It is safe for
// concurrent use.
type firstText struct {
	mu   sync.Mutex
	text []byte
}

// Write keeps what there is room for, and takes the rest.
func (l *firstText) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, text[:min(len(text), max(0, 4096-len(l.text)))]...)
	return len(text), nil
}

func (l *firstText) has(part string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Contains(l.text, []byte(part))
}
