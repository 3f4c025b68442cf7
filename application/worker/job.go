package worker

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

const (
	// shortWait is how long a run that waits keeps its place: what is due sooner would
	// hardly be claimed by then.
	shortWait = 200 * time.Millisecond

	// firstRetry and lastRetry bound the pauses while a step cannot be recorded.
	firstRetry = 50 * time.Millisecond
	lastRetry  = time.Second

	// mostRefused is how often the same step may be refused, or fail for other reasons than
	// that the store does not answer, before the run is given up.
	mostRefused = 6
)

// job is a run that was lent. One goroutine has it.
type job struct {
	session *shift
	lease   outbound.RunLease
	end     outbound.LeaseEnd // how the lease before ended
	run     *run.Run
	plan    *run.Plan
	size    int64 // of what is stored of it; s.mu holds
	behind  bool  // attempts may be outstanding that are not being made
	secret  run.Secret
	at      time.Time // when it was lent, by the clock of the database
	lent    time.Time // the same, by that of the process

	attempts map[workflow.NodeID]*attempt // that are being made
	ended    chan *attempt                // hands over what came of them
	over     chan struct{}                // closed when nobody waits for that any more

	memory     *memoryOfRun
	alone      bool          // it does not compute beside others that are tried alone
	queued     []run.Execute // attempts that wait for others of the run to end
	unprepared chan *attempt // attempts that are to be prepared

	ctx       context.Context         //nolint:containedctx // of the attempts; ends with the lease
	interrupt context.CancelCauseFunc // ends it

	news  chan struct{} // holds one when seen has grown
	seen  atomic.Int64  // the greatest Seq that the store is known to have
	until atomic.Int64  // when the lease ends, in nanoseconds since the shift began
}

// take begins to work on a run that was lent since a time.
func (s *shift) take(lent outbound.LentRun, since time.Time) {
	j := &job{
		session: s, lease: lent.Lease, end: lent.Before, run: lent.Run, size: lent.Size, secret: s.worker.key.Secret(lent.Lease.Run), at: lent.At, lent: time.Now(),
		attempts: make(map[workflow.NodeID]*attempt), ended: make(chan *attempt), over: make(chan struct{}), unprepared: make(chan *attempt), news: make(chan struct{}, 1), memory: newMemoryOfRun(),
	}
	j.ctx, j.interrupt = context.WithCancelCause(s.effects)
	j.until.Store(int64(since.Sub(s.began) + s.worker.opts.Lease))
	s.mu.Lock()
	if before := s.held[lent.Lease.Run]; before != nil {
		before.interrupt(errLeaseLost) // it had ended before it was renewed
	}
	s.hold(j)
	s.mu.Unlock()
	s.working.Go(j.work)
}

// fate is what becomes of a job.
type fate int

const (
	goesOn   fate = iota
	done          // recorded without keeping the lease, or the lease is gone
	returned      // the lease is to be given back at once
	left          // the lease is to end by itself: nobody tries again before
)

// work moves the run on until it has to wait for long, or somebody else has it.
func (j *job) work() {
	end := left
	err := j.session.contained("advance", func() error {
		for end = j.begin(); end == goesOn; end = j.next() {
			if !j.keeps() || j.isTooMuch() {
				end = returned
				break
			}
		}
		return nil
	})
	if err != nil {
		end = j.fail(err)
	}
	if end == left && j.session.leaving.Err() != nil {
		end = returned // this process does not claim it again
	}
	j.interrupt(errNotWanted)
	j.endGrowth()
	close(j.over)
	j.session.mu.Lock()
	j.session.let(j)
	if end == returned {
		j.session.returned = append(j.session.returned, j.lease)
		ring(j.session.due)
	}
	j.session.mu.Unlock()
	ring(j.session.freed)
	if end != left {
		j.soon()
	}
}

// soon has the queue looked at when the run is due again, should that be before it is
// looked at in any case.
func (j *job) soon() {
	if j.run == nil { // it could not be read
		return
	}
	at := j.run.WakeAt()
	if at == nil || j.run.Status().Finished() {
		return
	}
	if wait := at.Sub(j.now()); wait < longestLook {
		time.AfterFunc(max(wait, 0), func() { ring(j.session.word) })
	}
}

// begin makes the first step of a run that was lent.
func (j *job) begin() fate {
	if j.session.leaving.Err() != nil {
		return returned
	}
	if end := j.read(); end != goesOn {
		return end
	}
	if end := j.beginAlone(); end != goesOn {
		return end
	}
	var err error
	switch j.plan, err = j.session.worker.plans.Of(j.session.units, j.lease.Tenant, j.run.Version()); {
	case isCode(err, "version_not_found"):
		return j.cancel()
	case err != nil:
		return j.fail(err)
	}
	j.memory.plansFor(j.plan.Nodes())
	if j.run.Status() == run.StatusPending {
		return j.apply(run.Started{})
	}
	j.behind = true // attempts may be outstanding that nobody makes
	if end := j.apply(run.TimeReached{}); end != goesOn || j.keeps() {
		return end
	}
	return left // it was due, and nothing is
}

// read reads a run that is too large for the unit of work that lent it. One that cannot be
// read is left until its lease ends.
func (j *job) read() fate {
	if j.run != nil {
		return goesOn
	}
	ctx, cancel := context.WithTimeout(j.session.units, patience)
	defer cancel()
	err := j.session.worker.work.View(ctx, func(ctx context.Context, st outbound.Stores) (err error) {
		j.run, err = st.Runs.Runs.Get(ctx, j.lease.Tenant, j.lease.Run)
		return err
	})
	switch {
	case isCode(err, "run_not_found"):
		return done
	case err != nil:
		return j.fail(fmt.Errorf("read it: %w", err))
	}
	return goesOn
}

// cancel ends a run whose version was deleted, as deleting the workflow does.
func (j *job) cancel() fate {
	j.plan = j.session.worker.plans.Orphaned(j.run)
	if end := j.apply(run.CancelRequested{Reason: "The workflow version that the run executes was deleted."}); end != goesOn {
		return end
	}
	return left
}

// next waits for something to happen, and tells the run.
func (j *job) next() fate {
	if len(j.queued) > 0 && len(j.attempts) == 0 && j.session.leaving.Err() == nil { // it is too large for the next ones
		if j.isTooMuch() {
			return returned
		}
		if j.grow(j.ctx) != nil {
			return j.stopped()
		}
		j.startQueued()
	}
	var leaving <-chan struct{}
	if len(j.attempts) == 0 {
		leaving = j.session.leaving.Done()
	}
	var wake <-chan time.Time
	if at := j.run.WakeAt(); at != nil {
		timer := time.NewTimer(max(at.Sub(j.now()), time.Millisecond))
		defer timer.Stop()
		wake = timer.C
	}
	more := make(<-chan struct{})
	if j.run.More() {
		more = goAhead
	}
	select {
	case a := <-j.ended:
		return j.outcome(a)
	case a := <-j.unprepared:
		return j.prepare(a)
	case <-more:
		return j.apply(run.TimeReached{})
	case <-wake:
		return j.apply(run.TimeReached{})
	case <-j.news:
		if j.seen.Load() <= j.run.Seq() {
			return goesOn // the worker's own step
		}
		if end := j.reload(); end != goesOn {
			return end
		}
		return j.catchUp()
	case <-j.ctx.Done():
		select {
		case a := <-j.ended: // it came to an end before, and is not thrown away
			return j.outcome(a)
		default:
			return j.stopped()
		}
	case <-leaving:
		return returned
	}
}

// goAhead is closed.
var goAhead = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// stopped says what becomes of a run whose attempts were interrupted.
func (j *job) stopped() fate {
	if errors.Is(context.Cause(j.ctx), errLeaseLost) {
		return done
	}
	return returned
}

// now is the time by the clock of the database. It is behind by as long as it took to
// lend the run, and never ahead.
func (j *job) now() time.Time { return j.at.Add(time.Since(j.lent)) }

// apply tells the run a fact, records the step that comes of it, and begins the attempts
// that it asks for. A step that is refused because somebody else has made one meanwhile
// is made again from there.
func (j *job) apply(fact run.Fact) fate {
	pause := firstRetry
	for tries := 0; ; {
		from := j.run.Seq()
		step, err := j.advance(fact)
		switch {
		case j.ctx.Err() != nil && err != nil:
			return j.stopped()
		case err != nil:
			return j.fail(err)
		}
		if !step.Changed() {
			return j.catchUp()
		}
		keep := j.keeps()
		switch err = j.session.records.record(j.crowds(), step, outbound.RunStep{Run: j.run, From: from, Lease: j.lease, Keep: keep}); {
		case err == nil && !keep, isCode(err, "run_not_found"):
			return done
		case err == nil:
			j.weigh()
			j.shrink()
			j.prune()
			j.launch(step.Execute)
			return j.catchUp()
		case !isCode(err, "stale_run"):
			j.session.report(fmt.Errorf("run %s: %w", j.lease.Run, err))
			if !rest(j.ctx, pause) {
				return j.stopped()
			}
			pause = min(2*pause, lastRetry)
		}
		if !wholesale(err) {
			tries++
		}
		if tries == mostRefused {
			return j.unrecordable(err)
		}
		// Nobody knows whether what failed took effect all the same.
		if end := j.reload(); end != goesOn {
			return end
		}
	}
}

// reload reads the run again because somebody else may have recorded a step.
func (j *job) reload() fate {
	for pause := firstRetry; ; pause = min(2*pause, lastRetry) {
		r, good, err := j.session.latest(j)
		switch {
		case err == nil && !good, isCode(err, "run_not_found"):
			return done
		case err == nil:
			j.run, j.behind = r, true
			j.prune()
			return goesOn
		}
		j.session.report(fmt.Errorf("run %s: %w", j.lease.Run, err))
		if !rest(j.ctx, pause) {
			return j.stopped()
		}
	}
}

// catchUp makes the attempts that the run waits for and that nobody makes, where that
// may be so.
func (j *job) catchUp() fate {
	if !j.behind {
		return goesOn
	}
	j.behind = false
	var open []run.Execute
	var err error
	if waited := j.compute(nil, func() { open, err = j.run.Outstanding(j.plan) }); waited != nil {
		return j.stopped()
	}
	if err != nil {
		return j.giveUp(err)
	}
	j.launch(open)
	return goesOn
}

// giveUp fails the attempts that cannot be repeated, because the tenant has no such node
// type any more.
func (j *job) giveUp(reason error) fate {
	for _, n := range j.run.Nodes() {
		if n.Status != run.NodeRunning || n.RetryAt != nil || j.attempts[n.ID] != nil {
			continue
		}
		why := explained(reason, "The attempt cannot be made again.")
		if end := j.apply(run.AttemptFailed{Node: n.ID, Attempt: n.Attempts, Code: run.CodeTypeUnavailable, Message: why}); end != goesOn {
			return end
		}
	}
	return goesOn
}

// keeps says whether the worker goes on with the run after a step.
func (j *job) keeps() bool {
	if j.run.Status().Finished() {
		return false
	}
	for _, n := range j.run.Nodes() {
		if n.Status == run.NodeRunning && n.RetryAt == nil && (j.attempts[n.ID] != nil || j.session.leaving.Err() == nil) {
			return true
		}
	}
	at := j.run.WakeAt()
	return at != nil && j.session.leaving.Err() == nil && at.Sub(j.now()) < shortWait
}

// fail reports an error that is the run's own, and leaves the run alone. One that panics
// time and again is given up.
func (j *job) fail(err error) fate {
	if j.session.leaving.Err() == nil || !errors.Is(err, context.Canceled) {
		j.session.report(fmt.Errorf("run %s of %s: %w", j.lease.Run, j.lease.Tenant, err))
	}
	if !inbound.IsPanic(err) || !j.session.worker.defects.tooMany(j.lease.Run) {
		return left
	}
	end := left
	if again := j.session.contained("give up", func() error { end = j.unrecordable(err); return nil }); again != nil {
		j.session.report(fmt.Errorf("run %s of %s: %w", j.lease.Run, j.lease.Tenant, again))
	}
	return end
}

func isCode(err error, code string) bool {
	var e *domain.Error
	return errors.As(err, &e) && e.Code == code
}
