package worker

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

const (
	// handOverTimeout is how long the engine may take to keep a run. Then the run keeps its place for
	// handOverPause, so that an engine that is away is not asked more often than there are places.
	handOverTimeout = 5 * time.Second
	handOverPause   = time.Second

	// handOverAgain is after how long a run is handed over once more that no process has begun with:
	// the engine may have lost it.
	handOverAgain = 30 * time.Second

	// keepTimeout is how long the engine may take to keep what a run has done. Then it is recorded.
	keepTimeout = 2 * time.Second

	// keptPeriod is how long the engine alone has what a run has done, and maxKept how many bytes of that.
	keptPeriod = 10 * time.Second
	maxKept    = 64 << 10
)

// WithEngine has the runs of [run.EngineTemporal] handed over. It returns the worker.
func (w *Worker) WithEngine(engine outbound.Engine) *Worker {
	w.engine = engine
	return w
}

// handed is what a job has of the engine that its run was handed over to.
type handed struct {
	keep    func(ctx context.Context, kept []byte) error // nil where the engine keeps nothing, or not any more
	arrived chan inbound.HandedOver                      // holds one when the run came back to the process that has its lease; nil of runs of the table
	watched atomic.Int64                                 // until when somebody looks at the run, in nanoseconds since the session began
	asked   atomic.Bool                                  // somebody waits to see it
}

// handOver hands the run over to the engine, and keeps the lease until another worker has taken it over, or
// the engine brings the run back to this one.
func (j *job) handOver() {
	end := jobReturn
	err := j.session.recoverPanic("hand over", func() error {
		end = j.handOverUntilTaken()
		return nil
	})
	if err != nil {
		end = j.fail(err)
	}
	if end == jobContinue {
		j.work()
		return
	}
	j.leave(end)
}

// handOverUntilTaken returns jobContinue once the run is to be worked on here.
func (j *job) handOverUntilTaken() jobOutcome {
	for {
		ctx, cancel := context.WithTimeout(j.ctx, handOverTimeout)
		released := context.AfterFunc(j.session.stopping, cancel)
		err := j.session.worker.engine.HandOver(ctx, j.lease)
		released()
		cancel()
		wait := handOverAgain
		if err != nil && j.ctx.Err() == nil && j.session.stopping.Err() == nil {
			j.session.report(fmt.Errorf("hand run %s of %s over: %w", j.lease.Run, j.lease.Tenant, err))
			wait = handOverPause
		}
		timer := time.NewTimer(wait)
		select {
		case h := <-j.handed.arrived:
			timer.Stop()
			j.take(h)
			return jobContinue
		case <-timer.C:
		case <-j.ctx.Done():
		case <-j.session.stopping.Done():
		}
		timer.Stop()
		switch {
		case j.ctx.Err() != nil:
			return j.stopped()
		case j.session.stopping.Err() != nil:
			return jobReturn
		case err != nil:
			return leaveToExpire
		}
	}
}

// MoveOn works on a run that was handed over, until it has to wait or has ended.
func (w *Worker) MoveOn(ctx context.Context, h inbound.HandedOver) (came inbound.MovedOn, err error) {
	s := w.session.Load()
	if s == nil {
		return came, errNoSession
	}
	j, err := s.bring(h)
	switch {
	case err == nil:
		if !s.awaitEnd(j) {
			return inbound.MovedOn{IsKept: true}, nil
		}
		if came.IsKept = j.held.kept || len(j.handed.arrived) > 0; !came.IsKept && j.run != nil { // it took what was brought
			came.Rests = j.run.IsAtRest(j.now())
			return came, nil
		}
	case !isCode(err, "stale_run") && !isCode(err, "run_not_found"):
		return came, err
	default:
		came.IsKept = true
	}
	came.Rests, err = s.isAtRest(context.WithoutCancel(ctx), h.Tenant, h.Run)
	return came, err
}

// awaitEnd says whether a job has ended, and does not wait for one whose lease must be somebody else's by now:
// what it did not record would be kept from them.
func (s *session) awaitEnd(j *job) bool {
	look := time.NewTicker(s.worker.opts.Lease / renewalsPerLease)
	defer look.Stop()
	for {
		select {
		case <-j.closed:
			return true
		case <-look.C:
			if int64(time.Since(s.began)-s.worker.opts.Lease) > j.leaseEnd.Load() {
				return false
			}
		}
	}
}

// IsAtRest says whether nobody works on a run, or is about to.
func (w *Worker) IsAtRest(ctx context.Context, owner tenant.ID, id run.ID) (bool, error) {
	s := w.session.Load()
	if s == nil {
		return false, errNoSession
	}
	return s.isAtRest(ctx, owner, id)
}

func (s *session) isAtRest(ctx context.Context, owner tenant.ID, id run.ID) (rests bool, err error) {
	err = s.readStore(ctx, func(ctx context.Context, st outbound.Stores) error {
		r, err := st.Runs.Runs.Get(ctx, tenant.All(owner), id)
		if isCode(err, "run_not_found") {
			rests = true
			return nil
		}
		if err != nil {
			return err
		}
		now, err := st.Runs.Queue.Now(ctx)
		rests = err == nil && r.IsAtRest(now)
		return err
	})
	return rests, err
}

// errNoSession is for whoever hands a run to a worker that does not work, or not any more.
var errNoSession = domain.Fail(domain.Unavailable, "worker_stopped", "The worker of this process does not work. Another one does.")

// bring finds the job that handed a run over, or begins to work on one that another process has handed over.
func (s *session) bring(h inbound.HandedOver) (*job, error) {
	s.mu.Lock()
	j := s.jobs[h.Run]
	s.mu.Unlock()
	if j == nil || j.lease.Number != h.Lease || j.handed.arrived == nil {
		return s.takeOver(h)
	}
	select {
	case j.handed.arrived <- h:
	default: // it came before
	}
	return j, nil
}

// takeOver begins to work on a run under a lease that is another process's.
func (s *session) takeOver(h inbound.HandedOver) (*job, error) {
	s.taking.RLock()
	defer s.taking.RUnlock()
	if s.stopping.Err() != nil {
		return nil, errNoSession
	}
	began := time.Now()
	var taken outbound.LeasedRun
	err := s.recoverPanic("take a run over", func() error {
		ctx, cancel := context.WithTimeout(s.claims, max(s.worker.opts.Lease, minRenewTimeout)) // then another process may do better
		defer cancel()
		return s.worker.work.Do(ctx, func(ctx context.Context, st outbound.Stores) (err error) {
			taken, err = st.Runs.Queue.TakeOver(ctx, outbound.RunLease{Tenant: h.Tenant, Run: h.Run, Number: h.Lease}, s.worker.opts.Name, s.worker.opts.Lease)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	s.worker.signals.Notify(h.Run) // whoever handed it over has a place again
	return s.startJob(taken, began, func(j *job) {
		j.take(h)
		j.work()
	}), nil
}

// take notes what the engine brought.
func (j *job) take(h inbound.HandedOver) {
	j.handed.keep, j.held = h.Keep, held{lines: h.Kept, kept: len(h.Kept) > 0}
}

// replayKept gives the run the facts that the engine kept of it, and records what comes of them.
func (j *job) replayKept() jobOutcome {
	if !j.held.kept {
		return jobContinue
	}
	if end := j.replay(j.held); end != jobContinue {
		return end
	}
	return j.recordHeld()
}

// mayKeep says whether the engine may keep what came of a step, in place of the database: not while
// somebody looks at the run.
func (j *job) mayKeep(step run.Step) bool {
	return j.handed.keep != nil && !j.isWatched() && step.MayBeKept() && j.keeps()
}

// linesWith is what is held and one fact more, as the engine keeps it; nil where it cannot.
func (j *job) linesWith(fact run.PastFact) []byte {
	if j.handed.keep == nil {
		return nil
	}
	line, ok := run.EncodeFact(fact)
	if !ok || len(j.held.lines)+len(line) > maxKept || !j.held.isEmpty() && j.held.lines == nil {
		return nil
	}
	return slices.Concat(j.held.lines, line)
}

// keep has the engine keep what is held. When it does not, everything is recorded from then on.
func (j *job) keep(lines []byte) bool {
	if lines == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(j.ctx, keepTimeout)
	defer cancel()
	if err := j.handed.keep(ctx, lines); err != nil {
		j.handed.keep = nil
		if j.ctx.Err() == nil {
			j.session.report(fmt.Errorf("run %s of %s: have the engine keep what it did: %w", j.lease.Run, j.lease.Tenant, err))
		}
		return false
	}
	return true
}

// watch has a run that was handed over recorded, and each of its steps for as long as somebody may look at it.
func (j *job) watch() {
	if j.handed.arrived == nil {
		return
	}
	j.handed.watched.Store(int64(time.Since(j.session.began) + outbound.ProgressRequestTTL))
	j.handed.asked.Store(true)
	notify(j.advanced)
}

// maxWatched is how many runs a session knows that somebody looks at.
const maxWatched = 10_000

// noteRequest remembers that somebody looks at a run, which may come here later. The caller holds s.mu.
func (s *session) noteRequest(id run.ID) {
	now := time.Since(s.began)
	if len(s.watched) >= maxWatched {
		maps.DeleteFunc(s.watched, func(_ run.ID, until time.Duration) bool { return until < now })
	}
	if len(s.watched) < maxWatched {
		s.watched[id] = now + outbound.ProgressRequestTTL
	}
}

func (j *job) isWatched() bool {
	return int64(time.Since(j.session.began)) < j.handed.watched.Load()
}

// answerWatchers tells those who wait to see the run that nothing of it is held.
func (j *job) answerWatchers() {
	if j.handed.asked.Swap(false) {
		j.session.worker.signals.NotifyProgress(j.lease.Run)
	}
}
