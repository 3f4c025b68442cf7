package worker

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/ports/outbound"
)

const (
	// maxIdle bounds the sleep of an idle worker, so that a run whose signal was lost is
	// found all the same.
	maxIdle = time.Second

	// minClaimGap is the least time between two looks at the queue for the same reason: a
	// signal came, or a place was freed. Many signals become one look then, and many places.
	// After signals it doubles up to emptyClaimBackoff while there is nothing to claim: other
	// workers are faster, or tenants have as many places as they get.
	minClaimGap       = 4 * time.Millisecond
	emptyClaimBackoff = 32 * time.Millisecond

	// freedPlaceDelay is how long a freed place waits for more, since what is recorded together
	// frees its places together.
	freedPlaceDelay = time.Millisecond

	// claimLimit is how many runs are claimed in one unit. Under contention the unit is smaller,
	// so that signals do not wait long for its end, and smallest after a signal: tenants with
	// few runs come first, and need not wait until those of a backlog are claimed as well.
	claimLimit          = 64
	contendedClaimLimit = 16
	wakeupClaimLimit    = fairShareThreshold

	// minBlockedPause and maxBlockedPause bound the pause while what is due cannot be claimed: its
	// tenant has as many places as it gets, or somebody is changing it.
	minBlockedPause = 50 * time.Millisecond
	maxBlockedPause = time.Second

	// minDuePause is the least time, during such a pause, before a run that has become due is looked
	// for: many may become due one after another that cannot be claimed either.
	minDuePause = 10 * time.Millisecond

	// failurePause is the least time before the store is asked again after it failed.
	failurePause = 250 * time.Millisecond

	// clockMaxAge is how old a reading of the database's clock may be.
	clockMaxAge = time.Minute
)

// databaseClock is the clock of the database.
type databaseClock struct {
	mu    sync.Mutex
	read  time.Time // by the database
	local time.Time // of the reading, monotonic; zero before the first
}

func (c *databaseClock) set(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read, c.local = now, time.Now()
}

// now is the time of the database; ok is false when it has to be read again.
func (c *databaseClock) now() (now time.Time, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	passed := time.Since(c.local)
	return c.read.Add(passed), !c.local.IsZero() && passed < clockMaxAge
}

// claimer decides when to claim.
type claimer struct {
	session    *session
	refill     bool          // a place that is given up can be filled at once
	gap        time.Duration // the least time between two looks because of signals
	blocked    time.Duration // the last pause because of runs that could not be claimed
	byWakeup   bool          // it looks because of a signal
	lastLook   time.Time     // when it last claimed, or asked whether there is something to claim
	lastWakeup time.Time     // when it last did so because of a signal
}

// noteLook notes whether a look at the queue found nothing.
func (c *claimer) noteLook(empty bool) {
	c.lastLook = time.Now()
	if c.byWakeup {
		c.lastWakeup = c.lastLook
	}
	if empty {
		c.gap = min(2*c.gap, emptyClaimBackoff)
	} else {
		c.gap = minClaimGap
	}
}

// claimRuns fills the places with runs that are due until the worker is to stop.
func (s *session) claimRuns() {
	c := &claimer{session: s, gap: minClaimGap}
	for claim := true; s.stopping.Err() == nil; {
		free := s.freeCapacity()
		if free.places <= 0 { // runs that were handed over take places as well
			c.refill = true // whatever took the last place
			claim = c.pause(maxIdle, false)
			continue
		}
		// Otherwise this process would claim the runs that it is working on. A locked run cannot
		// be claimed, and is no reason to wait.
		if doubtful, renewed := s.expiredLeases(); len(doubtful) > 0 && s.renew(doubtful) == notRenewed {
			s.awaitRenewal(renewed)
			continue
		}
		var wait time.Duration
		if wait, claim = c.step(free, claim); wait > 0 {
			claim = c.pause(wait, claim)
		}
	}
}

// step claims, where claim does not say so only if something is due, and says for how
// long there is nothing to do and whether to claim without looking after that.
func (c *claimer) step(free capacity, claim bool) (wait time.Duration, again bool) {
	if !claim {
		next, err := c.next(time.Time{})
		switch {
		case err != nil:
			c.fail(err)
			return maxIdle, false
		case next > 0:
			c.refill, c.blocked = false, 0
			c.noteLook(c.byWakeup)
			return min(next, maxIdle), next <= maxIdle
		}
	}
	most := min(c.claimSize(), free.places)
	n, err := c.claim(most, free)
	if err != nil {
		c.fail(err)
		return maxIdle, true
	}
	c.noteLook(n == 0 && c.byWakeup)
	switch {
	case n == most:
		c.refill, c.blocked, c.byWakeup = true, 0, false // what the signals were about is claimed
		return 0, true
	case n > 0 && len(c.session.wakeup) > 0: // it is claimed again in any case
		c.blocked = 0
		return maxIdle, false
	case n > 0 && c.refill: // as before, more runs wait for places
		c.blocked = minBlockedPause
		return c.untilUnblocked(), false
	}
	c.refill = false
	return c.after(n)
}

// claimSize is how many runs to claim in one unit.
func (c *claimer) claimSize() int {
	switch {
	case !c.session.contention.isActive():
		return claimLimit
	case c.byWakeup:
		return wakeupClaimLimit
	default:
		return contendedClaimLimit
	}
}

// after says how long to sleep when everything that could be claimed was.
func (c *claimer) after(claimed int) (wait time.Duration, again bool) {
	if claimed > 0 {
		c.blocked = 0
	}
	next, err := c.next(time.Time{})
	switch {
	case err != nil:
		c.fail(err)
		return maxIdle, false
	case next > 0:
		c.blocked = 0
		return min(next, maxIdle), next <= maxIdle
	}
	c.refill = true
	c.blocked = min(max(2*c.blocked, minBlockedPause), maxBlockedPause)
	return c.untilUnblocked(), true
}

// untilUnblocked is how long to wait while what is due cannot be claimed: for the pause, and no
// longer than until another run is due, which may be one of a tenant that has places.
func (c *claimer) untilUnblocked() time.Duration {
	now, _ := c.session.clock.now()
	next, err := c.next(now)
	if err != nil {
		c.session.report(err)
		return c.blocked
	}
	return min(c.blocked, max(next, minDuePause))
}

// fail reports that the store did not answer, and asks nothing of it for a while.
func (c *claimer) fail(err error) {
	if c.session.stopping.Err() == nil {
		c.session.report(err)
	}
	outbound.Sleep(c.session.stopping, failurePause)
}

// pause sleeps, at most for a time, until there is something to do, and says whether to
// claim without looking first. A signal waits for nothing but the signal before it.
func (c *claimer) pause(most time.Duration, claim bool) (again bool) {
	at := time.Now().Add(most)
	if soonest := c.lastLook.Add(minClaimGap); at.Before(soonest) {
		at = soonest
	}
	again, c.byWakeup = claim, false
	timer, freed := time.NewTimer(time.Until(at)), false
	defer timer.Stop()
	for {
		select {
		case <-c.session.stopping.Done():
			return false
		case <-timer.C:
			return again
		case <-c.session.wakeup:
			c.byWakeup, again = true, freed || c.gap == minClaimGap // else look first: a look is cheaper
			at = earliest(at, c.lastWakeup.Add(c.gap))
		case <-c.session.placeFreed:
			if c.refill {
				freed, again = true, true
				at = earliest(at, latestTime(time.Now().Add(freedPlaceDelay), c.lastLook.Add(minClaimGap)))
			}
		}
		timer.Reset(time.Until(at))
	}
}

func earliest(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func latestTime(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// next says how long it takes until a run is free, after a time unless that is zero; longer than
// maxIdle for never.
func (c *claimer) next(after time.Time) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(c.session.claims, storeTimeout)
	defer cancel()
	var at time.Time
	var ok bool
	err := c.session.recoverPanic("look for runs", func() error {
		return c.session.worker.work.Read(ctx, func(ctx context.Context, st outbound.Stores) (err error) {
			if _, known := c.session.clock.now(); !known {
				now, err := st.Runs.Queue.Now(ctx)
				if err != nil {
					return err
				}
				c.session.clock.set(now)
			}
			at, ok, err = st.Runs.Queue.Next(ctx, after)
			return err
		})
	})
	now, _ := c.session.clock.now()
	if err != nil || !ok {
		return 2 * maxIdle, err
	}
	return at.Sub(now), nil
}

// readMemoryFactor is how much memory a run takes while it is read, as a multiple of what is
// stored.
const readMemoryFactor = 2

// claim leases runs, and starts a job for each.
func (c *claimer) claim(most int, free capacity) (int, error) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(c.session.claims, storeTimeout)
	defer cancel()
	var leased []outbound.LeasedRun
	err := c.session.recoverPanic("claim runs", func() error {
		return c.session.worker.work.Do(ctx, func(ctx context.Context, st outbound.Stores) (err error) {
			leased, err = st.Runs.Queue.Claim(ctx, outbound.RunClaim{
				Worker: c.session.worker.opts.Name, Period: c.session.worker.opts.Lease, Limit: most, PerTenant: free.perTenant, Bytes: max(1, free.bytes/readMemoryFactor),
			})
			return err
		})
	})
	if err != nil {
		return 0, err
	}
	if len(leased) > 0 {
		c.session.clock.set(leased[0].At)
	}
	n := 0
	for _, one := range leased {
		if one.Unreadable != nil {
			c.session.report(fmt.Errorf("run %s of %s is put off by %s: %w", one.Lease.Run, one.Lease.Tenant, outbound.UnreadableWait, one.Unreadable))
			continue
		}
		work := (*job).work
		if one.Engine == run.EngineTemporal {
			work = (*job).handOver
		}
		c.session.startJob(one, began, work)
		n++
	}
	return n, nil
}

// expiredLeases returns the runs whose leases' time has passed, and what is closed with the
// next renewal.
func (s *session) expiredLeases() (doubtful map[run.ID]*job, renewed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	doubtful = make(map[run.ID]*job)
	for id, j := range s.jobs {
		if !j.leaseIsGood() {
			doubtful[id] = j
		}
	}
	return doubtful, s.renewed
}

// awaitRenewal waits for the next renewal of leases, but not for ever.
func (s *session) awaitRenewal(renewed <-chan struct{}) {
	timer := time.NewTimer(s.worker.opts.Lease)
	defer timer.Stop()
	select {
	case <-renewed:
	case <-timer.C:
	case <-s.stopping.Done():
	}
}
