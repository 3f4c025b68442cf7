package worker

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/sluicehq/sluice/application/execution"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

const (
	// shortWait is how long a run that waits keeps its place: what is due sooner would
	// hardly be claimed by then.
	shortWait = 200 * time.Millisecond

	// minRecordPause and maxRecordPause bound the pauses while a step cannot be recorded.
	minRecordPause = 50 * time.Millisecond
	maxRecordPause = time.Second

	// maxRefusals is how often the same step may be refused, or fail for other reasons than
	// that the store does not answer, before the run is given up.
	maxRefusals = 6
)

// job is a leased run. One goroutine works on it.
type job struct {
	session        *session
	lease          outbound.RunLease
	lastLeaseEnd   outbound.LeaseEnd // how the lease before ended
	run            *run.Run
	plan           *run.Plan
	size           int64 // of what is stored of it; s.mu holds
	needsCatchUp   bool  // attempts may be outstanding that are not being made
	held           held
	recordsAll     bool // nothing is held any more
	handed         handed
	secret         run.Secret
	claimedAt      time.Time // by the clock of the database
	claimedLocally time.Time // the same, by that of the process

	attempts    map[workflow.NodeID]*attempt // that are being made
	attemptDone chan *attempt                // hands over what came of them
	closed      chan struct{}                // closed when nobody waits for that any more

	growth    *growth
	isolated  bool          // it computes with half the memory, and not at the same time as other isolated runs
	queued    []run.Execute // attempts that wait for others of the run to end
	toPrepare chan *attempt // attempts that are to be prepared

	ctx       context.Context         //nolint:containedctx // of the attempts; ends with the lease
	interrupt context.CancelCauseFunc // ends it

	advanced  chan struct{} // holds one when latestSeq or woken has grown
	latestSeq atomic.Int64  // the greatest Seq that the store is known to have
	woken     atomic.Int64  // how often the run is known to have been woken
	looked    int64         // how often it had been when its family was last looked at
	settled   int64         // the same, as the last step was recorded
	leaseEnd  atomic.Int64  // when the lease ends, in nanoseconds since the session began
}

// startJob begins to work on a run that was leased at some time after since.
func (s *session) startJob(leased outbound.LeasedRun, since time.Time, work func(*job)) *job {
	j := &job{
		session: s, lease: leased.Lease, lastLeaseEnd: leased.LastLeaseEnd, run: leased.Run, size: leased.Size, secret: s.worker.key.Secret(leased.Lease.Run), claimedAt: leased.At, claimedLocally: time.Now(),
		attempts: make(map[workflow.NodeID]*attempt), attemptDone: make(chan *attempt), closed: make(chan struct{}), toPrepare: make(chan *attempt), advanced: make(chan struct{}, 1), growth: newGrowth(),
	}
	if leased.Engine == run.EngineTemporal {
		j.handed.arrived = make(chan inbound.HandedOver, 1)
	}
	j.ctx, j.interrupt = context.WithCancelCause(s.effects)
	j.woken.Store(leased.Woken)
	j.leaseEnd.Store(int64(since.Sub(s.began) + s.worker.opts.Lease))
	s.mu.Lock()
	j.handed.watched.Store(int64(s.watched[leased.Lease.Run]))
	if before := s.jobs[leased.Lease.Run]; before != nil {
		before.interrupt(errLeaseLost) // it had ended before it was renewed
	}
	s.add(j)
	s.mu.Unlock()
	s.running.Go(func() { work(j) })
	return j
}

// jobOutcome is what becomes of a job.
type jobOutcome int

const (
	jobContinue   jobOutcome = iota
	jobDone                  // recorded without keeping the lease, or the lease is gone
	jobReturn                // the lease is to be given back at once
	leaveToExpire            // the lease is to end by itself: nobody tries again before
)

// work moves the run on until it has to wait for long, or somebody else has it.
func (j *job) work() {
	end := leaveToExpire
	err := j.session.recoverPanic("advance", func() error {
		for end = j.begin(); end == jobContinue; end = j.next() {
			if !j.keeps() || j.exceedsMemory() {
				end = jobReturn
				break
			}
		}
		return nil
	})
	if err != nil {
		end = j.fail(err)
	}
	j.leave(end)
}

// leave gives up the place of the run, and its lease as the end says.
func (j *job) leave(end jobOutcome) {
	if end == leaveToExpire && j.session.stopping.Err() != nil {
		end = jobReturn // this process does not claim it again
	}
	j.interrupt(errNotWanted)
	j.endGrowth()
	close(j.closed)
	j.session.mu.Lock()
	j.session.remove(j)
	if end == jobReturn {
		j.session.toReturn = append(j.session.toReturn, j.lease)
		notify(j.session.renewNow)
	}
	j.session.mu.Unlock()
	notify(j.session.placeFreed)
	if end != leaveToExpire {
		j.wakeWhenDue()
	}
}

// wakeWhenDue wakes the claimer when the run is due again, if that is before it looks anyway.
func (j *job) wakeWhenDue() {
	if j.run == nil { // it could not be read
		return
	}
	at := j.run.WakeAt()
	if at == nil || j.run.Status().Finished() {
		return
	}
	if wait := at.Sub(j.now()); wait < maxIdle {
		time.AfterFunc(max(wait, 0), func() { notify(j.session.wakeup) })
	}
}

// begin makes the first step under the lease.
func (j *job) begin() jobOutcome {
	if j.session.stopping.Err() != nil {
		return jobReturn
	}
	if end := j.read(); end != jobContinue {
		return end
	}
	if end := j.beginIsolated(); end != jobContinue {
		return end
	}
	var err error
	switch j.plan, err = j.session.worker.plans.Of(j.session.units, j.lease.Tenant, j.run.Source()); {
	case isCode(err, "version_not_found"):
		return j.cancel()
	case err != nil:
		return j.fail(err)
	}
	j.growth.setSize(j.plan.Nodes())
	if end := j.replayKept(); end != jobContinue {
		return end
	}
	if end := j.lookAtFamily(); end != jobContinue {
		return end
	}
	if end := j.resume(); end != jobContinue || j.keeps() {
		return end
	}
	if j.settled != j.looked {
		return j.settle()
	}
	return leaveToExpire // it was due, and nothing is
}

// cancel ends a run whose version was deleted, as deleting the workflow does.
func (j *job) cancel() jobOutcome {
	j.plan = j.session.worker.plans.Orphaned(j.run)
	if end := j.apply(run.CancelRequested{Reason: "The workflow version that the run executes was deleted."}); end != jobContinue {
		return end
	}
	return leaveToExpire
}

// next waits for something to happen, and applies it to the run.
func (j *job) next() jobOutcome {
	if len(j.queued) > 0 && len(j.attempts) == 0 && j.session.stopping.Err() == nil { // it is too large for the next ones
		if j.exceedsMemory() {
			return jobReturn
		}
		if j.grow(j.ctx) != nil {
			return j.stopped()
		}
		j.startQueued()
	}
	var leaving <-chan struct{}
	if len(j.attempts) == 0 {
		leaving = j.session.stopping.Done()
	}
	var wake <-chan time.Time
	if at := j.wakeAt(); at != nil {
		timer := time.NewTimer(max(at.Sub(j.now()), time.Millisecond))
		defer timer.Stop()
		wake = timer.C
	}
	more := make(<-chan struct{})
	if j.run.More() {
		more = closedChannel
	}
	select {
	case a := <-j.attemptDone:
		return j.outcome(a)
	case a := <-j.toPrepare:
		return j.prepare(a)
	case <-more:
		return j.apply(run.TimeReached{})
	case <-wake:
		return j.apply(run.TimeReached{})
	case <-j.advanced:
		if end := j.recordHeld(); end != jobContinue {
			return end
		}
		j.answerWatchers()
		if end := j.lookAtFamily(); end != jobContinue {
			return end
		}
		if j.latestSeq.Load() <= j.run.Seq() {
			return jobContinue // the worker's own step
		}
		if end := j.reload(); end != jobContinue {
			return end
		}
		return j.catchUp()
	case <-j.ctx.Done():
		select {
		case a := <-j.attemptDone: // it came to an end before, and is not thrown away
			return j.outcome(a)
		default:
			return j.stopped()
		}
	case <-leaving:
		return jobReturn
	}
}

// closedChannel is closed.
var closedChannel = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// stopped says what becomes of a run whose attempts were interrupted.
func (j *job) stopped() jobOutcome {
	if errors.Is(context.Cause(j.ctx), errLeaseLost) {
		return jobDone
	}
	return jobReturn
}

// now is the time by the clock of the database. It lags by as long as it took to
// claim the run, and is never ahead.
func (j *job) now() time.Time { return j.claimedAt.Add(time.Since(j.claimedLocally)) }

// apply gives the run a fact, records the step that comes of it, and begins the attempts
// that it asks for. A step that is refused because somebody else has made one meanwhile
// is made again from there.
func (j *job) apply(fact run.Fact) jobOutcome {
	pause := minRecordPause
	for tries := 0; ; {
		from, past := j.run.Seq(), run.PastFact{At: j.now(), Fact: fact}
		step, err := j.advance(past)
		switch {
		case j.ctx.Err() != nil && err != nil:
			return j.stopped()
		case err != nil:
			return j.fail(err)
		}
		if !step.Changed() && !j.isOverdue() {
			return j.catchUp()
		}
		if end := j.admitItems(step); end != jobContinue {
			return end
		}
		if j.hold(step, from, past) {
			return j.startStep(step)
		}
		step, from = j.withHeld(step, from)
		keep := j.keeps()
		switch err = j.session.records.record(j.isBacklog(), step, outbound.RunStep{Run: j.run, From: from, Lease: j.lease, Keep: keep, Woken: j.looked}); {
		case err == nil && !keep, isCode(err, "run_not_found"):
			j.held = held{}
			return jobDone
		case err == nil:
			j.settled, j.held = j.looked, held{}
			j.updateSize()
			j.shrink()
			return j.startStep(step)
		case isCode(err, execution.LoopGoesOn):
			if end := j.replayHeld(); end != jobContinue {
				return end
			}
			return j.catchUp()
		case !isCode(err, "stale_run"):
			j.session.report(fmt.Errorf("run %s: %w", j.lease.Run, err))
			if !outbound.Sleep(j.ctx, pause) {
				return j.stopped()
			}
			pause = min(2*pause, maxRecordPause)
		}
		if !isStoreError(err) {
			tries++
		}
		if called, calls := fact.(run.AttemptCalled); calls && isCode(err, execution.KeyTaken) { // its run is found the next time
			fact = run.AttemptPostponed{Node: called.Node, Attempt: called.Attempt, Reason: execution.MessageOr(err, "")}
		}
		if tries == maxRefusals {
			return j.unrecordable(err)
		}
		// Nobody knows whether what failed took effect all the same.
		if end := j.replayHeld(); end != jobContinue {
			return end
		}
	}
}

// catchUp makes the attempts that the run waits for and that nobody makes, where that
// may be so.
func (j *job) catchUp() jobOutcome {
	if !j.needsCatchUp {
		return jobContinue
	}
	j.needsCatchUp = false
	var open []run.Execute
	var err error
	if waited := j.compute(nil, func() { open, err = j.run.Outstanding(j.plan) }); waited != nil {
		return j.stopped()
	}
	if err != nil {
		return j.giveUp(err)
	}
	j.enqueue(open)
	return jobContinue
}

// giveUp fails the attempts that cannot be repeated, because the tenant has no such node
// type any more.
func (j *job) giveUp(reason error) jobOutcome {
	for _, n := range j.run.Nodes() {
		if n.Status != run.NodeRunning || n.RetryAt != nil || j.attempts[n.ID] != nil {
			continue
		}
		why := execution.MessageOr(reason, "The attempt cannot be made again.")
		if end := j.apply(run.AttemptFailed{Node: n.ID, Attempt: n.Attempts, Code: run.CodeTypeUnavailable, Message: why}); end != jobContinue {
			return end
		}
	}
	return jobContinue
}

// keeps says whether the worker goes on with the run after a step.
func (j *job) keeps() bool {
	if j.run.Status().Finished() {
		return false
	}
	for _, n := range j.run.Nodes() {
		if n.Status == run.NodeRunning && n.RetryAt == nil && (j.attempts[n.ID] != nil || j.session.stopping.Err() == nil) {
			return true
		}
	}
	at := j.run.WakeAt()
	return at != nil && j.session.stopping.Err() == nil && at.Sub(j.now()) < shortWait
}

// fail reports an error that is the run's own, and leaves the run alone. One that panics
// time and again is given up.
func (j *job) fail(err error) jobOutcome {
	if j.session.stopping.Err() == nil || !errors.Is(err, context.Canceled) {
		j.session.report(fmt.Errorf("run %s of %s: %w", j.lease.Run, j.lease.Tenant, err))
	}
	if !inbound.IsPanic(err) || !j.session.worker.defects.exceeded(j.lease.Run) {
		return leaveToExpire
	}
	end := leaveToExpire
	if again := j.session.recoverPanic("give up", func() error { end = j.unrecordable(err); return nil }); again != nil {
		j.session.report(fmt.Errorf("run %s of %s: %w", j.lease.Run, j.lease.Tenant, again))
	}
	return end
}
