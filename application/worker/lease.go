package worker

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// renewalsPerLease is how often leases are renewed within the time of one; retriesPerLease is how often
// while that fails.
const (
	renewalsPerLease = 3
	retriesPerLease  = 10
)

// renewLeasesUntil renews the leases of all runs that are held, returns those of jobs that
// have ended, and notices what others did to the runs, until closing is closed.
func (s *session) renewLeasesUntil(closing <-chan struct{}) {
	timer := time.NewTimer(s.worker.opts.Lease / renewalsPerLease)
	defer timer.Stop()
	for {
		select {
		case <-closing:
			for range retriesPerLease { // what somebody is changing just now
				if s.returnLeases(); len(s.pendingReturns()) == 0 || !outbound.Sleep(s.units, minClaimGap) {
					break
				}
			}
			return
		case <-timer.C:
			s.returnLeases()
			pause := s.worker.opts.Lease / renewalsPerLease
			if s.renew(s.allJobs()) != renewedAll {
				pause = s.worker.opts.Lease / retriesPerLease
			}
			timer.Reset(pause)
		case <-s.renewNow:
			s.returnLeases()
			s.renew(s.takeRechecks())
			outbound.Sleep(s.effects, minClaimGap) // signals that come meanwhile become one
		}
	}
}

func (s *session) allJobs() map[run.ID]*job {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.jobs)
}

func (s *session) takeRechecks() map[run.ID]*job {
	s.mu.Lock()
	defer s.mu.Unlock()
	waiting := s.needsRecheck
	s.needsRecheck = make(map[run.ID]*job)
	return waiting
}

// renewal is what came of renewing leases.
type renewal int

const (
	renewedAll renewal = iota // those that are still good
	skipped                   // some were left as they were, since somebody is changing their runs
	notRenewed                // the store did not do its part
)

// renew renews the leases of jobs, in a map of the caller's own, and interrupts those
// whose leases are gone.
func (s *session) renew(jobs map[run.ID]*job) renewal {
	if len(jobs) == 0 {
		return renewedAll
	}
	leases := make([]outbound.RunLease, 0, len(jobs))
	for _, id := range slices.Sorted(maps.Keys(jobs)) {
		leases = append(leases, jobs[id].lease)
	}
	asked := time.Since(s.began)
	good, err := s.renewInStore(leases, s.worker.opts.Lease)
	if err != nil {
		s.report(err)
		return notRenewed
	}
	outcome := renewedAll
	for _, l := range good {
		if j := jobs[l.Run]; l.Skipped {
			outcome = skipped
			j.noteSeq(l.Seq)
		} else {
			j.extendLease(asked+s.worker.opts.Lease, l.Seq)
		}
		jobs[l.Run].noteWoken(l.Woken)
		delete(jobs, l.Run)
	}
	for _, j := range jobs {
		j.interrupt(errLeaseLost)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.renewed)
	s.renewed = make(chan struct{})
	return outcome
}

func (s *session) renewInStore(leases []outbound.RunLease, period time.Duration) (good []outbound.RenewedLease, err error) {
	err = s.recoverPanic("renew leases", func() error {
		ctx, cancel := context.WithTimeout(s.units, max(s.worker.opts.Lease/renewalsPerLease, minRenewTimeout))
		defer cancel()
		return s.worker.work.Do(ctx, func(ctx context.Context, st outbound.Stores) (err error) {
			good, err = st.Runs.Queue.Renew(ctx, leases, period)
			return err
		})
	})
	return good, err
}

// returnLeases ends the leases of jobs that have ended, so that other workers need not wait
// for their ends. Those of locked runs are returned later.
func (s *session) returnLeases() {
	s.mu.Lock()
	leases := s.toReturn
	s.toReturn = nil
	s.mu.Unlock()
	if len(leases) == 0 {
		return
	}
	good, err := s.renewInStore(leases, 0)
	if err != nil {
		s.report(err) // they end by themselves
		return
	}
	s.mu.Lock()
	for _, l := range good {
		if l.Skipped {
			s.toReturn = append(s.toReturn, l.RunLease)
		}
	}
	s.mu.Unlock()
	if s.stopping.Err() == nil {
		return
	}
	ids := make([]run.ID, len(leases))
	for i, l := range leases {
		ids[i] = l.Run
	}
	s.worker.signals.Notify(ids...) // other workers go on with them at once
}

// pendingReturns are the leases that are still to be given back.
func (s *session) pendingReturns() []outbound.RunLease {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.toReturn
}

// reread reads a run again while its lease is good. The lease is renewed. Reading comes
// first, since it waits for who is changing the run.
func (s *session) reread(j *job) (r *run.Run, good bool, err error) {
	asked := time.Since(s.began)
	ctx, cancel := context.WithTimeout(s.units, storeTimeout)
	defer cancel()
	err = s.worker.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		if r, err = st.Runs.Runs.Get(ctx, tenant.All(j.lease.Tenant), j.lease.Run); err != nil {
			return err
		}
		found, err := st.Runs.Queue.Renew(ctx, []outbound.RunLease{j.lease}, s.worker.opts.Lease)
		good = len(found) > 0
		return err
	})
	if err == nil && good {
		j.extendLease(asked+s.worker.opts.Lease, 0)
	}
	return r, good, err
}

// extendLease notes that a lease is good until a time of the session, and how far the run was
// when it was renewed.
func (j *job) extendLease(until time.Duration, seq int64) {
	j.leaseEnd.Store(int64(until))
	j.noteSeq(seq)
}

// noteSeq notes how far the run is.
func (j *job) noteSeq(seq int64) {
	for before := j.latestSeq.Load(); seq > before; before = j.latestSeq.Load() {
		if j.latestSeq.CompareAndSwap(before, seq) {
			notify(j.advanced)
		}
	}
}

// noteWoken notes how often the run has been woken.
func (j *job) noteWoken(woken int64) {
	if woken > j.woken.Swap(woken) {
		notify(j.advanced)
	}
}

// leaseIsGood says whether nobody else can have taken the run over. While leases cannot be
// renewed that comes to an end, and nothing is begun any more that could happen twice.
func (j *job) leaseIsGood() bool { return int64(time.Since(j.session.began)) < j.leaseEnd.Load() }

// awaitGoodLease waits until the lease is good, and says whether it is: ctx may end before.
func (j *job) awaitGoodLease(ctx context.Context) bool {
	for ctx.Err() == nil {
		j.session.mu.Lock()
		renewed := j.session.renewed
		j.session.mu.Unlock()
		if j.leaseIsGood() {
			return true
		}
		select {
		case <-ctx.Done():
		case <-renewed:
		}
	}
	return false
}
