package worker

import (
	"context"
	"fmt"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
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
)

// WithEngine has the runs of [run.EngineTemporal] handed over. It returns the worker.
func (w *Worker) WithEngine(engine outbound.Engine) *Worker {
	w.engine = engine
	return w
}

// handOver hands the run over to the engine, and keeps the lease until another worker, or this one, has
// taken it over.
func (j *job) handOver() {
	end := jobReturn
	err := j.session.recoverPanic("hand over", func() error {
		end = j.handOverUntilTaken()
		return nil
	})
	if err != nil {
		end = j.fail(err)
	}
	j.leave(end)
}

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
func (w *Worker) MoveOn(ctx context.Context, owner tenant.ID, id run.ID, lease int64) (finished bool, err error) {
	s := w.session.Load()
	if s == nil {
		return false, errNoSession
	}
	j, err := s.takeOver(outbound.RunLease{Tenant: owner, Run: id, Number: lease})
	switch {
	case err == nil:
		<-j.closed
	case !isCode(err, "stale_run") && !isCode(err, "run_not_found"):
		return false, err
	}
	err = s.readStore(context.WithoutCancel(ctx), func(ctx context.Context, st outbound.Stores) error {
		statuses, err := st.Runs.Families.Statuses(ctx, tenant.All(owner), []run.ID{id})
		finished = err == nil && (statuses[0] == "" || statuses[0].Finished())
		return err
	})
	return finished, err
}

// errNoSession is for whoever hands a run to a worker that does not work, or not any more.
var errNoSession = domain.Fail(domain.Unavailable, "worker_stopped", "The worker of this process does not work. Another one does.")

// takeOver begins to work on a run under a lease that is another job's, perhaps in another process.
func (s *session) takeOver(lease outbound.RunLease) (*job, error) {
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
			taken, err = st.Runs.Queue.TakeOver(ctx, lease, s.worker.opts.Name, s.worker.opts.Lease)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	s.worker.signals.Notify(lease.Run) // whoever handed it over has a place again
	return s.startJob(taken, began, (*job).work), nil
}
