package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Options are what a [Sandbox] works with. All are required.
type Options struct {
	Command   []string        // what starts a process that calls [Serve]: the path, and arguments
	Processes outbound.Budget // how many run code at the same time
}

// Sandbox runs code in processes of its own. It is safe for concurrent use.
type Sandbox struct {
	opts Options

	mu     sync.Mutex
	idle   []*process // the one that became idle last is last
	sweep  *time.Timer
	closed bool
}

var _ outbound.CodeRunner = (*Sandbox)(nil)

// New returns a sandbox. It starts processes when there is something to do, and ends those that
// have nothing to do; [Sandbox.Close] ends all.
func New(o Options) *Sandbox { return &Sandbox{opts: o} }

const (
	// idleTime is how long a process is kept that has nothing to do.
	idleTime = 30 * time.Second

	// maxServed is how often a process is used, so that nothing adds up in it.
	maxServed = 2000

	// valuesPart is which part of its memory the values may take as text that code looks at,
	// since it has them as text and as values.
	valuesPart = 4

	smallOutput  = 64 << 10 // bytes that need no memory of their own
	outputCopies = 3        // how many there are of an output while it is made into what is recorded

	compileTimeout = 2 * time.Second
	compileMemory  = 32 << 20
)

// Run runs code once.
func (s *Sandbox) Run(ctx context.Context, call outbound.CodeCall) (o outbound.CodeOutcome, err error) {
	values, err := encode(call.Values)
	if err != nil {
		return o, fmt.Errorf("sandbox: write the values: %w", err)
	}
	if most := call.Memory / valuesPart; int64(len(values)) > most {
		o.Failure = failed(codeOutOfMemory, fmt.Sprintf("What the code looks at takes %d bytes of JSON; with %d MB of memory it can be %d.",
			len(values), call.Memory>>20, most))
		return o, nil
	}
	answer, err := s.do(ctx, call.Tenant, request{
		Source: call.Source, Values: values, Now: call.Now.UnixMilli(), Seed: call.Seed, Timeout: call.Timeout, Memory: call.Memory,
	})
	if err != nil {
		return o, err
	}
	if size := int64(len(answer.Output)); size > smallOutput && call.ReserveMemory != nil { // the process is free for others meanwhile
		if err = call.ReserveMemory(ctx, outputCopies*size); err != nil {
			return o, fmt.Errorf("sandbox: %w", err)
		}
	}
	return outcomeOf(answer), nil
}

// outcomeOf reads an answer. Code that has taken its process over can write any: what no process
// answers counts as the end of one.
func outcomeOf(answer reply) (o outbound.CodeOutcome) {
	o.Log, o.Took = run.NewLog(answer.Log), answer.took
	switch answer.Code {
	case codeFailed, codeTimeout, codeOutOfMemory, run.CodeOutputTooLarge:
		o.Failure = failed(answer.Code, answer.Message)
	case "":
		o.Output = answer.Output
	}
	if o.Failure == nil && (o.Output == nil || len(o.Output) > run.MaxOutput) {
		o.Output, o.Failure = nil, failed(codeCrashed, crashedMessage)
	}
	return o
}

const crashedMessage = "The process that ran the code ended before the code did."

// Compile says what is wrong with a source.
func (s *Sandbox) Compile(ctx context.Context, owner tenant.ID, source string) (problem string, at workflow.Place, err error) {
	answer, err := s.do(ctx, owner, request{Compile: true, Source: source, Timeout: compileTimeout, Memory: compileMemory})
	switch {
	case err != nil || answer.Code == "":
		return "", at, err
	case answer.Code == codeCrashed || answer.Code == codeTimeout: // which says nothing of the source
		return "", at, unavailable(soon, "The process that reads code ended before it had read it, or took too long.")
	}
	return cmp.Or(answer.Message, answer.Code), workflow.Place{Line: answer.Line, Column: answer.Column}, nil
}

func failed(code, message string) *outbound.NodeFailed {
	return &outbound.NodeFailed{Code: code, Message: message, Retryable: code == codeCrashed}
}

// do has a request carried out by a process, once it is the tenant's turn.
func (s *Sandbox) do(ctx context.Context, owner tenant.ID, asked request) (answer reply, err error) {
	if err = s.opts.Processes.Reserve(ctx, owner, 1); err != nil {
		return answer, fmt.Errorf("sandbox: %w", err)
	}
	defer s.opts.Processes.Release(owner, 1)
	p, err := s.take(ctx, owner)
	if err != nil {
		return answer, err
	}
	began := time.Now()
	defer func() { answer.took = time.Since(began) }()
	if answer, err = p.do(ctx, asked); errors.Is(err, errNotAsked) { // it ended while it had nothing to do
		if p, err = s.start(ctx, owner); err != nil {
			return answer, err
		}
		answer, err = p.do(ctx, asked)
	}
	switch {
	case err == nil:
		s.put(p)
		return answer, nil
	case ctx.Err() != nil:
		return answer, fmt.Errorf("sandbox: %w", context.Cause(ctx))
	case errors.Is(err, errTimedOut):
		return reply{Code: codeTimeout, Message: fmt.Sprintf("The code did not end within %d ms.", asked.Timeout.Milliseconds())}, nil
	case errors.Is(err, errOutOfMemory):
		return reply{Code: codeOutOfMemory, Message: fmt.Sprintf("The code needs more than its %d MB of memory.", asked.Memory>>20)}, nil
	default:
		return reply{Code: codeCrashed, Message: crashedMessage}, nil
	}
}

// take returns a process that nobody uses: the one that worked for the tenant before, if there
// is one.
func (s *Sandbox) take(ctx context.Context, owner tenant.ID) (*process, error) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, unavailable(soon, "The gateway is stopping.")
	}
	at := len(s.idle) - 1
	for i, p := range s.idle {
		if p.servedTo == owner {
			at = i
		}
	}
	if at >= 0 {
		p := s.idle[at]
		s.idle = slices.Delete(s.idle, at, at+1)
		s.mu.Unlock()
		p.servedTo = owner
		return p, nil
	}
	s.mu.Unlock()
	return s.start(ctx, owner)
}

func (s *Sandbox) start(ctx context.Context, owner tenant.ID) (*process, error) {
	p, err := start(ctx, s.opts.Command)
	var refusal *refused
	switch {
	case err == nil:
		p.servedTo = owner
		return p, nil
	case ctx.Err() != nil:
		return nil, fmt.Errorf("sandbox: %w", context.Cause(ctx))
	case errors.As(err, &refusal):
		return nil, unavailable(never, "Code cannot be run here, since it cannot be confined: "+refusal.reason+".")
	default:
		return nil, unavailable(soon, "The process that runs code does not start.").Because(err)
	}
}

// When it may help to ask again.
const (
	never time.Duration = 0
	soon                = time.Second
)

func unavailable(again time.Duration, message string) *domain.Error {
	e := domain.Fail(domain.Unavailable, "code_unavailable", "%s", message)
	e.RetryAfter = again
	return e
}

// put keeps a process for the next request.
func (s *Sandbox) put(p *process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || p.served >= maxServed {
		go p.end()
		return
	}
	p.since = time.Now()
	s.idle = append(s.idle, p)
	if s.sweep == nil {
		s.sweep = time.AfterFunc(idleTime, s.endIdle)
	}
}

// endIdle ends the processes that have had nothing to do for long.
func (s *Sandbox) endIdle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := s.idle[:0]
	for _, p := range s.idle {
		if time.Since(p.since) >= idleTime || s.closed {
			go p.end()
		} else {
			kept = append(kept, p)
		}
	}
	clear(s.idle[len(kept):])
	if s.idle = kept; len(kept) > 0 {
		s.sweep.Reset(idleTime)
	} else {
		s.sweep = nil
	}
}

// Close ends all processes that do nothing, and every other one when it has ended what it
// does.
func (s *Sandbox) Close() {
	s.mu.Lock()
	idle := s.idle
	s.idle, s.closed = nil, true
	if s.sweep != nil {
		s.sweep.Stop()
	}
	s.mu.Unlock()
	for _, p := range idle {
		p.end()
	}
}
