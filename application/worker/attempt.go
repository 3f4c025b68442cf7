package worker

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/sluicehq/sluice/application/execution"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

const (
	// minAttemptPause and maxAttemptPause bound the pauses before an attempt is made again that did
	// not come to an end.
	minAttemptPause = 250 * time.Millisecond
	maxAttemptPause = 4 * time.Second

	// maxAborts is how often an attempt is made that does not come to an end. Then it
	// counts as one that failed, and the run decides.
	maxAborts = 5
)

// maxCallsOfRun is how many calls of nodes one run makes at the same time.
const maxCallsOfRun = 32

// attempt is one attempt at a node that has an effect outside.
type attempt struct {
	job       *job
	wanted    run.Execute
	prepared  chan prepared // receives what was left out of wanted
	done      chan struct{} // closed when what came of it is recorded, or nobody wants it
	interrupt context.CancelCauseFunc
	fact      run.Fact // what came of it; nil when it was interrupted
	call      int64    // memory reserved for the call
	large     bool     // it has one of the run's places for what is large
}

// prepared is an attempt with what was left out of it.
type prepared struct {
	wanted run.Execute
	err    error
}

// enqueue begins attempts, as many as a run may have at the same time, except for those that are
// being made already. The others are queued.
func (j *job) enqueue(wanted []run.Execute) {
	for _, e := range wanted {
		same := func(q run.Execute) bool { return q.Node == e.Node }
		if j.attempts[e.Node] == nil && !slices.ContainsFunc(j.queued, same) {
			j.queued = append(j.queued, e)
		}
	}
	j.startQueued()
}

// startQueued begins attempts that are queued. While the worker leaves it begins none:
// another one makes them.
func (j *job) startQueued() {
	for len(j.queued) > 0 && j.mayStartAttempt() {
		e := j.queued[0]
		j.queued = j.queued[1:]
		ctx, interrupt := context.WithCancelCause(j.ctx)
		a := &attempt{job: j, wanted: e, prepared: make(chan prepared, 1), done: make(chan struct{}), interrupt: interrupt}
		j.attempts[e.Node] = a
		j.session.running.Go(func() { a.run(ctx) })
	}
}

// run makes the attempt once there is room for it, and hands over what came of it.
func (a *attempt) run(ctx context.Context) {
	j, e := a.job, a.wanted
	defer a.interrupt(nil)
	defer a.release()
	if err := j.session.recoverPanic("make the attempt", func() error { a.fact = a.makeWithMemory(ctx); return nil }); err != nil {
		j.session.report(fmt.Errorf("run %s: attempt %d at node %s: %w", e.Run, e.Attempt, e.Node, err))
		a.fact = aborted(e)
	}
	select {
	case j.attemptDone <- a:
		<-a.done
	case <-j.closed:
	}
}

// makeWithMemory makes the attempt once there is memory for it; nil when it was interrupted before.
func (a *attempt) makeWithMemory(ctx context.Context) run.Fact {
	j := a.job
	e := a.wanted
	if e.Weight > smallRun && a.acquireLarge(ctx) != nil {
		return nil
	}
	if a.reserve(ctx) != nil {
		return nil
	}
	if e.Deferred {
		select {
		case j.toPrepare <- a:
		case <-ctx.Done():
			return nil
		}
		select {
		case got := <-a.prepared:
			switch {
			case ctx.Err() != nil:
				return nil
			case got.err != nil:
				return aborted(e)
			}
			e = got.wanted
		case <-ctx.Done():
			return nil
		}
	}
	return j.attempt(ctx, a, e)
}

// reserve waits for the memory that a call takes. A run that has memory of its own does not
// wait for it: who has it may wait for the run's.
func (a *attempt) reserve(ctx context.Context) error {
	waiting, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(a.job.growth.grown.Load().done, stop)()
	memory := execution.CallMemory + 2*a.wanted.Weight
	switch err := a.job.session.worker.calls.Reserve(waiting, a.wanted.Tenant, memory); {
	case err == nil:
		a.call = memory
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	default:
		return nil // the run has memory of its own
	}
}

// acquireLarge waits for one of the run's places for what is large.
func (a *attempt) acquireLarge(ctx context.Context) error {
	if a.large {
		return nil
	}
	if err := a.job.grow(ctx); err != nil {
		return err
	}
	select {
	case a.job.growth.large <- struct{}{}:
		a.large = true
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// release gives back what the attempt has, once its outcome is recorded.
func (a *attempt) release() {
	if a.large {
		<-a.job.growth.large
	}
	if a.call > 0 {
		a.job.session.worker.calls.Release(a.wanted.Tenant, a.call)
	}
}

// prepare computes what was left out of an attempt.
func (j *job) prepare(a *attempt) jobOutcome {
	wanted, err := a.wanted, error(nil)
	if waited := j.compute(nil, func() { wanted, err = j.run.Prepare(j.plan, a.wanted) }); waited != nil {
		err = waited
	}
	a.prepared <- prepared{wanted, err}
	return jobContinue
}

// interruptStale interrupts the attempts that the run does not wait for any more.
func (j *job) interruptStale() {
	if len(j.attempts)+len(j.queued) == 0 {
		return
	}
	waitsFor := make(map[workflow.NodeID]int, len(j.attempts)+len(j.queued))
	for _, n := range j.run.Nodes() {
		if n.Status == run.NodeRunning && n.RetryAt == nil {
			waitsFor[n.ID] = n.Attempts
		}
	}
	j.queued = slices.DeleteFunc(j.queued, func(e run.Execute) bool { return waitsFor[e.Node] != e.Attempt })
	for id, a := range j.attempts {
		if waitsFor[id] != a.wanted.Attempt {
			a.interrupt(errNotWanted)
			delete(j.attempts, id)
		}
	}
}

// outcome applies the outcome of an attempt to the run.
func (j *job) outcome(a *attempt) jobOutcome {
	defer close(a.done)
	if j.attempts[a.wanted.Node] != a {
		return jobContinue // it was interrupted
	}
	delete(j.attempts, a.wanted.Node)
	end := jobContinue
	if a.fact != nil {
		end = j.apply(a.fact)
	}
	if end == jobContinue {
		j.startQueued()
	}
	return end
}

// attempt makes an attempt until it comes to an end, and returns nil when it was
// interrupted.
func (j *job) attempt(ctx context.Context, a *attempt, e run.Execute) run.Fact {
	if !e.Deadline.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, e.Deadline.Sub(j.now()))
		defer cancel()
	}
	pause := minAttemptPause
	for made := 1; j.awaitGoodLease(ctx); made++ {
		fact, err := j.try(ctx, a, e)
		switch {
		case err == nil:
			return fact
		case ctx.Err() != nil:
			return nil
		}
		j.session.report(fmt.Errorf("run %s: attempt %d at node %s: %w", e.Run, e.Attempt, e.Node, err))
		if made == maxAborts {
			return aborted(e)
		}
		if j.session.stopping.Err() != nil || !outbound.Sleep(ctx, pause) {
			return nil
		}
		pause = min(2*pause, maxAttemptPause)
	}
	return nil
}

// aborted counts an attempt that did not come to an end as one that failed.
func aborted(e run.Execute) run.Fact {
	return run.AttemptFailed{
		Node: e.Node, Attempt: e.Attempt, Code: run.CodeAborted, Message: "The attempt could not be made for a reason within the gateway.", Retryable: true,
	}
}

// try makes an attempt once.
func (j *job) try(ctx context.Context, a *attempt, e run.Execute) (fact run.Fact, err error) {
	err = j.session.recoverPanic("make the attempt", func() error {
		if e.StartsRun {
			var err error
			fact, err = j.call(ctx, e)
			return err
		}
		var err error
		fact, err = j.session.worker.attempts.Make(ctx, e, func(ctx context.Context, _ int64) error { return a.acquireLarge(ctx) })
		return err
	})
	return fact, err
}
