package runs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/ports/outbound"
)

const (
	// firstAgain and lastAgain bound the pauses before an attempt is made again that did
	// not come to an end.
	firstAgain = 250 * time.Millisecond
	lastAgain  = 4 * time.Second

	// mostAgain is how often an attempt is made that does not come to an end. Then it
	// counts as one that failed, and the run decides.
	mostAgain = 5

	// The codes of attempts that failed within the gateway.
	codeAborted    = "attempt_aborted"
	codeNoEndpoint = "node_endpoint_not_found"
)

// attempt is one attempt at a node that has an effect outside.
type attempt struct {
	wanted    run.Execute
	interrupt context.CancelCauseFunc
	fact      run.Fact // what came of it; nil when it was interrupted
}

// launch begins attempts, except those that are being made already. While the worker
// leaves it begins none: another one makes them.
func (j *job) launch(wanted []run.Execute) {
	for _, e := range wanted {
		if j.attempts[e.Node] != nil || j.leaving.Err() != nil {
			continue
		}
		ctx, interrupt := context.WithCancelCause(j.ctx)
		a := &attempt{wanted: e, interrupt: interrupt}
		j.attempts[e.Node] = a
		j.working.Go(func() {
			defer interrupt(nil)
			if err := j.contained("make the attempt", func() error { a.fact = j.attempt(ctx, e); return nil }); err != nil {
				j.report(fmt.Errorf("run %s: attempt %d at node %s: %w", e.Run, e.Attempt, e.Node, err))
				a.fact = aborted(e)
			}
			select {
			case j.ended <- a:
			case <-j.over:
			}
		})
	}
}

// prune interrupts the attempts that the run does not wait for any more.
func (j *job) prune() {
	if len(j.attempts) == 0 {
		return
	}
	for _, n := range j.run.Nodes() {
		a := j.attempts[n.ID]
		if a == nil || n.Status == run.NodeRunning && n.RetryAt == nil && n.Attempts == a.wanted.Attempt {
			continue
		}
		a.interrupt(errNotWanted)
		delete(j.attempts, n.ID)
	}
}

// outcome tells the run what came of an attempt.
func (j *job) outcome(a *attempt) fate {
	if j.attempts[a.wanted.Node] != a {
		return goesOn // it was interrupted
	}
	delete(j.attempts, a.wanted.Node)
	if a.fact == nil {
		return goesOn // its time was over, or that of the worker is: the run is told of the one and given back for the other
	}
	return j.apply(a.fact)
}

// attempt makes an attempt until it comes to an end, and returns nil when it was
// interrupted.
func (j *job) attempt(ctx context.Context, e run.Execute) run.Fact {
	if !e.Deadline.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, e.Deadline.Sub(j.now()))
		defer cancel()
	}
	pause := firstAgain
	for made := 1; j.awaitTrust(ctx); made++ {
		fact, err := j.try(ctx, e)
		switch {
		case err == nil:
			return fact
		case ctx.Err() != nil:
			return nil
		}
		j.report(fmt.Errorf("run %s: attempt %d at node %s: %w", e.Run, e.Attempt, e.Node, err))
		if made == mostAgain {
			return aborted(e)
		}
		if j.leaving.Err() != nil || !rest(ctx, pause) {
			return nil
		}
		pause = min(2*pause, lastAgain)
	}
	return nil
}

// aborted counts an attempt that did not come to an end as one that failed.
func aborted(e run.Execute) run.Fact {
	return run.AttemptFailed{
		Node: e.Node, Attempt: e.Attempt, Code: codeAborted, Message: "The attempt could not be made for a reason within the gateway.", Retryable: true,
	}
}

// try makes an attempt once.
func (j *job) try(ctx context.Context, e run.Execute) (fact run.Fact, err error) {
	err = j.contained("make the attempt", func() error {
		call := outbound.NodeCall{
			Tenant: e.Tenant, SubTenant: string(e.SubTenant), RunID: string(e.Run), EntityID: e.Entity, NodeID: string(e.Node),
			Type: e.Type, Version: e.Version, CanPause: e.CanPause, Attempt: e.Attempt, Inputs: e.Input, Config: e.Config,
			IdempotencyKey: e.IdempotencyKey, Timeout: e.Timeout,
		}
		if !e.BuiltIn {
			to, err := j.endpoints.Endpoint(ctx, e.Tenant, e.Type, e.Version)
			if domain.KindOf(err) == domain.NotFound && err != nil {
				fact = run.AttemptFailed{Node: e.Node, Attempt: e.Attempt, Code: codeNoEndpoint, Message: explained(err, "The node type has no endpoint.")}
				return nil
			}
			if err != nil {
				return err
			}
			call.Endpoint, call.Secrets = to.URL, to.Secrets
		}
		outcome, err := j.nodes.Run(ctx, call)
		if err == nil {
			fact, err = told(e, outcome)
		}
		return err
	})
	return fact, err
}

// told turns an outcome into what the run is told.
func told(of run.Execute, o outbound.NodeOutcome) (run.Fact, error) {
	switch o := o.(type) {
	case outbound.NodeCompleted:
		return run.AttemptCompleted{Node: of.Node, Attempt: of.Attempt, Output: o.Output}, nil
	case outbound.NodeFailed:
		return run.AttemptFailed{
			Node: of.Node, Attempt: of.Attempt, Code: o.Code, Message: o.Message, Retryable: o.Retryable, RetryAfter: o.RetryAfter,
		}, nil
	case outbound.NodePaused:
		return run.AttemptPaused{Node: of.Node, Attempt: of.Attempt, Event: o.Event, Timeout: o.Timeout}, nil
	default:
		return nil, fmt.Errorf("the outcome %T is not one that exists", o)
	}
}

// explained is what a tenant is told of an error.
func explained(err error, otherwise string) string {
	var e *domain.Error
	if errors.As(err, &e) && e.Message != "" {
		return e.Message
	}
	return otherwise
}
